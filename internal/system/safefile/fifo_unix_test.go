//go:build unix

package safefile

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// Opening a pipe without a writer could block forever.
func TestReadRefusesPipe(t *testing.T) {
	t.Parallel()
	root, dir := folder(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(root, "pipe", 10); !errors.Is(err, ErrNotPlain) {
		t.Errorf("got %v", err)
	}
}
