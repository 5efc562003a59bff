package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// A record stays within its limit for any server: parts are left out in order and reported, and the
// record can be read back.
func TestRecordIsBounded(t *testing.T) {
	t.Parallel()
	const limit = 4000
	entry := func(size int) []json.RawMessage {
		return []json.RawMessage{json.RawMessage(fmt.Sprintf(`{"name":%q}`, strings.Repeat("x", size)))}
	}
	for _, c := range []struct {
		record record
		left   []string
	}{
		{record{Tools: entry(1000), Instructions: "short"}, nil},
		{record{Tools: entry(1000), Instructions: strings.Repeat("\u2028", 1200)}, []string{"its instructions"}}, // its size doubles in JSON
		{record{Tools: entry(1000), Templates: entry(4000), Prompts: entry(1000)}, []string{"its resource templates"}},
		{record{Tools: entry(1000), Instructions: "short", Resources: entry(4000)}, []string{"its instructions", "its resources"}},
		{record{Tools: entry(1000), Before: map[string]json.RawMessage{"x": entry(4000)[0]}}, []string{"former definitions"}},
	} {
		text, err := c.record.within(limit)
		back, ok := decode(text)
		if err != nil || len(text) > limit || !ok || len(back.Tools) != 1 || len(back.LeftOut) != len(c.left) {
			t.Errorf("%d bytes, %v, %v, left out %q, want %q", len(text), err, ok, back.LeftOut, c.left)
			continue
		}
		for i, want := range c.left {
			if !strings.HasPrefix(back.LeftOut[i], want) {
				t.Errorf("left out %q, want %q", back.LeftOut, c.left)
			}
		}
	}
	if text, err := (&record{Tools: entry(5000)}).within(limit); err == nil {
		t.Errorf("tools of 5,000 bytes are written in %d", len(text))
	}
}

// Instructions are cut between characters.
func TestLimitInstructions(t *testing.T) {
	t.Parallel()
	k := record{Instructions: "日本日本"}
	k.limitInstructions(7)
	if k.Instructions != "日本" || !utf8.ValidString(k.Instructions) || len(k.LeftOut) != 1 ||
		!strings.Contains(k.LeftOut[0], "6 bytes of its instructions are left out: the limit is 7 (instructionsLimit)") {
		t.Errorf("%q, %q", k.Instructions, k.LeftOut)
	}
	k = record{Instructions: "日本"}
	k.limitInstructions(6)
	if k.Instructions != "日本" || k.LeftOut != nil {
		t.Errorf("%q, %q", k.Instructions, k.LeftOut)
	}
}
