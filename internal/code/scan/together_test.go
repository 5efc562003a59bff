package scan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/code/git/gittest"
)

// Equal findings in one function are merged into the first, which keeps its id and fixes all
// places. Findings in other functions, or with other messages, stay separate.
func TestTogether(t *testing.T) {
	t.Parallel()
	s := Scanner{Dir: t.TempDir()}
	const text = `function a(x) {
  if (x === NaN) b();
  if (x === NaN) c();
  const inner = (y) => {
    if (y === NaN) d();
  };
  if (x === NaN) inner();
}
if (z === NaN) a();
if (z === NaN) a();
`
	s.write(t, "a.js", text)
	s.write(t, "b.py", "def f(x):\n    if x is 1:\n        pass\n    if x is 2:\n        pass\n\n\ndef g(x):\n    return x is 3\n")
	first := s.must(t, Request{Purpose: Bugs, Fast: true})
	var got []string
	for _, f := range first.Findings {
		got = append(got, places([]Finding{f})[0]+": "+f.FullMessage())
	}
	want := []string{
		"a.js:2 js/nan-comparison: nothing equals NaN (and 2 more in this function, lines 3, 7)", "a.js:5 js/nan-comparison: nothing equals NaN",
		"a.js:9 js/nan-comparison: nothing equals NaN", "a.js:10 js/nan-comparison: nothing equals NaN",
		"b.py:2 python/is-literal: literal compared with is, which asks for identity (and 1 more in this function, line 4)",
		"b.py:9 python/is-literal: literal compared with is, which asks for identity",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := s.apply(t, first.Findings[0], Change{Write: true}); err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(text, "x === NaN", "Number.isNaN(x)"); s.read(t, "a.js") != want {
		t.Errorf("a.js holds %s", s.read(t, "a.js"))
	}
	s.write(t, "a.js", strings.Replace(text, "x === NaN", "x", 1))
	if again := s.must(t, Request{Purpose: Bugs, Fast: true, Paths: []string{"a.js"}}).Findings[0]; again.Line != 3 || len(again.Again) != 1 {
		t.Errorf("without the first place: %+v", again)
	}
}

// The further lines of a finding move with it.
func TestFurtherLinesMove(t *testing.T) {
	t.Parallel()
	m := fixedFile{name: "x.py", hash: "h", before: "a\nb\nc\nd\n", after: "new\na\nb\nC\nd\n"}
	f, ok := m.carry()(Finding{File: "x.py", Hash: "h", Line: 1, Again: []int{2, 3, 4}})
	if diff := cmp.Diff([]int{3, 5}, f.Again); !ok || f.Line != 2 || diff != "" {
		t.Errorf("carried %t to line %d: %s", ok, f.Line, diff)
	}
}

// Findings below the requested level are counted, but not returned.
func TestWeaker(t *testing.T) {
	t.Parallel()
	s := workspaceOf(t, "module")
	all, some := s.must(t, Request{Purpose: Bugs}), s.must(t, Request{Purpose: Bugs, Level: "medium"})
	if some.Weaker == 0 || len(some.Findings)+some.Weaker != len(all.Findings) || all.Weaker != 0 {
		t.Errorf("%d of medium or above and %d weaker of %d", len(some.Findings), some.Weaker, len(all.Findings))
	}
}

// A rule that holds all over a project is a custom with severity low, except in a scan of changes.
func TestCustoms(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, map[string]string{"README": ""})
	s := Scanner{Dir: r.Dir}
	few, many := "", ""
	for i := range 30 {
		if i < 20 {
			few += fmt.Sprintf("def f%d(x):\n    return x is 'ab'\n", i)
		}
		many += fmt.Sprintf("def f%d(x, y=[]):\n    y.append(x)\n", i)
	}
	s.write(t, "few.py", few)
	s.write(t, "many.py", many+"def g(x):\n    assert (x, 1)\n")
	report := s.must(t, Request{Purpose: Bugs, Level: "medium", Fast: true})
	found := map[string]int{}
	for _, f := range report.Findings {
		found[f.Rule]++
	}
	if diff := cmp.Diff(map[string]int{"python/is-literal": 20, "python/assert-tuple": 1}, found); diff != "" || report.Weaker != 30 {
		t.Errorf("%d are weaker: %s", report.Weaker, diff)
	}
	want := SkippedFile{".",
		"python/mutable-default counts as low, as a custom of the project: it holds in 30 functions; minSeverity low names them"}
	if !slices.Contains(report.Skipped, want) {
		t.Errorf("skipped %v", report.Skipped)
	}
	if changed := s.must(t, Request{Purpose: Bugs, Level: "medium", Fast: true, Since: "HEAD"}); len(changed.Findings) != 51 {
		t.Errorf("%d findings in the change, skipped %v", len(changed.Findings), changed.Skipped)
	}
}
