package scan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scanned lists the files with findings. Each scanned file has a fault.
func scanned(report *Report) string {
	var list []string
	for _, f := range report.Findings {
		list = append(list, f.File)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func TestWhichFiles(t *testing.T) {
	t.Parallel()
	s := Scanner{Dir: t.TempDir()}
	for _, name := range []string{
		"a.ts", "b.test.ts", "c.py.txt", "gen/x.ts", "lib/deep/y.js", "lib/z.ts", "node_modules/m/i.js", ".hidden/h.ts", "lib/kept.ts",
		"lib/old/o.ts", "tmp/t.ts",
		"lib/only.ts", "lib/deep/only.ts", "we{i,r}d/w.ts",
	} {
		s.write(t, name, "if (a === NaN) b();\n")
	}
	s.write(t, ".gitignore", "# comment\n/gen\n*.tmp\nold/\n!lib/kept.ts\ntmp/*\n")
	s.write(t, "lib/.gitignore", "/only.ts\nk*.ts\n!kept.ts\n")
	all := "a.ts b.test.ts lib/deep/only.ts lib/deep/y.js lib/kept.ts lib/z.ts we{i,r}d/w.ts"
	for _, test := range []struct {
		name           string
		paths, exclude []string
		want           string
	}{
		{"all", []string{"."}, nil, all},
		{"absolute", []string{s.Dir}, nil, all},
		{"each once", []string{".", "lib", "a.ts", "./a.ts"}, nil, all},
		{"folder below", []string{"lib/deep"}, nil, "lib/deep/only.ts lib/deep/y.js"},
		{"named although ignored", []string{"gen", "node_modules/m", "lib/old/o.ts", ".hidden"}, nil,
			".hidden/h.ts gen/x.ts lib/old/o.ts node_modules/m/i.js"},
		{"exclude a name", []string{"."}, []string{"*.test.ts"}, "a.ts lib/deep/only.ts lib/deep/y.js lib/kept.ts lib/z.ts we{i,r}d/w.ts"},
		{"exclude a folder", []string{"."}, []string{"lib", "we*"}, "a.ts b.test.ts"},
		{"exclude below", []string{"."}, []string{"lib/**", "**/w.ts"}, "a.ts b.test.ts"},
		{"exclude by alternatives", []string{"."}, []string{"**/*.{js,test.ts}", "we*/"}, "a.ts lib/deep/only.ts lib/kept.ts lib/z.ts"},
		{"exclude what is named", []string{"a.ts", "b.test.ts"}, []string{"b*"}, "a.ts"},
	} {
		if got := scanned(s.must(t, Request{Purpose: Bugs, Paths: test.paths, Exclude: test.exclude})); got != test.want {
			t.Errorf("%s: scanned %s, want %s", test.name, got, test.want)
		}
	}
	report := s.must(t, Request{Purpose: Bugs, MaxFiles: 2})
	if report.Files != 2 || report.Truncated == "" || scanned(report) != "a.ts b.test.ts" {
		t.Errorf("at most two files: %d, %q, %s", report.Files, report.Truncated, scanned(report))
	}
}

func TestPathsStayInside(t *testing.T) {
	t.Parallel()
	outside := Scanner{Dir: t.TempDir()}
	outside.write(t, "a.ts", "if (a === NaN) b();\n")
	s := Scanner{Dir: t.TempDir()}
	s.write(t, "ok.ts", "if (a === NaN) b();\n")
	for link, target := range map[string]string{"out": outside.Dir, "leak.ts": outside.Dir + "/a.ts", "self": ".", "same.ts": "ok.ts"} {
		if err := os.Symlink(target, filepath.Join(s.Dir, link)); err != nil {
			t.Skipf("links cannot be made here: %v", err)
		}
	}
	for _, path := range []string{"..", "../x", "/etc", outside.Dir, "out", "out/a.ts", "leak.ts", "self/ok.ts", "same.ts", "a\x00b",
		strings.Repeat("a/", 600)} {
		_, err := s.Scan(t.Context(), Request{Purpose: Bugs, Paths: []string{"ok.ts", path}, MaxFiles: 10})
		if code(err) != "PATH_NOT_USABLE" {
			t.Errorf("%q: %v", path, err)
		}
	}
	if got := scanned(s.must(t, Request{Purpose: Bugs})); got != "ok.ts" {
		t.Errorf("scanned %s", got)
	}
	_, err := s.Scan(t.Context(), Request{Purpose: Bugs, Paths: []string{"nothing", "no/where", "ok.ts/x", strings.Repeat("n", 300)},
		MaxFiles: 10})
	if code(err) != PathMissing {
		t.Errorf("nothing there: %v", err)
	}
	if _, err := s.Scan(t.Context(), Request{Purpose: Bugs, Paths: []string{"."}, Exclude: []string{"a", "[a"}, MaxFiles: 10}); err == nil ||
		!strings.Contains(err.Error(), "INVALID") {
		t.Errorf("a glob that is none: %v", err)
	}
}

// A file that is missing, unreadable or invalid is reported; the others are scanned.
func TestSkipped(t *testing.T) {
	t.Parallel()
	s := Scanner{Dir: t.TempDir()}
	s.write(t, "ok.ts", "if (a === NaN) b();\n")
	s.write(t, "note.txt", "text")
	s.write(t, "open.ts", "if (a === NaN) b();\nfunction f( {\n")
	s.write(t, "string.py", "x = 'abc\nif x is 5: pass\n")
	s.write(t, "binary.js", "a\x00b")
	s.write(t, "latin.js", "caf\xe9")
	s.write(t, "min.js", strings.Repeat("a();", 10_000))
	s.write(t, "large.ts", strings.Repeat("// filler\n", 200_000))
	s.write(t, "lone.go", "package lone\n\nconst password = \"hunter2hunter2\"\n")
	s.write(t, "mod/go.mod", "module example.com/m\n\ngo 1.24\n")
	s.write(t, "mod/types/a.go", "package types\n\nvar x int = \"text\"\n\nconst password = \"hunter2hunter2\"\n\nfunc "+
		"f() {}\n\nvar g = f == nil\n")
	s.write(t, "mod/syntax/a.go", "package syntax\n\nconst password = \"hunter2hunter2\"\n\nfunc f( {\n")
	s.write(t, "mod/good/a.go", "package good\n\nfunc f(x int) int {\n\tx = x\n\treturn x\n}\n")
	s.write(t, "mod/needs/a.go", "package needs\n\nimport \"example.com/missing\"\n\nvar _ = missing.X\n")
	s.write(t, "new/go.mod", "module example.com/n\n\ngo 9.99\n")
	s.write(t, "new/a.go", "package n\n")
	report := s.must(t, Request{Purpose: Bugs, Paths: []string{".", "missing", "note.txt", "min.js"}})
	got := map[string]string{}
	for _, skipped := range report.Skipped {
		got[skipped.Path] += skipped.Reason + "; "
	}
	for path, want := range map[string]string{
		"missing": "nothing at this path", "note.txt": "no rules", "open.ts": "so only its tokens were looked at: line 2",
		"string.py": "line 1: the string is not closed",
		"binary.js": "not text", "latin.js": "not text", "min.js": "minified", "large.ts": "more than 1048576 bytes", ".": "no go.mod",
		"mod/types":       "mod/types/a.go:3:13",
		"mod/syntax/a.go": "line 5", "mod/needs": "run go mod tidy", "new": "a later Go",
	} {
		if !strings.Contains(got[path], want) {
			t.Errorf("%s: skipped with %q, want %q", path, got[path], want)
		}
		if strings.Contains(got[path], s.Dir) {
			t.Errorf("%s tells the folder: %q", path, got[path])
		}
	}
	want := []string{
		"lone.go:3 go/hard-coded-secret", "mod/good/a.go:4 vet/assign",
		"mod/syntax/a.go:3 go/hard-coded-secret",
		"mod/types/a.go:5 go/hard-coded-secret", "ok.ts:1 js/nan-comparison", "string.py:2 python/is-literal",
	}
	found := places(report.Findings)
	for _, place := range want {
		if !slices.Contains(found, place) {
			t.Errorf("%s is not found", place)
		}
	}
	for _, f := range report.Findings {
		if (f.File == "open.ts" || f.File == "string.py") && f.Fixable() {
			t.Errorf("%s, which does not parse, has a fix", f.File)
		}
	}
}

// Each option of a request selects the right findings.
func TestChoices(t *testing.T) {
	t.Parallel()
	s := workspaceOf(t, "scripts")
	all := s.must(t, Request{Purpose: Bugs}).Findings
	again := strings.Repeat("    print(a, b, c, d, e, f)\n", 7)
	s.write(t, "twice.py", "def one():\n"+again+"    return 1\n\n\ndef two():\n"+again+"    return 2\n")
	if got := places(s.must(t, Request{Purpose: Refactorings, Paths: []string{"twice.py"}}).Findings); len(got) > 0 {
		t.Errorf("repeated code that nobody asked for: %v", got)
	}
	kinds := Kinds[Refactorings]
	refactorings := s.must(t, Request{Purpose: Refactorings, Kinds: kinds}).Findings
	for _, test := range []struct {
		name string
		all  []Finding
		r    Request
		want func(Finding) bool
	}{
		{"kinds", all, Request{Purpose: Bugs, Kinds: []string{"security", "performance"}},
			func(f Finding) bool { return f.Kind == "security" || f.Kind == "performance" }},
		{"severity", all, Request{Purpose: Bugs, Level: "high"}, func(f Finding) bool { return f.Level == "high" || f.Level == "critical" }},
		{"least severity", all, Request{Purpose: Bugs, Level: "info"}, func(Finding) bool { return true }},
		{"confidence", refactorings,
			Request{Purpose: Refactorings, Kinds: kinds, MinConfidence: 0.9}, func(f Finding) bool { return f.Confidence >= 0.9 }},
		{"impact", refactorings,
			Request{Purpose: Refactorings, Kinds: kinds, Level: "trivial"}, func(f Finding) bool { return f.Level == "trivial" }},
		{"most impact", refactorings, Request{Purpose: Refactorings, Kinds: kinds, Level: "breaking"}, func(Finding) bool { return true }},
	} {
		want := slices.DeleteFunc(slices.Clone(test.all), func(f Finding) bool { return !test.want(f) })
		if len(want) == 0 || len(want) == len(test.all) && test.r.Level != "info" && test.r.Level != "breaking" {
			t.Fatalf("%s picks %d of %d", test.name, len(want), len(test.all))
		}
		if diff := cmp.Diff(want, s.must(t, test.r).Findings); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
	// Every kind and level that a request may name is used by a rule.
	for purpose, kinds := range Kinds {
		has := map[string]bool{"info": true} // used by the tools of a project
		for _, r := range rules()[purpose] {
			has[r.kind], has[r.level] = true, true
			if !slices.Contains(kinds, r.kind) || !slices.Contains(Levels[purpose], r.level) {
				t.Errorf("rule %s has kind %s and level %s", r.name, r.kind, r.level)
			}
		}
		for _, c := range goChecks(purpose) {
			has[c.kind], has[c.level] = true, true
			if !slices.Contains(kinds, c.kind) || !slices.Contains(Levels[purpose], c.level) {
				t.Errorf("check %s has kind %s and level %s", c.analyzer.Name, c.kind, c.level)
			}
		}
		for _, word := range slices.Concat(kinds, Levels[purpose]) {
			if !has[word] {
				t.Errorf("%s: no rule is for %s", purpose, word)
			}
		}
	}
	module := workspaceOf(t, "module")
	for _, f := range module.must(t, Request{Purpose: Bugs, Fast: true}).Findings {
		if !strings.HasPrefix(f.Rule, "go/") {
			t.Errorf("a fast scan ran %s", f.Rule)
		}
	}
}

// An id stays the same while its line does, whatever is around it. Equal lines have different ids.
func TestIDsStay(t *testing.T) {
	t.Parallel()
	s := Scanner{Dir: t.TempDir()}
	ids := func(content string) []string {
		s.write(t, "a.ts", content)
		findings := s.must(t, Request{Purpose: Bugs}).Findings
		slices.SortFunc(findings, func(a, b Finding) int { return a.Line - b.Line })
		var list []string
		for _, f := range findings {
			list = append(list, f.ID)
		}
		return list
	}
	first := ids("if (a === NaN) b();\nif (a === NaN) c();\nif (a === NaN) c();\n")
	if len(first) != 3 || first[1] == first[2] {
		t.Fatalf("ids %v", first)
	}
	moved := ids("// above\n\nif (a === NaN) b();\n  if (a === NaN) c();\nx();\nif (a === NaN) c();\n")
	if diff := cmp.Diff(first, moved); diff != "" {
		t.Errorf("after moving: %s", diff)
	}
	if changed := ids("if (a === NaN) b();\nif (d === NaN) c();\n"); changed[0] != first[0] || changed[1] == first[1] {
		t.Errorf("after a change: %v, before %v", changed, first)
	}
}
