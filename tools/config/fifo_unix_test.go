//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe or a huge file in a workspace neither blocks nor prevents a start.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(path string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"sparse": func(path string) error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, 1<<30)
		},
		"link out":  func(path string) error { return os.Symlink("/dev/zero", path) },
		"link loop": func(path string) error { return os.Symlink("config.json", path) },
	} {
		files := tempFiles(t)
		path := pathOf(files, Local)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		layers, err := files.Load()
		if err != nil || len(layers.Ignored) != 1 || layers.Ignored[0].Path != "" || strings.Contains(layers.Ignored[0].Reason, files.Workspace) {
			t.Errorf("%s: %+v, %v", name, layers, err)
		}
	}
	files := tempFiles(t)
	if err := syscall.Mkfifo(filepath.Join(files.Workspace, ".toolfold"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Load(); err != nil {
		t.Error(err)
	}
}
