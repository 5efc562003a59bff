package unseen_test

import (
	"testing"

	"github.com/toolfold/toolfold/internal/text/unseen"
)

func TestUnseen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, removed, escaped string }{
		{"Adds two numbers.\nMore.", "Adds two numbers.\nMore.", "Adds two numbers.\nMore."},
		{"a\u202eb\u2066c\u200bd\u00ade\ufefff", "abcdef", `a\u202eb\u2066c\u200bd\u00ade\ufefff`},
		{"a\x1b[2Jb\x07\u009bc", "a [2Jb  c", `a\u001b[2Jb\u0007\u009bc`},
		{"a\tb\r\nc", "a b \nc", `a\u0009b\u000d` + "\nc"},
		{"a\U000e0041\U000e0100b", "ab", `a\U000e0041\U000e0100b`},
		{"a\u3164\u115f\u1160\uffa0\u034f\u17b4\u2800b\u2028c", "a b c", `a\u3164\u115f\u1160\uffa0\u034f\u17b4\u2800b\u2028c`},
		{"a\ufe0f\ufe0fb", "ab", `a\ufe0f\ufe0fb`},
		{"ok ✔️ ❤\ufe0f 1\ufe0f⃣ ©\ufe0f", "ok ✔️ ❤\ufe0f 1\ufe0f⃣ ©\ufe0f", "ok ✔️ ❤\ufe0f 1\ufe0f⃣ ©\ufe0f"},
		{"❤\ufe0f\ufe0f\ufe0f", "❤\ufe0f", "❤\ufe0f" + `\ufe0f\ufe0f`},
		{"👩\u200d💻 👩🏽\u200d🔬 🏳\ufe0f\u200d🌈", "👩\u200d💻 👩🏽\u200d🔬 🏳\ufe0f\u200d🌈", "👩\u200d💻 👩🏽\u200d🔬 🏳\ufe0f\u200d🌈"},
		{"می\u200cخواهم क्\u200dष", "می\u200cخواهم क्\u200dष", "می\u200cخواهم क्\u200dष"},
		{"a\u200db\u200cc می\u200c\u200cخ 👩\u200d", "abc میخ 👩", `a\u200db\u200cc می\u200c\u200cخ 👩\u200d`},
		{"日本語 naïve Ελληνικά \u00a0.", "日本語 naïve Ελληνικά \u00a0.", "日本語 naïve Ελληνικά \u00a0."},
	} {
		if got := unseen.Removed(c.text); got != c.removed {
			t.Errorf("%+q without what is unseen is %+q, want %+q", c.text, got, c.removed)
		}
		if got := unseen.Escaped(c.text); got != c.escaped {
			t.Errorf("%+q escaped is %+q, want %+q", c.text, got, c.escaped)
		}
		first, found := unseen.First(c.text)
		if want := c.escaped != c.text && c.text != "a\tb\r\nc"; found != want || found && unseen.Removed(string(first)) == string(first) {
			t.Errorf("%+q has %U, %v", c.text, first, found)
		}
	}
}

func FuzzUnseen(f *testing.F) {
	f.Add("a\u202eb")
	f.Fuzz(func(t *testing.T, text string) {
		for _, clean := range []string{unseen.Removed(text), unseen.Escaped(text)} {
			if again := unseen.Escaped(clean); again != clean {
				t.Errorf("%+q still has what is not seen: %+q", clean, again)
			}
		}
	})
}
