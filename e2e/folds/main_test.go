package main

import (
	"path/filepath"
	"testing"

	"github.com/toolfold/toolfold/e2e/product"
)

// Large lists cost a small part of their original cost, small lists no more than before.
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
