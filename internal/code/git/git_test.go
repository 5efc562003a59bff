package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/code/git/gittest"
)

func TestUncommitted(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, map[string]string{"sub/kept": "1\n2\n3\n", "sub/gone": "1", "sub/moved": strings.Repeat("long\n", 50), "above": "1",
		".gitignore": "*.log\n", "sub/staged": "1", "sub/a b": "1\n", "sub/ü\"": "++ b/sub/kept\n", "sub/cut": "1\n2\n3\n4\n"})
	r.Write("sub/kept", "0\n1\n2\nthree\n")
	r.Write("sub/new dir/ü\n\"q\"", "1")
	r.Write("sub/x.log", "1")
	r.Write("above", "2")
	r.Write("sub/a b", "1\n2\n")
	r.Write("sub/ü\"", "++ b/sub/kept\n++ b/sub/kept\n@@ -1 +1,9 @@")
	r.Write("sub/cut", "1\n4\n")
	r.Git("mv", "sub/moved", "sub/there")
	r.Write("sub/staged", "2")
	r.Git("add", "sub/staged")
	if err := os.Remove(filepath.Join(r.Dir, "sub/gone")); err != nil {
		t.Fatal(err)
	}
	got, err := Since(t.Context(), filepath.Join(r.Dir, "sub"), Uncommitted)
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{
		{Path: "a b", Lines: []Lines{{2, 2}}}, {Path: "cut", Lines: []Lines{{1, 2}}}, {Path: "gone", Gone: true},
		{Path: "kept", Lines: []Lines{{1, 1}, {4, 4}}}, {Path: "moved", Gone: true}, {Path: "new dir/ü\n\"q\"", New: true},
		{Path: "staged", Lines: []Lines{{1, 1}}}, {Path: "there", New: true, Lines: []Lines{{1, 50}}}, {Path: "ü\"", Lines: []Lines{{2, 3}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Since(t.Context(), t.TempDir(), Uncommitted); err == nil || !strings.Contains(err.Error(), "no git repository") {
		t.Errorf("outside of a repository: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := Since(ended, r.Dir, Uncommitted); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
}

// Git lists no lines for files that it considers binary, so every line counts as changed.
func TestFilesWithoutLines(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, map[string]string{".gitattributes": "*.a -diff\n*.b binary\n*.c diff=other\n", "x.a": "1\n", "x.b": "1\n",
		"x.c": "1\n", "mode": "1\n", "bin": "1\x00\n", "top": "1\n2\n"})
	r.Git("config", "diff.other.binary", "true")
	for _, name := range []string{"x.a", "x.b", "x.c"} {
		r.Write(name, "1\n2\n")
	}
	r.Write("bin", "1\x002\n")
	r.Write("top", "2\n")
	if err := os.Chmod(filepath.Join(r.Dir, "mode"), 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := Since(t.Context(), r.Dir, Uncommitted)
	want := []Change{{Path: "bin", Whole: true}, {Path: "mode"}, {Path: "top", Lines: []Lines{{1, 1}}}, {Path: "x.a", Whole: true},
		{Path: "x.b", Whole: true}, {Path: "x.c", Whole: true}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for i, c := range got {
		if c.Has(0) != want[i].Whole {
			t.Errorf("%s: the file itself changed: %t", c.Path, c.Has(0))
		}
	}
}

// A named file is new unless the commit has it, even if git does not list it.
func TestNamedFiles(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, map[string]string{".gitignore": ".env\n", "sub/a b": "1\n", "sub/b": "1\n", "above": "1\n"})
	r.Write("sub/.env", "1\n")
	r.Write("sub/b", "1\n2\n")
	gittest.Repo{T: t, Dir: filepath.Join(r.Dir, "sub")}.Git("init", "-q", "below")
	r.Write("sub/below/x", "1\n")
	got, err := Since(t.Context(), filepath.Join(r.Dir, "sub"), Uncommitted, ".env", "a b", "b", "below/x", "missing")
	want := []Change{{Path: ".env", New: true}, {Path: "a b"}, {Path: "b", Lines: []Lines{{2, 2}}}, {Path: "below", New: true},
		{Path: "below/x", New: true}, {Path: "missing", New: true}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// Commits on main since the branch are not changes of the branch; uncommitted changes are.
func TestSinceBranch(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, map[string]string{"a": "1\n2\n3\n"})
	r.Git("switch", "-q", "-c", "work")
	r.Write("a", "1\n2\nthree\n")
	r.Commit("work")
	r.Git("switch", "-q", "main")
	r.Write("b", "other\n")
	r.Commit("main goes on")
	r.Git("switch", "-q", "work")
	r.Write("c", "new\n")
	want := []Change{{Path: "a", Lines: []Lines{{3, 3}}}, {Path: "c", New: true}}
	for _, ref := range []string{"main", "HEAD~1", strings.TrimSpace(r.Git("rev-parse", "main"))} {
		got, err := Since(t.Context(), r.Dir, ref)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("since %s: %v %s", ref, err, diff)
		}
	}
}

func TestBeforeTheFirstCommit(t *testing.T) {
	t.Parallel()
	r := gittest.Repo{T: t, Dir: t.TempDir()}
	r.Git("init", "-q")
	r.Write("a", "1")
	got, err := Since(t.Context(), r.Dir, Uncommitted)
	if diff := cmp.Diff([]Change{{Path: "a", New: true}}, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// No reference is mistaken for an option, a path or a range.
func TestReferences(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, map[string]string{"a": "1"})
	out := filepath.Join(t.TempDir(), "out")
	for _, ref := range []string{"", "nowhere", "--output=" + out, "-p", "a", "HEAD..HEAD", "HEAD:a", "HEAD --output=" + out,
		"x\x00y", "HEAD\nHEAD",
		strings.Repeat("x", 300)} {
		changes, err := Since(t.Context(), r.Dir, ref)
		var refused *NoChanges
		if !errors.As(err, &refused) || refused.Hint == "" {
			t.Errorf("since %q: %v, %v", ref, changes, err)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a reference was taken for an option")
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, map[string]string{"sub/a b": "1\n2\n", ".gitattributes": "* filter=evil text eol=crlf\n"})
	r.Git("config", "filter.evil.smudge", "touch ran")
	r.Git("tag", "v1")
	r.Write("sub/a b", "changed")
	r.Commit("later")
	dir := filepath.Join(r.Dir, "sub")
	for _, ref := range []string{"v1", "HEAD~1"} {
		if text, err := File(t.Context(), dir, ref, "a b", 4); err != nil || string(text) != "1\n2\n" {
			t.Errorf("%s: %q, %v", ref, text, err)
		}
	}
	for _, c := range []struct{ ref, name string }{{"v1", "b"}, {"v2", "a b"}, {"v1", "../.gitattributes"}, {"--all", "a b"}, {"", "a b"}} {
		var none *NoChanges
		if text, err := File(t.Context(), dir, c.ref, c.name, 100); !errors.As(err, &none) {
			t.Errorf("%v: %q, %v", c, text, err)
		}
	}
	var none *NoChanges
	if _, err := File(t.Context(), dir, "v1", "a b", 3); !errors.As(err, &none) {
		t.Errorf("a file over the limit: %v", err)
	}
}

func TestPrivate(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, map[string]string{".gitignore": "ignored\n*.log\n", "tracked.log": "", "sub/a": ""})
	r.Git("add", "-f", "tracked.log")
	r.Commit("tracked")
	r.Git("worktree", "add", "-q", filepath.Join(r.Dir, "ignored", "tree"))
	top, err := filepath.EvalSymlinks(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		".git/hooks/pre-commit": true, "ignored/hooks.json": true, "new.log": true, "tracked.log": false, "sub/new [1].json": false,
		"../outside": false,
	} {
		for _, dir := range []string{"", "sub", "ignored/tree"} {
			if dir == "ignored/tree" && path != ".git/hooks/pre-commit" {
				continue // of another working tree
			}
			if got, err := Private(filepath.Join(top, dir), filepath.Join(top, path)); err != nil || got != want {
				t.Errorf("%s from %q: %v, %v", path, dir, got, err)
			}
		}
	}
}

// A setting that switches hooks off is named, with the fix.
func TestHooks(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, nil)
	top, err := filepath.EvalSymlinks(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for set, want := range map[string]string{
		"hooksPath = .githooks": ".githooks", "hooksPath =": "is \"\"", "hooksPath": "is \"\"",
		"hooksPath = " + os.DevNull:                          "is " + strconv.Quote(os.DevNull),
		"hooksPath = " + filepath.ToSlash(filepath.Dir(top)): "other repositories",
		"[nonsense": "exit status 128",
	} {
		r.Write(".git/config", "[core]\n\trepositoryformatversion = 0\n\t"+set+"\n")
		got, err := Hooks(r.Dir)
		if strings.HasPrefix(want, ".") {
			if err != nil || got != filepath.Join(top, want) {
				t.Errorf("%q: %s, %v", set, got, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %s, %v; want %s", set, got, err, want)
		}
	}
}

func TestTop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	below := filepath.Join(dir, "tree", "a", "b")
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	if top, ok := Top(below); top != below || ok {
		t.Errorf("without a working tree it is %s, %v", top, ok)
	}
	tree := filepath.Join(dir, "tree")
	if err := os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: elsewhere\n"), 0o600); err != nil { // as in a worktree
		t.Fatal(err)
	}
	if top, ok := Top(below); top != tree || !ok {
		t.Errorf("below a working tree it is %s, %v, want %s", top, ok, tree)
	}
}
