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

// Every fix is applied, all that do not conflict per scan, until none is left; at full size one per
// scan. The result equals the golden file, and a fixed finding is not found again.
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
				wrong := slices.DeleteFunc(slices.Clone(report.Findings), func(f Finding) bool { return !f.Fixable() })
				if len(wrong) == 0 {
					break
				}
				if full() {
					wrong = wrong[:1]
				}
				applied, err := s.Apply(t.Context(), wrong, Change{Write: true})
				if err != nil || !applied.Written {
					t.Fatalf("%s at line %d: %v, %+v", wrong[0].Rule, wrong[0].Line, err, applied)
				}
				for _, f := range wrong {
					if slices.ContainsFunc(applied.refusals, func(r refusal) bool { return r.ID == f.ID }) {
						continue
					}
					if slices.Contains(fixed, f.ID) {
						t.Fatalf("%s at line %d was fixed, and is found again", f.Rule, f.Line)
					}
					fixed = append(fixed, f.ID)
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
