package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/git/gittest"
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

// What main got meanwhile is no change of the branch; what is not committed is.
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

// No reference is taken for an option, a path or a range.
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
