package words

import (
	"strings"
	"testing"
)

func TestVerb(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"get rid of the file":    "remove 3",
		"getting rid of it":      "remove 3",
		"throw it away":          "remove 3",
		"set up a table":         "setup 2",
		"take care of the dog":   "manage 3",
		"take a look at this":    "view 4",
		"write back to them":     "reply 3",
		"get the ridge of a map": " 0",
		"take it care of":        " 0", // only phrases of two words have an object inside
		"throw":                  " 0",
		"":                       " 0",
	} {
		list := strings.Fields(text)
		verb, n := Verb(func(i int) string {
			if i < len(list) {
				return list[i]
			}
			return ""
		})
		if got := verb + " " + string(rune('0'+n)); got != want {
			t.Errorf("%q means %q, want %q", text, got, want)
		}
	}
}
