package scan

import (
	"runtime"
	"strings"
	"testing"
)

// Four times as long a file takes about four times the memory to read. It does
// not run in parallel: it counts the bytes of the process.
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
