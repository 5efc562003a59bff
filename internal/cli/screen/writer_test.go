package screen

import (
	"encoding/json"
	"testing"
)

// steering is a name that rewrites the screen wherever a terminal gets it as it is.
const steering = "a\x1b]0;title\x07\x1b[2Jb\rc\x7f\u009b31m\u202egnp.\u2066d\u2069"

// Programs read the same text.
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
