package scan

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/test/golden"
)

// Refactorings of a module, by modernize, staticcheck and inline.
func TestGoRefactorings(t *testing.T) {
	t.Parallel()
	s := workspaceOf(t, "module")
	report := s.must(t, Request{Purpose: Refactorings, Paths: []string{"old.go"}})
	if diff := cmp.Diff(wanted("old.go", s.read(t, "old.go")), places(report.Findings)); diff != "" {
		t.Error(diff)
	}
}

// Every fix is applied, one per scan, until none is left. The result equals the golden file, and a
// fixed finding is not found again.
func TestFixes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		folder, name string
		purpose      Purpose
		compiler     []string // empty = the tokens must match
	}{
		{"scripts", "bugs.ts", Bugs, nil},
		{"scripts", "refactor.ts", Refactorings, nil},
		{"scripts", "modern.js", Refactorings, nil},
		{"scripts", "bugs.py", Bugs, []string{"python3", "-m", "py_compile", "bugs.py"}},
		{"scripts", "refactor.py", Refactorings, []string{"python3", "-m", "py_compile", "refactor.py"}},
		{"module", "faults.go", Bugs, []string{"go", "build", "./..."}},
		{"module", "old.go", Refactorings, []string{"go", "build", "./..."}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := workspaceOf(t, test.folder)
			request := Request{Purpose: test.purpose, Paths: []string{test.name}}
			var fixed []string
			var report *Report
			for {
				report = s.must(t, request)
				i := slices.IndexFunc(report.Findings, Finding.Fixable)
				if i < 0 {
					break
				}
				f := report.Findings[i]
				if slices.Contains(fixed, f.ID) {
					t.Fatalf("%s at line %d was fixed, and is found again", f.Rule, f.Line)
				}
				fixed = append(fixed, f.ID)
				applied, err := s.apply(t, f, Change{Write: true})
				if err != nil || !applied.Written {
					t.Fatalf("%s at line %d: %v", f.Rule, f.Line, err)
				}
			}
			if len(fixed) == 0 {
				t.Error("nothing was fixed")
			}
			for _, f := range report.Findings {
				if slices.Contains(fixed, f.ID) {
					t.Errorf("%s at line %d was fixed, and is found again", f.Rule, f.Line)
				}
			}
			golden.Compare(t, filepath.Join("testdata", "fixed", test.name+".golden"), s.read(t, test.name))
			compile(t, s, test.compiler)
		})
	}
}

// mustHaveTools is the environment variable that makes tests fail if a tool that they need is not
// installed, for CI.
const mustHaveTools = "TOOLFOLD_TEST_COMPILERS"

func compile(t *testing.T, s Scanner, argv []string) {
	t.Helper()
	if argv == nil {
		return
	}
	if _, err := exec.LookPath(argv[0]); err != nil && os.Getenv(mustHaveTools) == "" {
		t.Logf("%s is not installed: what is fixed was not compiled", argv[0])
		return
	}
	command := exec.Command(argv[0], argv[1:]...)
	command.Dir = s.Dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
}
