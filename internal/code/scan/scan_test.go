package scan

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/code/git/gittest"
)

// workspaceOf returns a scanner for a copy of a folder of testdata. Faulty Go files are stored as
// .go.txt, so that the repository's checks ignore them.
func workspaceOf(t *testing.T, folder string) Scanner {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/"+folder)); err != nil {
		t.Fatal(err)
	}
	files, err := fs.Glob(os.DirFS(dir), "*.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, strings.TrimSuffix(name, ".txt"))); err != nil {
			t.Fatal(err)
		}
	}
	return Scanner{Dir: dir}
}

func (s Scanner) write(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(s.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (s Scanner) read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// must scans the workspace. The scan must succeed.
func (s Scanner) must(t *testing.T, r Request) *Report {
	t.Helper()
	if r.Paths == nil {
		r.Paths = []string{"."}
	}
	if r.MaxFiles == 0 {
		r.MaxFiles = 10_000
	}
	report, err := s.Scan(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// places lists findings as "file:line rule", one per place.
func places(findings []Finding) []string {
	list := []string{}
	for _, f := range findings {
		for _, line := range append([]int{f.Line}, f.Again...) {
			list = append(list, fmt.Sprintf("%s:%d %s", f.File, line, f.Rule))
		}
	}
	slices.Sort(list)
	return list
}

var want = regexp.MustCompile(`\bwant(-\d)?((?: [a-z]+/[\w-]+)+)`)

// wanted lists the findings that the comments of a file expect, in the form of places: "want
// js/eval" on the same line, "want-2 js/eval" two lines above.
func wanted(name, content string) []string {
	list := []string{}
	for i, line := range strings.Split(content, "\n") {
		if m := want.FindStringSubmatch(line); m != nil {
			above, _ := strconv.Atoi(m[1])
			for _, rule := range strings.Fields(m[2]) {
				list = append(list, fmt.Sprintf("%s:%d %s", name, i+1+above, rule))
			}
		}
	}
	slices.Sort(list)
	return list
}

// In files with the patterns of all fast rules, exactly the marked lines are found.
func TestFastRules(t *testing.T) {
	t.Parallel()
	for name, purpose := range map[string]Purpose{
		"bugs.ts": Bugs, "bugs.py": Bugs,
		"refactor.ts": Refactorings, "modern.js": Refactorings, "refactor.py": Refactorings, "older.py": Refactorings,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := workspaceOf(t, "scripts")
			report := s.must(t, Request{Purpose: purpose, Paths: []string{name}, Fast: true})
			if diff := cmp.Diff(wanted(name, s.read(t, name)), places(report.Findings)); diff != "" {
				t.Error(diff)
			}
			if report.Skipped != nil {
				t.Errorf("skipped: %v", report.Skipped)
			}
		})
	}
}

// A module with faults of more than thirty kinds.
func TestGoFaults(t *testing.T) {
	t.Parallel()
	s := workspaceOf(t, "module")
	report := s.must(t, Request{Purpose: Bugs})
	if diff := cmp.Diff(wanted("faults.go", s.read(t, "faults.go")), places(report.Findings)); diff != "" {
		t.Error(diff)
	}
	if report.Skipped != nil {
		t.Errorf("skipped: %v", report.Skipped)
	}
}

// A scan without findings describes its scope by language, and which tools were missing.
func TestLookedFor(t *testing.T) {
	t.Parallel()
	s := Scanner{Dir: t.TempDir()}
	s.write(t, "a.js", "export const one = 1;\n")
	s.write(t, "p.py", "ONE = 1\n")
	got := s.must(t, Request{Purpose: Bugs}).LookedFor
	if !strings.Contains(got, "loops, not types, as tsc did not run; Python for") || strings.Contains(got, "Go ") {
		t.Errorf("looked for %q", got)
	}
	got = s.must(t, Request{Purpose: Refactorings}).LookedFor
	if !strings.Contains(got, "scripts for var") || !strings.Contains(got, "Python for old syntax") ||
		strings.Contains(got, "Go ") {
		t.Errorf("looked to improve %q", got)
	}
	if got := s.must(t, Request{Purpose: Bugs, Kinds: []string{"security"}}).LookedFor; got != "" {
		t.Errorf("of one kind: %q", got)
	}
	s.write(t, "b.js", "if (a === NaN) b();\nfunction f() { var c = () => 1; return c; }\n")
	for _, purpose := range []Purpose{Bugs, Refactorings} {
		if got := s.must(t, Request{Purpose: purpose}).LookedFor; got != "" {
			t.Errorf("%s, beside a finding: %q", purpose, got)
		}
	}
}

// A scan without files in a known language reports that, whatever it was to find.
func TestScanWithoutKnownFiles(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, map[string]string{"a.py": "yaml.load(a)\n", "sub/b.rs": "fn main() {}\n", "sub/c.vue": "<template/>\n"})
	s := Scanner{Dir: r.Dir}
	uncommitted := Request{Since: "uncommitted", Kinds: []string{"other"}}
	const none = "no file in a language that this scan knows (Go, JavaScript, TypeScript, Python); other files that were passed over: "
	for _, test := range []struct {
		request Request
		want    string
	}{
		{uncommitted, "nothing has changed (since: uncommitted), so nothing was looked at"},
		{Request{Paths: []string{"sub"}}, none + "2"}, {Request{Paths: []string{"sub/b.rs"}}, none + "1"},
	} {
		for _, purpose := range []Purpose{Bugs, Refactorings} {
			test.request.Purpose = purpose
			if got := s.must(t, test.request); got.LookedFor != test.want || got.Files != 0 {
				t.Errorf("%+v: %d files, looked for %q", test.request, got.Files, got.LookedFor)
			}
		}
	}
	r.Write("sub/b.rs", "fn main() { x(); }\n")
	uncommitted.Purpose = Bugs
	if got := s.must(t, uncommitted).LookedFor; !strings.HasPrefix(got, "no changed file (since: uncommitted) is in a language that") ||
		!strings.HasSuffix(got, "; other files that were passed over: 1") {
		t.Errorf("a change without such a file: %q", got)
	}
}
