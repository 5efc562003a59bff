package scan

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/code/git/gittest"
)

// Only findings on changed lines are reported; the others in changed files are counted.
func TestSince(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, map[string]string{
		"go.mod": "module example.com/x\n\ngo 1.24\n", "old.py": "yaml.load(a)\n", "src/a.py": "yaml.load(a)\n\n\nassert (b, b)\n",
		"b/b.go": "package b\n\nfunc f(x int) int {\n\tx = x\n\treturn x\n}\n",
	})
	r.Write("src/a.py", "yaml.load(a)\n\nyaml.load(new)\n\nassert (b, b)\n")
	r.Write("new.py", "yaml.load(a)\nyaml.load(b)\n")
	r.Write("b/b.go", "package b\n\nfunc f(x int) int {\n\tx = x\n\treturn x\n}\n\nfunc g(y int) int {\n\ty = y\n\treturn y\n}\n")
	s := Scanner{Dir: r.Dir}
	report := s.must(t, Request{Purpose: Bugs, Since: "uncommitted"})
	want := []string{"b/b.go:9 vet/assign", "new.py:1 python/unsafe-yaml", "new.py:2 python/unsafe-yaml", "src/a.py:3 python/unsafe-yaml"}
	if diff := cmp.Diff(want, places(report.Findings)); diff != "" {
		t.Error(diff)
	}
	if report.Files != 3 || report.Older < 3 {
		t.Errorf("%d files, %d older findings", report.Files, report.Older)
	}
	below := s.must(t, Request{Purpose: Bugs, Since: "HEAD", Paths: []string{"src"}, MaxFiles: 1})
	if diff := cmp.Diff([]string{"src/a.py:3 python/unsafe-yaml"}, places(below.Findings)); diff != "" || below.Truncated != "" {
		t.Errorf("below a path: %s %s", diff, below.Truncated)
	}
	_, err := s.Scan(t.Context(), Request{Purpose: Bugs, Paths: []string{"."}, MaxFiles: 9, Since: "--output=x"})
	var refused *toolfold.Error
	if !errors.As(err, &refused) || refused.Code != NoChanges {
		t.Errorf("an option for a reference: %v", err)
	}
}

// Changes in a nested repository are unknown, which is reported.
func TestSinceReportsNestedRepositories(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, map[string]string{"a.py": "yaml.load(a)\n"})
	below := gittest.Repo{T: t, Dir: filepath.Join(r.Dir, "src/below")}
	below.Write("b.py", "yaml.load(b)\n")
	below.Git("init", "-q")
	r.Write("no repository/.git/x", "")
	r.Write("no repository/c.py", "yaml.load(c)\n")
	r.Git("add", "no repository/c.py")
	for _, paths := range [][]string{{"."}, {"no repository", "src"}, {"no repository", "src/below"}, {"no repository", "src/below/b.py"}} {
		report := Scanner{Dir: r.Dir}.must(t, Request{Purpose: Bugs, Since: "uncommitted", Paths: paths})
		if len(report.Findings) != 1 || len(report.Skipped) != 1 || report.Skipped[0].Path != "src/below" {
			t.Errorf("%v: found %v, skipped %v", paths, report.Findings, report.Skipped)
		}
	}
	if report := (Scanner{Dir: r.Dir}).must(t, Request{Purpose: Bugs}); len(report.Findings) != 3 || len(report.Skipped) != 0 {
		t.Errorf("all files: found %v, skipped %v", report.Findings, report.Skipped)
	}
}

// Backups do not count as changes of the repository.
func TestBackupsAreIgnored(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, map[string]string{"a.py": "if x is 5: pass\n"})
	s := Scanner{Dir: r.Dir}
	report := s.must(t, Request{Purpose: Bugs})
	applied, err := s.apply(t, report.Findings[0], Change{Write: true, Backup: true})
	if err != nil || applied.Backup == "" {
		t.Fatalf("%+v, %v", applied, err)
	}
	if got := r.Git("status", "--porcelain"); got != " M a.py\n" {
		t.Errorf("git status: %q", got)
	}
}
