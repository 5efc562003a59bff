package scan

import (
	"runtime"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/code/lex"
)

// Reading a file four times as long takes about four times the memory. The test does not run in
// parallel, because it counts the memory of the process.
func TestReadingGrowsLinearly(t *testing.T) {
	for name, line := range map[string]string{
		"a.py": "from a import b  # why\n", "b.py": "x = {'a': [1.5, f(y)]}\n", "a.js": "import {a} from 'b'; // why\n",
		"b.ts": "const f = <T>(a: T) => `x ${a}`;\n", "a.go": "var a = f(\"x\", 1.5) // why\n",
	} {
		cost := func(lines int) float64 {
			text := strings.Repeat(line, lines)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			newSource(name, text)
			scanned, _, _ := Imports(name, text)
			runtime.KeepAlive(scanned)
			runtime.ReadMemStats(&after)
			return float64(after.TotalAlloc - before.TotalAlloc)
		}
		if one, four := cost(1000), cost(4000); four > 6*one+1<<20 {
			t.Errorf("%s: 1000 lines take %.0f bytes, 4000 lines %.0f", name, one, four)
		}
	}
}

// The JavaScript lexer gives up after lex.MaxUnread unreadable places, because it searches the line
// of each from the start. Then no fix is offered.
func TestUnreadableScriptGetsNoFix(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"'\n", "\u202e\u2066 var a = 1\n"} {
		s := newSource("a.js", strings.Repeat(line, 40_000))
		if !strings.Contains(s.fault, "too much of it is no JavaScript") || len(s.tokens) > 5*lex.MaxUnread {
			t.Errorf("%q: %q after %d tokens", line, s.fault, len(s.tokens))
		}
	}
	if s := newSource("a.jsx", "const a = <p>"+strings.Repeat("don't\n", 20)+"</p>; b == c\n"); s.fault != "" {
		t.Errorf("apostrophes in the text of JSX: %q", s.fault)
	}
}
