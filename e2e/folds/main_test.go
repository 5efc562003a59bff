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
	if err := run([]string{filepath.Join(dir, "gateway", "testdata")}); err != nil {
		t.Error(err)
	}
}
