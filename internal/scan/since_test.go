package scan

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/git/gittest"
)

// Only what changed is reported; the rest of the changed files is counted.
func TestSince(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, map[string]string{
		"go.mod": "module example.com/x\n\ngo 1.24\n", "old.py": "eval(a)\n", "src/a.py": "eval(a)\n\n\nexec(b)\n",
		"b/b.go": "package b\n\nfunc f(x int) int {\n\tx = x\n\treturn x\n}\n",
	})
	r.Write("src/a.py", "eval(a)\n\neval(new)\n\nexec(b)\n")
	r.Write("new.py", "eval(a)\neval(b)\n")
	r.Write("b/b.go", "package b\n\nfunc f(x int) int {\n\tx = x\n\treturn x\n}\n\nfunc g(y int) int {\n\ty = y\n\treturn y\n}\n")
	s := Scanner{Dir: r.Dir}
	report := s.must(t, Request{Purpose: Bugs, Since: "uncommitted"})
	want := []string{"b/b.go:9 staticcheck/SA4018", "new.py:1 python/eval", "new.py:2 python/eval", "src/a.py:3 python/eval"}
	got := []string{}
	for _, place := range places(report.Findings) {
		if place != "b/b.go:9 vet/assign" {
			got = append(got, place)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if report.Files != 3 || report.Older < 3 {
		t.Errorf("%d files, %d older findings", report.Files, report.Older)
	}
	below := s.must(t, Request{Purpose: Bugs, Since: "HEAD", Paths: []string{"src"}, MaxFiles: 1})
	if diff := cmp.Diff([]string{"src/a.py:3 python/eval"}, places(below.Findings)); diff != "" || below.Truncated != "" {
		t.Errorf("below a path: %s %s", diff, below.Truncated)
	}
	_, err := s.Scan(t.Context(), Request{Purpose: Bugs, Paths: []string{"."}, MaxFiles: 9, Since: "--output=x"})
	var refused *toolfold.Error
	if !errors.As(err, &refused) || refused.Code != NoChanges {
		t.Errorf("an option for a reference: %v", err)
	}
}

// A backup is no change of the repository.
func TestBackupsAreIgnored(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, map[string]string{"a.py": "if x == None: pass\n"})
	s := Scanner{Dir: r.Dir}
	report := s.must(t, Request{Purpose: Bugs})
	applied, err := s.Apply(t.Context(), report.Findings[0], Change{Write: true, Backup: true})
	if err != nil || applied.Backup == "" {
		t.Fatalf("%+v, %v", applied, err)
	}
	if got := r.Git("status", "--porcelain"); got != " M a.py\n" {
		t.Errorf("git status: %q", got)
	}
}
