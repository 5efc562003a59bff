package scan

import (
	"strings"
	"testing"
)

// hostile holds texts that make a rule look far ahead at each token. They are repeated up to the
// maximum file size.
var hostile = map[string][]string{
	"a.ts": {
		"(", "{", "a.", "var a=1\n", "a&&a.a&&", "f(", "if(", "import{a}from'a'\n", "`${", "'a'+a+", "?a:", "function a(){",
		"x.addEventListener(", "Promise.all(async a++",
		"// a();\n", "for(;;){", "async function a(){}\na()\n", "/a", "catch{}", "var a;a=\n", "a=>", "a?", "import a from 'a';x;\n", "[a]=", ")",
		"setTimeout(()=>{",
	},
	"a.py": {"(", "def f(a=[],", "import a\n", "from a import b\n", "open(", "except:pass\n", "assert(", "  time.sleep(1)\n", "# x = f()\n",
		"a is 'a'", "'", "lambda:", ":", "x=[\n", "async def a():\n time.sleep(\n"},
	"a.go": {"(", "func(", "{", "func a() {", "// x := a\n", "exec.Command(", "\"select a from b\"+a+", "`"},
}

// BenchmarkHostile prints the time for each text. No rule may take quadratic time: it would take
// minutes instead of seconds.
func BenchmarkHostile(b *testing.B) {
	for name, texts := range hostile {
		for _, text := range texts {
			content := strings.Repeat(text, maxFile/len(text))
			b.Run(name+" "+text, func(b *testing.B) {
				b.SetBytes(int64(len(content)))
				for b.Loop() {
					s := newSource(name, content)
					fast(s, Bugs)
					fast(s, Refactorings)
				}
			})
		}
	}
}
