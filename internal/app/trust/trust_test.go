package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func folders(t *testing.T, names ...string) (list *Folders, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return Open(filepath.Join(dir, "data", "trust.json")), dir
}

func add(t *testing.T, list *Folders, dir string) {
	t.Helper()
	if _, err := list.Add(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
}

func TestTrusted(t *testing.T) {
	t.Parallel()
	list, dir := folders(t, "project/below/deeper", "project-2", "other")
	at := func(name string) string { return filepath.Join(dir, name) }
	for link, target := range map[string]string{"alias": "project", "other/into": "project", "project/out": "other"} {
		if err := os.Symlink(at(target), at(link)); err != nil {
			t.Skip(err)
		}
	}
	if list.Trusted(at("project")) {
		t.Error("trusted before anything was added")
	}
	add(t, list, at("alias"))
	for name, want := range map[string]bool{
		"project": true, "alias": true, "project/below/deeper": true, "project/below/..": true, "other/into": true,
		"project-2": false, "other": false, "project/../other": false, ".": false, "project/absent": false,
		"project/out": false, // a link in a trusted folder leads to an untrusted one
	} {
		if got := list.Trusted(at(name)); got != want {
			t.Errorf("%s: trusted is %v, want %v", name, got, want)
		}
	}
	if by, err := list.By(at("project/below")); err != nil || by != at("project") {
		t.Errorf("trusted by %q, %v", by, err)
	}
	info, err := os.Stat(list.path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode of the file: %v, %v", info.Mode(), err)
	}
}

// Another folder at the path of a trusted one is detected, until it is trusted itself.
func TestReplaced(t *testing.T) {
	t.Parallel()
	list, dir := folders(t, "project/below", "other/below")
	project := filepath.Join(dir, "project")
	if identity(project) == "" {
		t.Skip("folders have no ids on this system")
	}
	add(t, list, project)
	if by := list.Replaced(project); by != "" {
		t.Errorf("%s is replaced at once", by)
	}
	if err := os.Rename(project, filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "other"), project); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{project, filepath.Join(project, "below")} {
		if by := list.Replaced(name); by != project {
			t.Errorf("%s: replaced is %q, want %q", name, by, project)
		}
	}
	add(t, list, project)
	if by := list.Replaced(project); by != "" {
		t.Errorf("%s is replaced after it was trusted", by)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	list, dir := folders(t, "a/b", "c")
	add(t, list, filepath.Join(dir, "a"))
	add(t, list, filepath.Join(dir, "a"))
	add(t, list, filepath.Join(dir, "c"))
	if err := os.Remove(filepath.Join(dir, "c")); err != nil {
		t.Fatal(err)
	}
	if _, err := list.Remove(t.Context(), filepath.Join(dir, "a/b")); err == nil || !strings.Contains(err.Error(), "is trusted because") {
		t.Errorf("removing a folder below: %v", err)
	}
	for _, name := range []string{"a", "c"} { // c does not exist any more
		if removed, err := list.Remove(t.Context(), filepath.Join(dir, name)); err != nil || removed != filepath.Join(dir, name) {
			t.Errorf("removing %s: %q, %v", name, removed, err)
		}
	}
	if _, err := list.Remove(t.Context(), filepath.Join(dir, "a")); err == nil {
		t.Error("removed twice")
	}
	if got, err := list.List(); err != nil || len(got) != 0 {
		t.Errorf("left: %v, %v", got, err)
	}
}

func TestAddRefuses(t *testing.T) {
	list, dir := folders(t, "home", "file")
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("USERPROFILE", filepath.Join(dir, "home"))
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.VolumeName(dir) + string(filepath.Separator), filepath.Join(dir, "home"), plain,
		filepath.Join(dir, "absent")} {
		if _, err := list.Add(t.Context(), name); err == nil {
			t.Errorf("%s was added", name)
		}
	}
}

// A list that cannot be read trusts nothing, and is not overwritten.
func TestBrokenList(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"not JSON": "{", "too large": `{"folders":["` + strings.Repeat("x", maxSize) + `"]}`} {
		list, dir := folders(t, "data", "a")
		if err := os.WriteFile(list.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if list.Trusted(filepath.Join(dir, "a")) {
			t.Errorf("%s: trusted", name)
		}
		if _, err := list.Add(t.Context(), filepath.Join(dir, "a")); err == nil {
			t.Errorf("%s: added", name)
		}
		if now, err := os.ReadFile(list.path); err != nil || string(now) != text {
			t.Errorf("%s: the file changed: %v", name, err)
		}
	}
}

// Each addition uses its own list, as separate processes would.
func TestAddConcurrently(t *testing.T) {
	t.Parallel()
	const n = 20
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("p%02d", i))
	}
	list, dir := folders(t, names...)
	var want []string
	var group sync.WaitGroup
	for _, name := range names {
		want = append(want, filepath.Join(dir, name))
		group.Go(func() {
			if _, err := Open(list.path).Add(t.Context(), filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	got, err := list.List()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
