package scan

import "testing"

// Any text is scanned without a panic, and fixes apply to it.
func FuzzFast(f *testing.F) {
	for _, name := range []string{"a.ts", "a.py", "a.go"} {
		f.Add(name, "if (a == `x${b}`) { /re/.test(\"é\") }")
		f.Add(name, "def f(x=[]):\n    '''t'''\n    return x is 'a'\n")
	}
	f.Fuzz(func(t *testing.T, name, content string) {
		if _, known := languageOf(name); !known || unusable(content) != "" {
			return
		}
		s := newSource(name, content)
		for _, purpose := range []Purpose{Bugs, Refactorings} {
			findings := fast(s, purpose)
			for _, found := range findings {
				if _, err := applyEdits(content, found.Edits); err != nil {
					t.Errorf("%s at line %d: %v", found.Rule, found.Line, err)
				}
			}
			finish(purpose, content, findings)
		}
		for i, token := range s.tokens {
			if token.start < 0 || token.end() > len(content) || i > 0 && token.start < s.tokens[i-1].end() {
				t.Fatalf("token %d lies from %d to %d", i, token.start, token.end())
			}
		}
	})
}
