//go:build unix

package workspace_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/toolfold/toolfold/internal/run/workspace"
)

// A pipe in place of a repository's file does not block.
func TestNameBesidePipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, ".git", "config"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := workspace.Name(dir, "", true); got == "" {
		t.Error("no name")
	}
}
