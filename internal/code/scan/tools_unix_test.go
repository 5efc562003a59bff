//go:build unix

package scan

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/code/scan/runner"
)

// foreignBench returns a workspace with files and with programs called eslint, in the workspace,
// and ruff, in $PATH, that print reports of the real tools.
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
	onlyTools(t, bin)
	return s
}

// onlyTools limits $PATH to a folder of programs, and what scripts and the go command need.
func onlyTools(t *testing.T, bin string) {
	t.Helper()
	few := t.TempDir()
	for _, name := range []string{"sh", "cat", "touch", "go", "git"} {
		if at, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(at, filepath.Join(few, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+few)
}

// fakeTool writes a program that records its arguments next to it and prints an output.
func fakeTool(t *testing.T, at, output string, status int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\nprintf '%%s ' \"$@\" >'%s.arguments'\ncat <<'END'\n%s\nEND\nexit %d\n", at, output, status)
	if err := os.WriteFile(at, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
}

// foreignOf lists the findings of eslint and ruff, with the line after their fixes.
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
		"ruff/E711 logic-error low:     if x is None: pass", "ruff/F841 logic-error low", "ruff/S307 security high",
	}, foreignOf(t, s, Bugs)); diff != "" {
		t.Error(diff)
	}
	// Tools that the project uses keep their severities.
	s.write(t, "ruff.toml", "")
	if got := foreignOf(t, s, Bugs); !slices.Contains(got, "ruff/F841 logic-error medium") {
		t.Errorf("with its configuration ruff finds %v", got)
	}
	if diff := cmp.Diff([]string{
		"eslint/no-var modernize-syntax minor: var é = \"😀\"; let a = 1;", "ruff/UP034 modernize-syntax minor",
	}, foreignOf(t, s, Refactorings)); diff != "" {
		t.Error(diff)
	}
	if got, want := s.read(t, "node_modules/.bin/eslint.arguments"),
		"--format json --no-error-on-unmatched-pattern -- ./web/x.js ./web/y.ts "; got != want {
		t.Errorf("eslint was called with %q, want %q", got, want)
	}
	report := s.must(t, Request{Purpose: Bugs})
	if !slices.Contains(report.Skipped, SkippedFile{"web/y.ts", "eslint: Parsing error: Unexpected token :"}) {
		t.Errorf("skipped %v", report.Skipped)
	}
	if report := s.must(t, Request{Purpose: Bugs, Fast: true}); len(report.Analysers) != 1 {
		t.Errorf("a fast scan ran %v", report.Analysers)
	}
}

// In an untrusted workspace its programs do not run, and are reported. Programs from outside run
// without configuration of the workspace.
func TestForeignAnalysersNeedTrust(t *testing.T) {
	s := foreignBench(t, false)
	report := s.must(t, Request{Purpose: Bugs})
	want := []SkippedFile{{".", "eslint is installed but did not run: the user has not trusted this workspace, " +
		"and there is no other outside of it"}}
	if diff := cmp.Diff(want, report.Skipped); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"toolfold", "ruff"}, report.Analysers); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "node_modules/.bin/eslint.arguments")); err == nil {
		t.Error("eslint ran")
	}
}

// A failing analyser is reported, and does not affect the rest of the scan.
func TestForeignAnalyserThatFails(t *testing.T) {
	s := foreignBench(t, true)
	s.write(t, "node_modules/.bin/eslint", "#!/bin/sh\necho 'no configuration' >&2\nexit 2\n")
	report := s.must(t, Request{Purpose: Bugs})
	if slices.Contains(report.Analysers, "eslint") || !slices.ContainsFunc(report.Skipped, func(skipped SkippedFile) bool {
		return strings.Contains(skipped.Reason, "exit status 2") && strings.Contains(skipped.Reason, "no configuration")
	}) {
		t.Errorf("ran %v, skipped %v", report.Analysers, report.Skipped)
	}
	if !slices.Contains(places(report.Findings), "p.py:3 ruff/E711") {
		t.Errorf("found %v", places(report.Findings))
	}
}

// A program in node_modules behind a link out of the workspace does not run, and is reported.
func TestForeignAnalyserOutside(t *testing.T) {
	elsewhere := foreignBench(t, true)
	onlyTools(t, t.TempDir())
	s := Scanner{Dir: t.TempDir(), Trusted: func() bool { return true }}
	s.write(t, "x.js", "if (a === NaN) b();\n")
	if err := os.Symlink(filepath.Join(elsewhere.Dir, "node_modules"), filepath.Join(s.Dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	report := s.must(t, Request{Purpose: Bugs})
	want := []SkippedFile{{".", "eslint is installed but did not run: node_modules leads out of the workspace to it"}}
	if diff := cmp.Diff(want, report.Skipped); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(elsewhere.Dir, "node_modules/.bin/eslint.arguments")); err == nil {
		t.Error("eslint ran")
	}
}

// The compilers and linters of a trusted project run; each report is real output. A fault that
// toolfold and two of them find is one finding, of the first tool, or of toolfold if only that has
// a fix. Files outside of the scan have no findings.
func TestToolsOfTheProject(t *testing.T) {
	onlyTools(t, t.TempDir())
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
		"src/a.ts:1 tsc/TS2322 high", "src/a.ts:3 biome/correctness/useValidForDirection high", "src/a.ts:4 oxlint/no-unused-vars low",
	}, found); diff != "" {
		t.Error(diff)
	}
	got := places(report.Findings)
	if !slices.Contains(got, "src/a.ts:2 js/nan-comparison") || slices.Contains(got, "src/a.ts:3 js/loop-direction") {
		t.Errorf("found %v", got)
	}
	if !slices.Contains(report.Skipped, SkippedFile{".", "pyright is installed but did not run: there is no pyrightconfig.json"}) {
		t.Errorf("skipped %v", report.Skipped)
	}
	s.write(t, "pyrightconfig.json", "{}")
	s.write(t, "node_modules/.bin/tsc", "#!/bin/sh\necho 'error TS5058: The specified path does not exist.'\nexit 1\n")
	found, report = scan()
	if !slices.Contains(found, "a.py:2 pyright/reportReturnType high") {
		t.Errorf("found %v", found)
	}
	if !slices.ContainsFunc(report.Skipped, func(s SkippedFile) bool {
		return strings.HasPrefix(s.Reason, "tsc did not work: it printed: error TS5058")
	}) {
		t.Errorf("skipped %v", report.Skipped)
	}
}

// If the project configures golangci-lint, its severities win, and a fault that it and a linked
// analyser find is its finding. The report is output of version 2.15, except the list of linters.
func TestGolangciLeads(t *testing.T) {
	bin := t.TempDir()
	onlyTools(t, bin)
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
	if list := reasons(); list != nil {
		t.Errorf("skipped %v", list)
	}
	arguments, err := os.ReadFile(program + ".arguments")
	if err != nil || !strings.HasPrefix(string(arguments), "run --no-config ") {
		t.Errorf("without trust it was called with %q, %v", arguments, err)
	}
	trusted = true
	for purpose, want := range map[Purpose][]string{
		Bugs: {
			"a.go:10 golangci-lint/errcheck logic-error medium", "a.go:11 golangci-lint/bodyclose resource-leak medium",
			"a.go:15 golangci-lint/govet/printf type-error high", "a.go:16 golangci-lint/ineffassign logic-error medium",
		},
		Refactorings: { // of two equal findings the tool's stays, because it has a fix, too
			"a.go:1 golangci-lint/revive/package-comments other minor", "a.go:19 golangci-lint/staticcheck/S1002 modernize-syntax minor",
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

// everything returns a workspace with files and configurations for every runner.
func everything(t *testing.T) Scanner {
	t.Helper()
	s := Scanner{Dir: t.TempDir()}
	for name, text := range map[string]string{
		"a.js": "f();\n", "a.ts": "f();\n", "a.py": "f()\n", "a.go": "package a\n", "a.sh": "echo $1\n",
		".github/workflows/ci.yml": "on: push\n", ".github/hidden.js": "if (a == NaN) b();\n",
		"go.mod":       "module example.com/a\n\ngo 1.24\n\ntool example.com/cmd/staticcheck\n",
		"package.json": "{}\n",
	} {
		s.write(t, name, text)
	}
	for _, r := range runner.All {
		if name, text, inText := strings.Cut(r.Config[0], ":"); !inText {
			s.write(t, strings.ReplaceAll(name, "*", ".js"), text)
		}
	}
	return s
}

// No program of an untrusted workspace runs: not from its program folders, from a folder of it in
// $PATH, or behind a link in $PATH.
func TestUntrustedWorkspaceRunsNothing(t *testing.T) {
	s := everything(t)
	links := t.TempDir()
	folders := []string{"node_modules/.bin", ".venv/bin", "venv/bin", "bin"}
	for _, r := range runner.All {
		for _, folder := range folders {
			fakeTool(t, filepath.Join(s.Dir, folder, r.Name), "", 0)
		}
		if err := os.Symlink(filepath.Join(s.Dir, "bin", r.Name), filepath.Join(links, r.Name)); err != nil {
			t.Fatal(err)
		}
	}
	onlyTools(t, strings.Join([]string{filepath.Join(s.Dir, "bin"), links, ".", ""}, string(filepath.ListSeparator)))
	for _, purpose := range []Purpose{Bugs, Refactorings} {
		report := s.must(t, Request{Purpose: purpose})
		text := fmt.Sprint(report.Skipped)
		for _, r := range runner.All {
			if slices.Contains(report.Analysers, r.Name) && r.Name != "staticcheck" || !strings.Contains(text, r.Name) {
				t.Errorf("%s: %s ran or is not named: ran %v, skipped %v", purpose, r.Name, report.Analysers, report.Skipped)
			}
		}
	}
	for _, folder := range folders {
		if left, _ := filepath.Glob(filepath.Join(s.Dir, folder, "*.arguments")); left != nil {
			t.Errorf("ran: %v", left)
		}
	}
}

// In an untrusted workspace, or for a caller that only reads, programs from outside run as their
// runners specify: with a configuration of toolfold, or not at all.
func TestToolsApart(t *testing.T) {
	s := everything(t)
	bin := t.TempDir()
	for _, r := range runner.All {
		output, err := os.ReadFile("runner/testdata/" + r.Name + ".out")
		if err != nil {
			t.Fatal(err)
		}
		fakeTool(t, filepath.Join(bin, r.Name), string(output), 0)
	}
	onlyTools(t, bin)
	for _, test := range []struct {
		trusted bool
		ctx     context.Context
		reason  string
	}{
		{false, t.Context(), "the user has not trusted this workspace"},
		{true, callctx.With(t.Context(), toolfold.Origin{OnlyReads: true}), "only reads (readOnly)"},
	} {
		s.Trusted = func() bool { return test.trusted }
		report, err := s.Scan(test.ctx, Request{Purpose: Bugs, Paths: []string{"."}, MaxFiles: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runner.All {
			arguments, err := os.ReadFile(filepath.Join(bin, r.Name+".arguments"))
			if ran := err == nil; ran != (r.Apart != nil) {
				t.Errorf("%s ran: %t; skipped %v", r.Name, ran, report.Skipped)
			}
			if r.Apart != nil && strings.Contains(string(arguments), "{config}") {
				t.Errorf("%s was called with %s", r.Name, arguments)
			}
			_ = os.Remove(filepath.Join(bin, r.Name+".arguments"))
		}
		if len(report.Skipped) == 0 || !strings.Contains(report.Skipped[0].Reason, test.reason) {
			t.Errorf("skipped %v", report.Skipped)
		}
	}
}

// Shell scripts and workflows are only read by tools, and follow the request's paths, exclusions
// and ignored files. A tool's fix is applied like any other.
func TestFilesOfTools(t *testing.T) {
	s := Scanner{Dir: t.TempDir()}
	bin := t.TempDir()
	onlyTools(t, bin)
	for _, name := range []string{"a.sh", "b/x.sh", "c/y.sh", "node_modules/z.sh"} {
		s.write(t, name, "echo $1\n")
	}
	s.write(t, ".github/workflows/ci.yml", "on: push\n")
	s.write(t, ".github/hidden.js", "debugger;\n")
	s.write(t, ".gitignore", "c/\n")
	fakeTool(t, filepath.Join(bin, "shellcheck"), `{"comments":[{"file":"`+s.Dir+`/a.sh","line":1,"endLine":1,"column":6,"endColumn":8,`+
		`"level":"warning","code":2086,"message":"Quote it.","fix":{"replacements":[{"line":1,"endLine":1,"column":6,"endColumn":6,`+
		`"replacement":"\""},{"line":1,"endLine":1,"column":8,"endColumn":8,"replacement":"\""}]}}]}`, 1)
	report := s.must(t, Request{Purpose: Bugs, Exclude: []string{"b/**"}})
	if diff := cmp.Diff([]string{"a.sh:1 shellcheck/SC2086"}, places(report.Findings)); diff != "" {
		t.Fatal(diff)
	}
	arguments, err := os.ReadFile(filepath.Join(bin, "shellcheck.arguments"))
	if want := "--norc --format json1 -- " + s.Dir + "/a.sh "; err != nil || string(arguments) != want {
		t.Errorf("shellcheck was called with %q, want %q", arguments, want)
	}
	if report.Files != 1 || !slices.Equal(report.Analysers, []string{"toolfold", "shellcheck"}) {
		t.Errorf("%d files, ran %v", report.Files, report.Analysers)
	}
	want := []string{"actionlint: go install github.com/rhysd/actionlint/cmd/actionlint@latest"}
	if diff := cmp.Diff(want, report.Missing); diff != "" {
		t.Error(diff)
	}
	applied, err := s.Apply(t.Context(), report.Findings, Change{Write: true, Test: []string{"sh", "-c", "exit 1"}})
	if err != nil || applied.Written || s.read(t, "a.sh") != "echo $1\n" {
		t.Errorf("after tests that fail: %+v, %v, %q", applied, err, s.read(t, "a.sh"))
	}
	if _, err = s.Apply(t.Context(), report.Findings, Change{Write: true}); err != nil || s.read(t, "a.sh") != "echo \"$1\"\n" {
		t.Errorf("fixed: %q, %v", s.read(t, "a.sh"), err)
	}
	if report := s.must(t, Request{Purpose: Bugs, Paths: []string{"c/y.sh"}}); report.Files != 1 {
		t.Errorf("a script that a path names: %d files", report.Files)
	}
}

// Missing tools are reported with their install commands, unless another tool does their job.
func TestMissingTools(t *testing.T) {
	bin := t.TempDir()
	onlyTools(t, bin)
	trusted := true
	s := Scanner{Dir: t.TempDir(), Trusted: func() bool { return trusted }}
	s.write(t, "a.ts", "f();\n")
	s.write(t, "a.py", "f()\n")
	missing := func(want ...string) {
		t.Helper()
		var got []string
		for _, line := range s.must(t, Request{Purpose: Bugs}).Missing {
			name, _, _ := strings.Cut(line, ":")
			got = append(got, name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	missing("oxlint", "ruff")
	s.write(t, "tsconfig.json", "{}")
	s.write(t, "package.json", `{"devDependencies": {"eslint": "^9"}}`)
	missing("eslint", "tsc", "ruff")
	fakeTool(t, filepath.Join(s.Dir, "node_modules/.bin/eslint"), "[]", 0)
	fakeTool(t, filepath.Join(bin, "ruff"), "[]", 0)
	missing("tsc")
	trusted = false
	missing()
}

// Texts of tools become short lines without terminal sequences: rules, messages, advice and errors.
func TestTextsOfToolsAreLines(t *testing.T) {
	bin := t.TempDir()
	onlyTools(t, bin)
	s := Scanner{Dir: t.TempDir(), Trusted: func() bool { return true }}
	s.write(t, ".oxlintrc.json", "{}")
	s.write(t, "a.js", "f();\n")
	s.write(t, "b.js", "f();\n")
	s.write(t, "a.sh", "f\n")
	long := strings.Repeat("é", 5000)
	entry := func(code, message, file string) string {
		return `{"code":` + code + `,"message":` + message + `,"help":` + message + `,"filename":"` + file + `"}`
	}
	fakeTool(t, filepath.Join(bin, "oxlint"), `{"diagnostics":[`+strings.Join([]string{
		entry(`"x\u001b[31m\n(no\u0007-\u202ered\u001b]8;;http://a\u0007)"`,
			`"one\r\n\ttwo\u001b[1;31m \u009b2Jthree\u0000\u001b]0;title\u001b\\"`, "a.js"),
		entry(`"eslint(\u001b)"`, `"`+long+`"`, "a.js"), entry(`"p(`+long+`)"`, `"m"`, "a.js"), entry(`""`, `"\u001b[2Junread\nable"`, "b.js"),
	}, ",")+`]}`, 1)
	fakeTool(t, filepath.Join(bin, "shellcheck"), "", 0)
	script := "#!/bin/sh\nprintf 'no\\033[31m such\\n\\007shell\\n' >&2\nexit 3\n"
	if err := os.WriteFile(filepath.Join(bin, "shellcheck"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	report := s.must(t, Request{Purpose: Bugs})
	var got []string
	for _, f := range report.Findings {
		got = append(got, f.Rule+": "+f.Message+": "+f.Advice)
	}
	slices.Sort(got)
	cutAt := func(n int) string { return strings.Repeat("é", n) + "…" }
	if diff := cmp.Diff([]string{"oxlint/p/" + cutAt(49) + ": m: m", "oxlint/unnamed: " + cutAt(150) + ": " + cutAt(150),
		"oxlint/x /no - red: one two three: one two three"}, got); diff != "" {
		t.Error(diff)
	}
	want := []SkippedFile{{".", "shellcheck did not work: exit status 3; it printed: no such shell"}, {"b.js", "oxlint: unread able"}}
	if diff := cmp.Diff(want, report.Skipped); diff != "" {
		t.Error(diff)
	}
}

// A project module that shadows one of Python makes mypy fail, which is reported in one line. The
// messages are mypy's, and Python's if the folder is in its path.
func TestShadowedStandardLibrary(t *testing.T) {
	bin := t.TempDir()
	onlyTools(t, bin)
	s := Scanner{Dir: t.TempDir(), Trusted: func() bool { return true }}
	s.write(t, "mypy.ini", "[mypy]\n")
	s.write(t, "typing.py", "x = 1\n")
	s.write(t, "a.py", "y = 1\n")
	const notSupported = "mypy: \"typing.py\" shadows library module \"typing\"\n" +
		"note: A user-defined top-level module with name \"typing\" is not supported\n"
	calls := strings.Repeat("  File \"/usr/lib/python3/runpy.py\", line 1, in <module>\n    run()\n", 20)
	for status, test := range map[int]struct{ output, want string }{
		2: {notSupported, "exit status 2; it printed: " + strings.ReplaceAll(strings.TrimSpace(notSupported), "\n", " ")},
		1: {"Traceback (most recent call last):\n" + calls + "    ~~~^^\n" +
			"ImportError: cannot import name 'Any' from 'typing' (" + resolve(t, s.Dir) + "/typing.py)\n",
			"exit status 1; it printed: ImportError: cannot import name 'Any' from 'typing' (./typing.py)"},
	} {
		s.write(t, "mypy.said", test.output)
		script := fmt.Sprintf("#!/bin/sh\ncat mypy.said >&2\nexit %d\n", status)
		if err := os.WriteFile(filepath.Join(bin, "mypy"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		want := []SkippedFile{{".", "mypy did not work: " + test.want}}
		if diff := cmp.Diff(want, s.must(t, Request{Purpose: Bugs}).Skipped); diff != "" {
			t.Error(diff)
		}
	}
}

// Equal findings of a tool in one script are merged.
func TestTogetherInAScript(t *testing.T) {
	bin := t.TempDir()
	onlyTools(t, bin)
	s := Scanner{Dir: t.TempDir(), Trusted: func() bool { return true }}
	s.write(t, "a.sh", "echo $@\nls $@\n")
	s.write(t, ".shellcheckrc", "")
	fakeTool(t, filepath.Join(bin, "shellcheck"), `{"comments":[`+
		`{"file":"./a.sh","line":1,"endLine":1,"column":6,"endColumn":8,"level":"error","code":2068,"message":"Quote it."},`+
		`{"file":"./a.sh","line":2,"endLine":2,"column":4,"endColumn":6,"level":"error","code":2068,"message":"Quote it."}]}`, 1)
	report := s.must(t, Request{Purpose: Bugs})
	if len(report.Findings) != 1 || report.Findings[0].FullMessage() != "Quote it. (and 1 more in this file, line 2)" {
		t.Errorf("found %+v, skipped %v", report.Findings, report.Skipped)
	}
}
