package scan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A fix is offered on the lines that want it, and on no other: there it could make another
// program of the file. Each text is what real repositories have.
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
		"none.py": `
def f(x, y):
    if x == None:  # want python/none-comparison
        return query.where(y == None)
    while (x != None and y):  # want python/none-comparison
        pass
    if query.filter(x == None):
        pass
    if (x == None) | y:
        pass
    if any(x == None for x in y):
        pass
    assert x != None
    return x == None
`,
		"arrays.py":            "import numpy as np\nif x == None: pass\n",
		"queries.py":           "from sqlalchemy import select\nif x == None: pass\n",
		"equality.py":          "class A:\n    def __eq__(self, other):\n        return True\nif x == None: pass\n",
		"base.py":              "class A(object):  # want python/object-base\n    pass\n",
		"builtins.py":          "from builtins import object, str\nclass A(object):\n    pass\n",
		"first.py":             "# -*- coding: utf-8 -*-\n# want-1 python/coding-comment\n",
		"second.py":            "# -*- coding: utf-8 -*-\n# -*- coding: latin-1 -*-\n",
		"third.py":             "#!/usr/bin/python\n# coding: utf-8\n# coding: ascii\n",
		"editor.py":            "# vim: set ts=4 fileencoding=utf-8 :\n",
		"code.py":              "# x = compute()\n# y = x()\nz = 1  # want-2 python/commented-out-code\n",
		"sample.py":            "def f():\n    pass\n\n# How it is called:\n# x = compute()\n# y = x()\n# z = y()\n",
		"older/setup.py":       "setup(\n    classifiers=[\n        'Programming Language :: Python :: 2.7',\n    ],\n)\n",
		"older/pkg/a.py":       "class A(object):\n    def f(self):\n        super(A, self).f()\n",
		"newer/pyproject.toml": "requires-python = \">=3.8\"\nclassifiers = [\"Programming Language :: Python :: 3\"]\n",
		"newer/a.py":           "class A(object):  # want python/object-base\n    pass\n",
		"doc.go": `package a

import "fmt"

// f(1)
// g(2)
func f() { fmt.Println() }

// Output is compared:
func ExampleF() {
	f()
	// Output:
	// a.Print()
	// b.Print()
	// c.Print()
}

// x := f()
// y := g(x)
// z := g(y)

var a = "want-4 go/commented-out-code"

var z = 1
`,
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
  return [self, inner, one, taken];
}
`,
		"testing/data/wrong.py": "if x == None: pass\n",
		"web/fixtures/in.js":    "import x from \"x\";\nvar a = 1;\n",
		"data/right.py":         "if x == None: pass  # want python/none-comparison\n",
		"cycle.js":              "import \"./other\";\nvar a = 1;\nexport { a };\n",
		"cycle2.js":             "export * from \"./other\";\nvar a = 1;\n",
		"older.js":              "function f() {\n  var a = 1;\n  return \"a\" + a;\n}\n",
		"text.js": `
const plain = "p";
let list = make();
export const one = "a" + plain; // want js/string-concatenation
export const two = "a" + list;
export const three = "a" + list.length + "b"; // want js/string-concatenation
export const four = (date) => "at " + date;
export const six = plain.indexOf("a") !== -1; // want js/index-of
export const seven = list.indexOf("a") !== -1;
export const eight = Object.assign({}, list);
`,
		"taken.js": "const plain = \"p\";\nexport const five = ({ plain }) => \"a\" + plain;\n",
		"spread.js": `
export const eight = Object.assign({}, list); // want js/object-assign
export const nine = { ...eight };
`,
		"typed.ts": `
export const f = (id: string, date: Date, n?: number) => {
  log("a" + id); // want js/string-concatenation
  log("a" + n + "b"); // want js/string-concatenation
  log("a" + date);
  return { ...Object.assign({}, date), there: id.indexOf("a") !== -1 };
};
import { log } from "./log";
`,
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
