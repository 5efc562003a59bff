//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestSetWaitsForOtherProcess holds the lock through a handle of its own, as
// another process would.
func TestSetWaitsForOtherProcess(t *testing.T) {
	t.Parallel()
	files := tempFiles(t)
	write(t, files, Local, `{"http": "127.0.0.1:1"}`)
	folder, err := os.Open(filepath.Dir(pathOf(files, Local)))
	if err != nil {
		t.Fatal(err)
	}
	lock(folder)
	done := make(chan error)
	go func() {
		_, err := New(files).Set(t.Context(), SetIn{Path: "listing", Value: json.RawMessage(`"full"`), Scope: Local})
		done <- err
	}()
	select {
	case <-done:
		t.Fatal("set did not wait for the lock")
	case <-time.After(50 * time.Millisecond):
	}
	write(t, files, Local, `{"http": "127.0.0.1:2"}`)
	if err := folder.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got, want := content(t, files, Local), "{\n  \"http\": \"127.0.0.1:2\",\n  \"listing\": \"full\"\n}\n"; got != want {
		t.Errorf("file is %q, want %q", got, want)
	}
}
