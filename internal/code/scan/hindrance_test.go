package scan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A reason for not analysing packages is reported once per module, with the fix.
func TestHindrances(t *testing.T) {
	t.Parallel()
	const sums = "example.com/h v1.0.0 h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n" +
		"example.com/h v1.0.0/go.mod h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"
	const needs, only = "import _ \"example.com/h\"\n", "only the rules that need no types ran, as "
	cgo := map[string]string{"a/a.go": "package a\n\nimport \"C\"\n\nvar X = C.x\n", "b/b.go": "package b\n\nvar Y = X\n",
		"b/c.go": "package b\n\nimport \"C\"\n\nvar X = C.x\n"}
	for name, test := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"not downloaded": {map[string]string{"go.mod": goMod + "\nrequire example.com/h v1.0.0\n", "go.sum": sums,
			"a/a.go": "package a\n\n" + needs, "b/b.go": "package b\n\n" + needs, "c/c.go": "package c\n\nimport _ \"example.com/m/a\"\n"},
			[]string{"a: " + only + "its modules are not downloaded: run go mod download (and 2 more packages)"}},
		// in this case the go command lists h with a C file
		"not downloaded, and a test is nearer": {map[string]string{"go.mod": goMod + "\nrequire example.com/h v1.0.0\n", "go.sum": sums,
			"a/a.go": "package a\n\nimport _ \"example.com/m/b\"\n", "b/b.go": "package b\n\nimport _ \"example.com/m/c\"\n",
			"c/c.go":      "package c\n\nimport (\n\t\"context\"\n\n\t_ \"example.com/h\"\n)\n\nfunc F(context.Context) {}\n",
			"c/c_test.go": "package c\n\n" + needs},
			[]string{"c: " + only + "its modules are not downloaded: run go mod download"}},
		"no sums": {map[string]string{"go.mod": goMod + "\nrequire example.com/h v1.0.0\n", "a/a.go": "package a\n\n" + needs},
			[]string{"a: " + only + "go.sum lacks modules that its packages need: run go mod tidy"}},
		"not required": {map[string]string{"a/a.go": "package a\n\n" + needs},
			[]string{"a: " + only + "go.mod does not require modules that its packages import: run go mod tidy"}},
		"later Go": {map[string]string{"go.mod": "module example.com/m\n\ngo 9.99\n", "a/a.go": "package a\n", "b/b.go": "package b\n"},
			[]string{".: only the fast rules ran, as go.mod asks for a later Go than the one that is installed: install that one"}},
		"cgo": {cgo, []string{"a: only the fast rules ran, as it needs cgo, which a scan does not run",
			"b: " + only + "it needs cgo, which a scan does not run"}},
		"syntax": {map[string]string{"a/a.go": "package a\n\nfunc f( {\n", "b/b.go": "package b\n\nimport _ \"example.com/m/a\"\n",
			"c/c.go": "package c\n\nimport \"example.com/m/a\"\n\nvar X = a.X\n"},
			[]string{"a: " + only + "it does not parse: a/a.go:3:9: expected ')', found '{'",
				"b: " + only + "example.com/m/a does not parse: a/a.go:3:9: expected ')', found '{' (and 1 more package)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Scanner{Dir: t.TempDir()}
			s.write(t, "go.mod", goMod)
			for name, text := range test.files {
				s.write(t, name, text)
			}
			purposes := []Purpose{Bugs}
			if strings.HasPrefix(name, "not downloaded") {
				purposes = append(purposes, Refactorings) // the modernizers must not report it again
			}
			for _, purpose := range purposes {
				var got []string
				for _, skipped := range s.must(t, Request{Purpose: purpose}).Skipped {
					if !strings.HasSuffix(skipped.Path, ".go") {
						got = append(got, fmt.Sprintf("%s: %s", skipped.Path, skipped.Reason))
					}
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("%s: %s", purpose, diff)
				}
			}
		})
	}
}

// The first scan after Go was installed finds the same as later ones.
func TestColdCache(t *testing.T) {
	t.Setenv("GOCACHE", t.TempDir())
	s := workspaceOf(t, "module")
	report := s.must(t, Request{Purpose: Bugs})
	if diff := cmp.Diff(wanted("faults.go", s.read(t, "faults.go")), places(report.Findings)); diff != "" {
		t.Error(diff)
	}
	if report.Skipped != nil {
		t.Errorf("skipped: %v", report.Skipped)
	}
}
