package screen

import (
	"encoding/json"
	"testing"
)

// steering is a name that changes the screen if a terminal gets it unescaped.
const steering = "a\x1b]0;title\x07\x1b[2Jb\rc\x7f\u009b31m\u202egnp.\u2066d\u2069"

// For programs that read JSON, the text stays the same.
func TestEscapedControlsAreTheSameJSON(t *testing.T) {
	t.Parallel()
	whole, _ := json.Marshal(steering + "\u00e9 \u200d \\u001b")
	var before, after string
	if err := json.Unmarshal(whole, &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(escape(whole), &after); err != nil || after != before {
		t.Errorf("%q, %v, want %q", after, err, before)
	}
	if text := "a\tb\r\nc é\u200d\n"; string(escape([]byte(text))) != text {
		t.Errorf("%q became %q", text, escape([]byte(text)))
	}
}
