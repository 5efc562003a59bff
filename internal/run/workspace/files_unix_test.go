//go:build unix

package workspace

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe is rejected without waiting for a writer, even if it replaces a file after the check.
func TestPipes(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	write(t, workspace, "f/a.yaml", "a")
	if err := syscall.Mkfifo(filepath.Join(workspace, "f", "pipe.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	reader, _ := texts(workspace)
	files, broken, err := reader.Read(t.Context())
	if err != nil || len(files) != 1 || len(broken) != 1 || !strings.Contains(broken[0].Reason, "not a plain file") {
		t.Errorf("%v, %v, %v", files, broken, err)
	}
	if err := syscall.Mkfifo(filepath.Join(workspace, "g"), 0o600); err != nil {
		t.Fatal(err)
	}
	reader.folder = "g"
	if _, broken, _ := reader.Read(t.Context()); len(broken) != 1 {
		t.Errorf("a pipe as the folder: %v", broken)
	}
}
