package main

import "testing"

// Lists cost what they may: large ones a small part of what they did, small ones no more.
func TestLists(t *testing.T) {
	if err := run([]string{"../../../../gateway/testdata"}); err != nil {
		t.Error(err)
	}
}
