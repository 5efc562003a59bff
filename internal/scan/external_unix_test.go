//go:build unix

package scan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// foreignBench is a workspace with files and with programs called eslint, in
// the workspace, and ruff, in $PATH, that answer with reports as those do.
func foreignBench(t *testing.T, trusted bool) Scanner {
	t.Helper()
	s := Scanner{Dir: t.TempDir(), Trusted: func() bool { return trusted }}
	s.write(t, "web/x.js", "var é = \"😀\"; var a = 1;\nif (a === 2) f(\"x\");;\nexport default é;\n")
	s.write(t, "web/y.ts", "let x;\n")
	s.write(t, "p.py", "def f(x):\n    é = g('é')\n    if x == None: pass\n")
	bin := t.TempDir()
	for program, status := range map[string]string{filepath.Join(s.Dir, "node_modules/.bin/eslint"): "1", filepath.Join(bin, "ruff"): "0"} {
		report, err := os.ReadFile("testdata/reports/" + filepath.Base(program) + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program+".json", []byte(strings.ReplaceAll(string(report), "DIR", s.Dir)), 0o644); err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/sh\nprintf '%s ' \"$@\" >'" + program + ".arguments'\ncat '" + program + ".json'\nexit " + status + "\n"
		if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return s
}

// foreignOf lists the findings of other analysers, with what their fixes make
// of the line.
func foreignOf(t *testing.T, s Scanner, purpose Purpose) []string {
	t.Helper()
	report := s.must(t, Request{Purpose: purpose})
	if !slices.Contains(report.Analysers, "eslint") || !slices.Contains(report.Analysers, "ruff") {
		t.Errorf("ran %v, skipped %v", report.Analysers, report.Skipped)
	}
	var list []string
	for _, f := range report.Findings {
		if !strings.HasPrefix(f.Rule, "eslint/") && !strings.HasPrefix(f.Rule, "ruff/") {
			continue
		}
		line := f.Rule + " " + f.Kind + " " + f.Level
		if f.Fixable() {
			after, err := applyEdits(s.read(t, f.File), f.Edits)
			if err != nil {
				t.Fatal(err)
			}
			line += ": " + strings.Split(after, "\n")[f.Line-1]
		}
		list = append(list, line)
	}
	slices.Sort(list)
	return list
}

func TestForeignAnalysers(t *testing.T) {
	s := foreignBench(t, true)
	if diff := cmp.Diff([]string{
		"eslint/no-extra-semi logic-error medium: if (a === 2) f(\"x\");", "eslint/no-restricted-syntax logic-error medium",
		"ruff/E711 logic-error medium:     if x is None: pass", "ruff/F841 logic-error medium", "ruff/S307 security high",
	}, foreignOf(t, s, Bugs)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"eslint/no-var modernize-syntax minor: var é = \"😀\"; let a = 1;", "ruff/UP034 modernize-syntax minor",
	}, foreignOf(t, s, Refactorings)); diff != "" {
		t.Error(diff)
	}
	if got, want := s.read(t, "node_modules/.bin/eslint.arguments"),
		"--format json --no-error-on-unmatched-pattern --no-warn-ignored -- web/x.js web/y.ts "; got != want {
		t.Errorf("eslint was called with %q, want %q", got, want)
	}
	report := s.must(t, Request{Purpose: Bugs})
	if !slices.Contains(report.Skipped, Skipped{"web/y.ts", "eslint: Parsing error: Unexpected token :"}) {
		t.Errorf("skipped %v", report.Skipped)
	}
	if report := s.must(t, Request{Purpose: Bugs, Fast: true}); len(report.Analysers) != 1 {
		t.Errorf("a fast scan ran %v", report.Analysers)
	}
}

// Analysers that run code of the workspace need the user's trust, and are said
// to be left out without it.
func TestForeignAnalysersNeedTrust(t *testing.T) {
	s := foreignBench(t, false)
	report := s.must(t, Request{Purpose: Bugs})
	if len(report.Analysers) != 1 || len(report.Skipped) != 2 || !strings.Contains(report.Skipped[0].Reason, "not trusted") {
		t.Errorf("ran %v, skipped %v", report.Analysers, report.Skipped)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "node_modules/.bin/eslint.arguments")); err == nil {
		t.Error("eslint ran")
	}
}

// An analyser that breaks down is said so, and leaves the rest of the scan.
func TestForeignAnalyserThatFails(t *testing.T) {
	s := foreignBench(t, true)
	s.write(t, "node_modules/.bin/eslint", "#!/bin/sh\necho 'no configuration' >&2\nexit 2\n")
	report := s.must(t, Request{Purpose: Bugs})
	if slices.Contains(report.Analysers, "eslint") || !slices.ContainsFunc(report.Skipped, func(skipped Skipped) bool {
		return strings.Contains(skipped.Reason, "exit status 2") && strings.Contains(skipped.Reason, "no configuration")
	}) {
		t.Errorf("ran %v, skipped %v", report.Analysers, report.Skipped)
	}
	if !slices.Contains(places(report.Findings), "p.py:3 python/none-comparison") {
		t.Errorf("found %v", places(report.Findings))
	}
}
