package scan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Correct code of real repositories that looks faulty has no finding above low severity, and no
// fix, except on lines that expect a rule.
func TestCorrectCode(t *testing.T) {
	t.Parallel()
	s, want := Scanner{Dir: t.TempDir()}, []string{}
	for name, text := range map[string]string{
		"src/guards.ts": `
export function guards(fonts: any[], rest: any, element: any, other: any, pair: [string]) {
  if (fonts[0]?.value) {
    console.log(fonts[0].value, pair[0].length);
  }
  if ("fallback" in rest && rest.fallback) console.log(rest);
  if (!!element && element.id === other?.id) console.log(element!.id as any);
}
type Same<A, B> = A extends B ? true : false;
type Kind<P> = string extends P ? never : P extends number ? 1 : 2;
`,
		"src/link.tsx": `
export function Link({ copy }: { copy: () => void }) {
  const save = async () => copy();
  return <button onClick={() => { save(); }}>save</button>;
}
`,
		"public/service-worker.js": `
self.addEventListener("fetch", (event) => { event.respondWith(fetch(event.request)); });
setInterval(() => self.registration.update(), 1000);
`,
		"tests/test_items.py": "def test_items(a, items=[]):\n    assert a not in items\n",
		"src/own.py": "def run(plugin, db, table):\n    eval(plugin.code)\n" +
			"    db.execute(\"SELECT * FROM users WHERE t = '%s'\" % table)\n",
		"src/own.go":    "package own\n\nfunc run(name string) { exec.Command(\"sh\", \"-c\", \"ls \"+name).Run() }\n",
		"web/worker.js": "import { h } from \"preact\";\nexport const send = (name) => `a ${name}`;\n",
	} {
		s.write(t, name, text)
		want = append(want, wanted(name, text)...)
	}
	findings := s.must(t, Request{Purpose: Bugs, Level: "low", Fast: true}).Findings
	if diff := cmp.Diff(want, places(findings)); diff != "" {
		t.Error(diff)
	}
	// Names that other files may import stay, and so do clauses that determine which errors are
	// caught.
	s.write(t, "src/compat.py", "# Kept for those who import it from here.\nfrom collections import OrderedDict\n"+
		"from http import cookiejar as cookielib\nfrom io import StringIO\n")
	s.write(t, "src/view.tsx", "import { h } from \"preact\";\nexport const view = <p>text</p>;\n")
	all := slices.Concat(findings, s.must(t, Request{Purpose: Refactorings, Fast: true}).Findings)
	if !slices.ContainsFunc(all, func(f Finding) bool { return f.Rule == "python/unused-import" }) {
		t.Errorf("no import is unused in %v", places(all))
	}
	for _, f := range all {
		if f.Fixable() && (strings.HasSuffix(f.Rule, "/unused-import")) {
			t.Errorf("%s:%d %s has a fix", f.File, f.Line, f.Rule)
		}
	}
}

// Progress is reported before and while Go packages are loaded, not only at the end.
func TestProgressOfLoading(t *testing.T) {
	t.Parallel()
	s := Scanner{Dir: t.TempDir()}
	s.write(t, "go.mod", "module example.com/x\n\ngo 1.24\n")
	s.write(t, "a.go", "package x\n\nimport _ \"fmt\"\n")
	var messages []string
	s.must(t, Request{Purpose: Bugs, Progress: func(_, _ int, message string) {
		messages = append(messages, message)
	}})
	at := slices.IndexFunc(messages, func(message string) bool { return strings.Contains(message, "loading and") })
	if over := slices.Index(messages, "analysing Go packages"); at < 0 || over >= 0 && at > over {
		t.Errorf("messages: %q", messages)
	}
}
