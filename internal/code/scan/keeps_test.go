package scan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A fix is only offered on the marked lines: on others it could change the behaviour. The texts are
// from real repositories.
func TestFixesThatKeepTheProgram(t *testing.T) {
	t.Parallel()
	s, want, got := Scanner{Dir: t.TempDir()}, []string{}, []string{}
	for name, text := range map[string]string{
		"super.py": `
class A(B):
    def f(self):
        super(A, self).f()  # want python/super-arguments
        super(B, self).f()
        return [super(A, self).g(x) for x in y], lambda: super(A, self).h()

    def g(this):
        def inner(self):
            super(A, self).g()
        return inner

    async def h(self):
        await super(A, self).h()  # want python/super-arguments


@dataclass(slots=True)
class C(B):
    def f(self):
        super(C, self).f()


def patched(self):
    super(A, self).f()
`,
		"base.py":              "class A(object):  # want python/object-base\n    pass\n",
		"builtins.py":          "from builtins import object, str\nclass A(object):\n    pass\n",
		"first.py":             "# -*- coding: utf-8 -*-\n# want-1 python/coding-comment\n",
		"second.py":            "# -*- coding: utf-8 -*-\n# -*- coding: latin-1 -*-\n",
		"third.py":             "#!/usr/bin/python\n# coding: utf-8\n# coding: ascii\n",
		"editor.py":            "# vim: set ts=4 fileencoding=utf-8 :\n",
		"older/setup.py":       "setup(\n    classifiers=[\n        'Programming Language :: Python :: 2.7',\n    ],\n)\n",
		"older/pkg/a.py":       "class A(object):\n    def f(self):\n        super(A, self).f()\n",
		"newer/pyproject.toml": "requires-python = \">=3.8\"\nclassifiers = [\"Programming Language :: Python :: 3\"]\n",
		"newer/a.py":           "class A(object):  # want python/object-base\n    pass\n",
		"var.js": `
import x from "x";
var known = 1; // want js/var-declaration
export function f(options, run) {
  var self = self || known;
  run();
  var late = 2;
  function inner() { return late; }
  switch (x) {
    case 1: var one = 1; break;
    default: one = 2;
  }
  var taken = 1; // want js/var-declaration
  ({ b: taken } = options);
  var shifted = 1; // want js/var-declaration
  shifted >>>= 1;
  return [self, inner, one, taken, shifted];
}
`,
		"testing/data/wrong.py": "if x is 5: pass\n",
		"web/fixtures/in.js":    "import x from \"x\";\nvar a = 1;\n",
		"data/right.py":         "if x is 5: pass  # want python/is-literal\n",
		"cycle.js":              "import \"./other\";\nvar a = 1;\nexport { a };\n",
		"cycle2.js":             "export * from \"./other\";\nvar a = 1;\n",
		"older.js":              "function f() {\n  var a = 1;\n  return \"a\" + a;\n}\n",
		"order.js": `
first();
import "./a"; // want js/late-import
import "./b";
`,
	} {
		s.write(t, name, text)
		want = append(want, wanted(name, text)...)
	}
	for _, purpose := range []Purpose{Bugs, Refactorings} {
		for _, f := range s.must(t, Request{Purpose: purpose, Fast: true}).Findings {
			if f.Fixable() {
				got = append(got, places([]Finding{f})...)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Lines of // +build stay in modules for Go versions that read no others.
func TestBuildLinesOfOldModules(t *testing.T) {
	t.Parallel()
	s := Scanner{Dir: t.TempDir()}
	for folder, version := range map[string]string{"none": "", "last": "go 1.16\n", "first": "go 1.17\n", "newer": "go 1.24.1\n"} {
		s.write(t, folder+"/go.mod", "module example.com/"+folder+"\n\n"+version)
		s.write(t, folder+"/a.go", "//go:build never\n// +build never\n\npackage a\n")
		s.write(t, folder+"/b.go", "//go:build go1.12\n// +build go1.12\n\npackage a\n")
	}
	report := s.must(t, Request{Purpose: Refactorings})
	if diff := cmp.Diff([]string{
		"first/a.go:2 modernize/plusbuild", "first/b.go:2 modernize/plusbuild", "newer/a.go:2 modernize/plusbuild",
		"newer/b.go:2 modernize/plusbuild",
	}, slices.Sorted(slices.Values(places(report.Findings)))); diff != "" {
		t.Errorf("%s, skipped %v", diff, report.Skipped)
	}
}
