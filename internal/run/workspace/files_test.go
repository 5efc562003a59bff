package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func write(t testing.TB, workspace, name, text string) string {
	t.Helper()
	file := filepath.Join(workspace, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// age sets a file's modification time to long ago.
func age(t testing.TB, file string) {
	t.Helper()
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(file, long, long); err != nil {
		t.Fatal(err)
	}
}

// texts returns files whose value is their text, and the number of parsed files.
func texts(workspace string) (files *Files[string], parsed *int) {
	parsed = new(int)
	return NewFiles(workspace, "f", []string{".yaml", ".json"}, 1000, func(file string, text []byte) (string, *BrokenFile) {
		*parsed++
		if strings.HasPrefix(string(text), "bad") {
			return "", &BrokenFile{File: file, Line: 1, Reason: "it is bad"}
		}
		return string(text), nil
	}), parsed
}

func TestFiles(t *testing.T) {
	t.Parallel()
	workspace, elsewhere := t.TempDir(), t.TempDir()
	write(t, workspace, "f/b.yaml", "b")
	write(t, workspace, "f/a.json", "a")
	write(t, workspace, "f/c.yaml", "bad")
	write(t, workspace, "f/notes.txt", "nothing")
	write(t, workspace, "f/.hidden.yaml", "an editor's")
	write(t, workspace, "f/sub/d.yaml", "d")
	write(t, workspace, "f/huge.yaml", strings.Repeat("x", 1001))
	write(t, workspace, "f/folder.yaml/inner.yaml", "x")
	secret := write(t, elsewhere, "secret.yaml", "secret")
	if err := os.Symlink(secret, filepath.Join(workspace, "f", "link.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("b.yaml", filepath.Join(workspace, "f", "same.yaml")); err != nil {
		t.Fatal(err)
	}
	reader, _ := texts(workspace)
	files, broken, err := reader.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]File[string]{{"f/a.json", "a"}, {"f/b.yaml", "b"}, {"f/same.yaml", "b"}}, files); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want := []BrokenFile{
		{File: "f/c.yaml", Line: 1, Reason: "it is bad"},
		{File: "f/huge.yaml", Reason: "it cannot be read: it has more than 1000 bytes"},
		{File: "f/link.yaml", Reason: "it cannot be read: path escapes from parent"},
	}
	if diff := cmp.Diff(want, broken); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestNoFiles(t *testing.T) {
	t.Parallel()
	for _, workspace := range []string{"", t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		reader, _ := texts(workspace)
		if files, broken, err := reader.Read(t.Context()); files != nil || broken != nil || err != nil {
			t.Errorf("%q: %v, %v, %v", workspace, files, broken, err)
		}
	}
	workspace := t.TempDir()
	write(t, workspace, "f", "not a folder")
	reader, _ := texts(workspace)
	_, broken, err := reader.Read(t.Context())
	if err != nil || len(broken) != 1 || broken[0].File != "f" || strings.Contains(broken[0].Reason, workspace) {
		t.Errorf("%v, %v", broken, err)
	}
}

// Only changed files are read again.
func TestFilesAreReadOnce(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	for i := range MaxFiles {
		age(t, write(t, workspace, fmt.Sprintf("f/%04d.yaml", i), fmt.Sprint("text ", i)))
	}
	reader, parsed := texts(workspace)
	for range 3 {
		if files, _, err := reader.Read(t.Context()); len(files) != MaxFiles || err != nil {
			t.Fatal(len(files), err)
		}
	}
	if *parsed != MaxFiles {
		t.Errorf("%d files were parsed %d times", MaxFiles, *parsed)
	}
	age(t, write(t, workspace, "f/0003.yaml", "longer text"))
	if err := os.Remove(filepath.Join(workspace, "f", "0004.yaml")); err != nil {
		t.Fatal(err)
	}
	files, _, err := reader.Read(t.Context())
	if err != nil || files[3].Value != "longer text" || len(files) != MaxFiles-1 || *parsed != MaxFiles+1 || len(reader.cache) != MaxFiles-1 {
		t.Errorf("%v, %d files, %d parsed, %d known", err, len(files), *parsed, len(reader.cache))
	}
}

// Edits in quick succession with the same length are noticed; an unchanged text is not parsed
// again.
func TestFilesFollowEdits(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	reader, parsed := texts(workspace)
	for i, text := range []string{"one", "two", "bad", "bad", "six"} {
		write(t, workspace, "f/a.yaml", text)
		files, broken, err := reader.Read(t.Context())
		if err != nil || len(broken) == 1 != (text == "bad") || text != "bad" && files[0].Value != text {
			t.Errorf("%d: %v, %v, %v", i, files, broken, err)
		}
	}
	if *parsed != 4 {
		t.Errorf("parsed %d times", *parsed)
	}
}

func TestTooManyFiles(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	for i := range MaxFiles + 3 {
		write(t, workspace, fmt.Sprintf("f/%04d.yaml", i), "a: 1")
	}
	reader, _ := texts(workspace)
	files, broken, err := reader.Read(t.Context())
	if diff := cmp.Diff([]BrokenFile{{File: "f/0500.yaml", Reason: "it and 2 more are not read: 500 files are the most"}},
		broken); diff != "" ||
		len(files) != MaxFiles || err != nil {
		t.Error(len(files), err, diff)
	}
}

// The files of a folder are also limited in total, because their values are cached.
func TestLargeFolder(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	for i := range 5 {
		write(t, workspace, fmt.Sprintf("f/%d.yaml", i), strings.Repeat("x", 4<<20))
	}
	reader := NewFiles(workspace, "f", []string{".yaml"}, 5<<20, func(string, []byte) (int, *BrokenFile) { return 0, nil })
	files, broken, err := reader.Read(t.Context())
	want := []BrokenFile{{File: "f/4.yaml", Reason: "it cannot be read: it and the files before it have more than 16777216 bytes together"}}
	if diff := cmp.Diff(want, broken); diff != "" || len(files) != 4 || err != nil {
		t.Error(len(files), err, diff)
	}
}

func TestFilesOfACallThatEnded(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	for i := range 5 {
		write(t, workspace, fmt.Sprintf("f/%d.yaml", i), "a")
	}
	ctx, cancel := context.WithCancel(t.Context())
	parsed := 0
	reader := NewFiles(workspace, "f", []string{".yaml"}, 100, func(string, []byte) (int, *BrokenFile) {
		parsed++
		cancel()
		return parsed, nil
	})
	if _, _, err := reader.Read(ctx); !errors.Is(err, context.Canceled) || parsed != 1 {
		t.Errorf("%v after %d files", err, parsed)
	}
	if files, _, err := reader.Read(t.Context()); err != nil || len(files) != 5 || files[0].Value != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

func TestTrust(t *testing.T) {
	t.Parallel()
	trusted := false
	f := Folder{Dir: "/home/a/it's here", Trusted: func() bool { return trusted }}
	if f.IsTrusted() || !strings.HasSuffix(f.HowToTrust(), `type: toolfold trust '/home/a/it'\''s here'`) {
		t.Error(f.HowToTrust())
	}
	trusted = true
	if !f.IsTrusted() || !(Folder{}).IsTrusted() {
		t.Error("what the user trusted is not")
	}
	if hint := (Folder{Dir: "/src/x-1"}).HowToTrust(); !strings.HasSuffix(hint, "toolfold trust /src/x-1") {
		t.Error(hint)
	}
}
