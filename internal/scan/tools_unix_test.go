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
	if !slices.Contains(places(report.Findings), "p.py:3 ruff/E711") {
		t.Errorf("found %v", places(report.Findings))
	}
}

// A program that node_modules has by a link out of the workspace does not run, and that is said.
func TestForeignAnalyserOutside(t *testing.T) {
	elsewhere := foreignBench(t, true)
	t.Setenv("PATH", t.TempDir())
	s := Scanner{Dir: t.TempDir(), Trusted: func() bool { return true }}
	s.write(t, "x.js", "if (a === NaN) b();\n")
	if err := os.Symlink(filepath.Join(elsewhere.Dir, "node_modules"), filepath.Join(s.Dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	report := s.must(t, Request{Purpose: Bugs})
	want := []Skipped{{".", "eslint is installed but did not run: node_modules leads out of the workspace to it"}}
	if diff := cmp.Diff(want, report.Skipped); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(elsewhere.Dir, "node_modules/.bin/eslint.arguments")); err == nil {
		t.Error("eslint ran")
	}
}

// Compilers and linters that the project has run where it is trusted; each report is as the
// tool wrote it. What toolfold and two of them name is one finding, the first tool's, and toolfold's where
// that has a fix. A file that the scan does not look at has no findings.
func TestToolsOfTheProject(t *testing.T) {
	s := Scanner{Dir: t.TempDir(), Trusted: func() bool { return true }}
	s.write(t, "src/a.ts", "export const x: number = \"a\";\nif (x === NaN) f();\nfor (let i = 0; i < 9; i--) f();\nvar y = 1;\n")
	s.write(t, "a.py", "def f(x: int) -> str:\n    return x\n")
	s.write(t, "tsconfig.json", "{}")
	for name, report := range map[string]string{
		"tsc": "src/a.ts(1,14): error TS2322: Type 'string' is not assignable to type 'number'.\n" +
			"other/b.ts(1,1): error TS1: Not scanned.\n",
		"biome": "::error title=lint/correctness/useIsNan,file=DIR/src/a.ts,line=2,endLine=2,col=5,endColumn=14::Use Number.isNaN.\n" +
			"::error title=lint/correctness/useValidForDirection,file=DIR/src/a.ts,line=3,endLine=3,col=1,endColumn=4::It never ends.\n",
		"oxlint": `{"diagnostics": [{"message": "Wrong way","code": "eslint(for-direction)","severity": "warning","help": "Turn it.",` +
			`"filename": "src/a.ts","labels": [{"span": {"offset": 49,"length": 3,"line": 3,"column": 1}}]},` +
			`{"message": "Unused","code": "eslint(no-unused-vars)","severity": "warning","help": "Remove it.",` +
			`"filename": "src/a.ts","labels": [{"span": {"offset": 78,"length": 1,"line": 4,"column": 5}}]}]}`,
		"pyright": `{"generalDiagnostics": [{"file": "DIR/a.py","severity": "error","message": "Not a str","rule": "reportReturnType",` +
			`"range": {"start": {"line": 1,"character": 11}, "end": {"line": 1,"character": 12}}}]}`,
	} {
		program := "node_modules/.bin/" + name
		s.write(t, program, "#!/bin/sh\ncat <<'END'\n"+strings.ReplaceAll(report, "DIR", s.Dir)+"\nEND\nexit 1\n")
		if err := os.Chmod(filepath.Join(s.Dir, program), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	scan := func() (found []string, report *Report) {
		report = s.must(t, Request{Purpose: Bugs})
		for _, f := range report.Findings {
			if tool, _, _ := strings.Cut(f.Rule, "/"); slices.Contains([]string{"tsc", "biome", "oxlint", "pyright"}, tool) {
				found = append(found, places([]Finding{f})[0]+" "+f.Level)
			}
		}
		slices.Sort(found)
		return found, report
	}
	found, report := scan()
	if diff := cmp.Diff([]string{
		"src/a.ts:1 tsc/TS2322 high", "src/a.ts:3 biome/correctness/useValidForDirection medium", "src/a.ts:4 oxlint/no-unused-vars low",
	}, found); diff != "" {
		t.Error(diff)
	}
	got := places(report.Findings)
	if !slices.Contains(got, "src/a.ts:2 js/nan-comparison") || slices.Contains(got, "src/a.ts:3 js/loop-direction") {
		t.Errorf("found %v", got)
	}
	if !slices.Contains(report.Skipped, Skipped{".", "pyright is installed but did not run: there is no pyrightconfig.json"}) {
		t.Errorf("skipped %v", report.Skipped)
	}
	s.write(t, "pyrightconfig.json", "{}")
	s.write(t, "node_modules/.bin/tsc", "#!/bin/sh\necho 'error TS5058: The specified path does not exist.'\nexit 1\n")
	found, report = scan()
	if !slices.Contains(found, "a.py:2 pyright/reportReturnType high") {
		t.Errorf("found %v", found)
	}
	if !slices.ContainsFunc(report.Skipped, func(s Skipped) bool {
		return strings.HasPrefix(s.Reason, "tsc did not work: it said: error TS5058")
	}) {
		t.Errorf("skipped %v", report.Skipped)
	}
}

// golangci-lint leads where the project has its configuration, with its severities: what it and an analyser of
// Go that is linked name is one finding, its own. The report is as version 2.15 wrote it, its list
// of linters aside.
func TestGolangciLeads(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	trusted := true
	s := Scanner{Dir: t.TempDir(), Trusted: func() bool { return trusted }}
	report, err := os.ReadFile("testdata/reports/golangci-lint.json")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/reports/golangci-lint.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "go.mod", "module example.com/x\n\ngo 1.24\n")
	s.write(t, "a.go", string(source))
	program := filepath.Join(bin, "golangci-lint")
	script := "#!/bin/sh\nprintf '%s ' \"$@\" >'" + program + ".arguments'\ncat <<'END'\n" +
		strings.ReplaceAll(string(report), "DIR", s.Dir) + "END\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	reasons := func() (list []string) {
		for _, skipped := range s.must(t, Request{Purpose: Bugs}).Skipped {
			list = append(list, skipped.Reason)
		}
		return list
	}
	if diff := cmp.Diff([]string{"golangci-lint is installed but did not run: there is no .golangci.yml"}, reasons()); diff != "" {
		t.Error(diff)
	}
	s.write(t, ".golangci.toml", "version = \"2\"\n")
	trusted = false
	untrusted := "golangci-lint is installed but did not run: the user has not trusted this workspace"
	if diff := cmp.Diff([]string{untrusted}, reasons()); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(program + ".arguments"); err == nil {
		t.Error("golangci-lint ran")
	}
	trusted = true
	for purpose, want := range map[Purpose][]string{
		Bugs: {
			"a.go:10 golangci-lint/errcheck logic-error medium", "a.go:11 golangci-lint/bodyclose resource-leak medium",
			"a.go:15 golangci-lint/govet/printf type-error medium", "a.go:16 golangci-lint/ineffassign logic-error medium",
		},
		Refactorings: { // of two findings of a fault the one that has a fix stays
			"a.go:1 golangci-lint/revive/package-comments other minor", "a.go:19 staticcheck/S1002 simplify-conditional trivial",
			"a.go:25 golangci-lint/revive/exported other minor",
		},
	} {
		result := s.must(t, Request{Purpose: purpose})
		var got []string
		for _, f := range result.Findings {
			got = append(got, places([]Finding{f})[0]+" "+f.Kind+" "+f.Level)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", purpose, diff)
		}
		if !slices.Contains(result.Analysers, "golangci-lint") || result.Skipped != nil {
			t.Errorf("%s: ran %v, skipped %v", purpose, result.Analysers, result.Skipped)
		}
	}
	script = "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9; do " +
		"echo \"go: downloading example.com/a/very/long/name/of/a/module/$i v1.2.3\"; done >&2\n" +
		"echo \"can't load config: unsupported version of the configuration\" >&2\nexit 3\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if list := reasons(); len(list) != 1 || !strings.Contains(list[0], "golangci-lint did not work: exit status 3") ||
		!strings.Contains(list[0], "unsupported version") {
		t.Errorf("skipped %v", list)
	}
}
