//go:build unix

package scan

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Output entries of listingTool for a file. The name is as passed to the tool.
const (
	eslintEntry = `{"filePath":"%s","messages":[{"ruleId":"no-eval","severity":2,"message":"m","line":1,"column":1}]}`
	ruffEntry   = `{"code":"E711","filename":"%s","message":"m","location":{"row":1,"column":1}}`
)

// listingTool writes a program that logs its path, its working directory and its files, and prints
// an entry per file.
func listingTool(t *testing.T, log, at, entry string) {
	t.Helper()
	fakeTool(t, at, "", 0)
	script := "#!/bin/sh\nfiles=\nprintf '['\nfor f; do case $f in ./*) [ -z \"$files\" ] || printf ,\n" +
		"files=\"$files $f\"; printf '" + entry + "' \"$f\";; esac; done\nprintf ']'\n" +
		"echo \"$0 in $(pwd -P):$files\" >>'" + log + "'\n"
	if err := os.WriteFile(at, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
}

// A tool runs in each folder with a configuration, with the nearest program of the project, over
// the files for which that folder is the nearest. A configuration in test data does not count.
func TestToolsBelowTheTop(t *testing.T) {
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	onlyTools(t, bin)
	s := Scanner{Dir: t.TempDir(), Trusted: func() bool { return true }}
	for name, text := range map[string]string{
		"packages/web/eslint.config.js": "export default [];\n", "packages/web/src/[id]/x.js": "f();\n",
		"packages/web/src/[id]/.eslintrc.json": "{}", "packages/web/src/y.js": "f();\n",
		"packages/admin/package.json": `{"devDependencies": {"eslint": "9"}}`, "packages/admin/z.js": "f();\n",
		"packages/plain/package.json": `{}`, "packages/plain/p.js": "f();\n",
		"testdata/eslint.config.js": "export default [];\n",
		"services/api/ruff.toml":    "", "services/api/a.py": "f()\n", "services/api/sub/b.py": "f()\n", "scripts/c.py": "f()\n",
	} {
		s.write(t, name, text)
	}
	listingTool(t, log, filepath.Join(s.Dir, "packages/web/node_modules/.bin/eslint"), eslintEntry)
	listingTool(t, log, filepath.Join(s.Dir, "node_modules/.bin/eslint"), eslintEntry)
	listingTool(t, log, filepath.Join(bin, "ruff"), ruffEntry)
	report := s.must(t, Request{Purpose: Bugs})
	ran, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(strings.ReplaceAll(string(ran), resolve(t, s.Dir), "DIR"), bin, "BIN")
	calls := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(calls)
	if diff := cmp.Diff([]string{
		"BIN/ruff in DIR/services/api: ./a.py ./sub/b.py", "BIN/ruff in DIR: ./scripts/c.py",
		"DIR/node_modules/.bin/eslint in DIR/packages/admin: ./z.js",
		"DIR/node_modules/.bin/eslint in DIR: ./packages/plain/p.js ./testdata/eslint.config.js",
		"DIR/packages/web/node_modules/.bin/eslint in DIR/packages/web/src/[id]: ./x.js",
		"DIR/packages/web/node_modules/.bin/eslint in DIR/packages/web: ./eslint.config.js ./src/y.js",
	}, calls); diff != "" {
		t.Error(diff)
	}
	got := slices.DeleteFunc(places(report.Findings), func(place string) bool { return strings.Contains(place, "testdata/") })
	slices.Sort(got)
	if diff := cmp.Diff([]string{
		"packages/admin/z.js:1 eslint/no-eval", "packages/plain/p.js:1 eslint/no-eval", "packages/web/eslint.config.js:1 eslint/no-eval",
		"packages/web/src/[id]/x.js:1 eslint/no-eval", "packages/web/src/y.js:1 eslint/no-eval", "scripts/c.py:1 ruff/E711",
		"services/api/a.py:1 ruff/E711", "services/api/sub/b.py:1 ruff/E711",
	}, got); diff != "" {
		t.Error(diff)
	}
	if report.Skipped != nil || !slices.Equal(report.Analysers, []string{"toolfold", "eslint", "ruff"}) {
		t.Errorf("ran %v, skipped %v", report.Analysers, report.Skipped)
	}
}

// A tool's report about a file only counts from the folder with the file's configuration. A folder
// in which the tool fails is reported, and the others are checked.
func TestNearestConfigurationCounts(t *testing.T) {
	bin := t.TempDir()
	onlyTools(t, bin)
	s := Scanner{Dir: t.TempDir(), Trusted: func() bool { return true }}
	for _, folder := range []string{"", "broken/", "web/"} {
		s.write(t, folder+"tsconfig.json", "{}")
		s.write(t, folder+"a.ts", "f();\n")
	}
	script := "#!/bin/sh\ncase $PWD in */broken) echo 'no such library' >&2; exit 3;; esac\n" +
		"for f in a.ts web/a.ts ../a.ts; do [ ! -f $f ] || echo \"$f(1,1): error TS1: in ${PWD##*/}\"; done\nexit 2\n"
	if err := os.WriteFile(filepath.Join(bin, "tsc"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	report := s.must(t, Request{Purpose: Bugs})
	var got []string
	for _, f := range report.Findings {
		got = append(got, f.File+" "+f.Message)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a.ts in " + filepath.Base(s.Dir), "web/a.ts in web"}, got); diff != "" {
		t.Error(diff)
	}
	want := []SkippedFile{{"broken", "tsc did not work: exit status 3; it printed: no such library"}}
	if diff := cmp.Diff(want, report.Skipped); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(report.Analysers, []string{"toolfold", "tsc"}) {
		t.Errorf("ran %v", report.Analysers)
	}
}

// A tool runs in twenty folders, and the rest are reported.
func TestTooManyConfigurations(t *testing.T) {
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	onlyTools(t, bin)
	s := Scanner{Dir: t.TempDir(), Trusted: func() bool { return true }}
	for i := range 22 {
		s.write(t, fmt.Sprintf("p%02d/ruff.toml", i), "")
		s.write(t, fmt.Sprintf("p%02d/a.py", i), "f()\n")
	}
	listingTool(t, log, filepath.Join(bin, "ruff"), ruffEntry)
	report := s.must(t, Request{Purpose: Bugs})
	want := []SkippedFile{{".", "ruff did not run in 2 more folders with its configuration, scan them by paths: p20, p21"}}
	if diff := cmp.Diff(want, report.Skipped); diff != "" {
		t.Error(diff)
	}
	if len(report.Findings) != 20 {
		t.Errorf("found %v", places(report.Findings))
	}
	if report := s.must(t, Request{Purpose: Bugs, Paths: []string{"p20", "p21"}}); report.Skipped != nil || len(report.Findings) != 2 {
		t.Errorf("found %v, skipped %v", places(report.Findings), report.Skipped)
	}
}

// In an untrusted workspace no program of it runs, and a configuration only shows that the project
// uses the tool. A tool that starts the go command runs in the folder with its configuration.
func TestToolsBelowTheTopWithoutTrust(t *testing.T) {
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	onlyTools(t, bin)
	s := Scanner{Dir: t.TempDir()}
	for name, text := range map[string]string{
		"web/eslint.config.js": "", "web/a.js": "f();\n", "b.js": "f();\n",
		"api/.golangci.yml": "", "api/go.mod": goMod, "api/a.go": "package a\n",
	} {
		s.write(t, name, text)
	}
	for _, name := range []string{"eslint", "ruff", "golangci-lint"} {
		fakeTool(t, filepath.Join(s.Dir, "web/node_modules/.bin", name), "", 0)
		fakeTool(t, filepath.Join(s.Dir, "api/.venv/bin", name), "", 0)
	}
	listingTool(t, log, filepath.Join(bin, "golangci-lint"), "")
	fakeTool(t, filepath.Join(bin, "eslint"), "[]", 0)
	report := s.must(t, Request{Purpose: Bugs})
	for _, folder := range []string{"web/node_modules/.bin", "api/.venv/bin"} {
		if ran := started(t, filepath.Join(s.Dir, folder)); ran != nil {
			t.Errorf("%s: ran %v", folder, ran)
		}
	}
	ran, err := os.ReadFile(log)
	if want := " in " + resolve(t, s.Dir) + "/api:"; err != nil || !strings.Contains(string(ran), want) {
		t.Errorf("ran %q, %v; want %q; skipped %v", ran, err, want, report.Skipped)
	}
	arguments, err := os.ReadFile(filepath.Join(bin, "eslint.arguments"))
	if err != nil || !strings.Contains(string(arguments), "--config "+string(filepath.Separator)) ||
		!strings.Contains(string(arguments), "/b.js ") || !strings.Contains(string(arguments), "/web/a.js ") {
		t.Errorf("eslint was called with %q, %v", arguments, err)
	}
}

// resolve returns a folder with links resolved.
func resolve(t *testing.T, folder string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		t.Fatal(err)
	}
	return real
}
