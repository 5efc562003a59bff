package main

import (
	"path/filepath"
	"testing"

	"github.com/toolfold/toolfold/e2e/product"
)

// Lists cost what they may: large ones a small part of what they did, small ones no more.
func TestLists(t *testing.T) {
	dir, err := product.Dir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files, err := filesIn([]string{filepath.Join(dir, "gateway", "testdata")})
	if err != nil {
		t.Fatal(err)
	}
	if err := run(files); err != nil {
		t.Error(err)
	}
	if err := runCalls(files, true); err != nil {
		t.Error(err)
	}
}
