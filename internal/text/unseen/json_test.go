package unseen_test

import (
	"encoding/json"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/text/unseen"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	type spelt = map[string]string
	for _, c := range []struct {
		raw, shown string
		spelt      spelt
	}{
		{`{"a": [1.50, "x\u003c\n"]}`, `{"a": [1.50, "x\u003c\n"]}`, nil},
		{`{"title":"a\u202eb", "description" : "c\td\u001be"}`, `{"title":"ab", "description" : "c d e"}`, spelt{}},
		{`{"enum":["\t","\r\n",","],"title":"a\u200b"}`, `{"enum":["\t","\r\n",","],"title":"a"}`, spelt{}},
		{`{"description":{"title":["a\u200b"]},"b\u200b":"c\u200b"}`, `{"description":{"title":["a\\u200b"]},"b\\u200b":"c\\u200b"}`,
			spelt{"a\u200b": `a\u200b`, "b\u200b": `b\u200b`, "c\u200b": `c\u200b`}},
		{`["a\u200b","a\\u200b"]`, `["\\a\\u200b","a\\u200b"]`, spelt{"a\u200b": `\a\u200b`}},
		{`["\u200b\\u200b","\\u200b\u200b"]`, `["\\u200b\\u200b","\\\\u200b\\u200b"]`,
			spelt{"\u200b\\u200b": `\u200b\u200b`, "\\u200b\u200b": `\\u200b\u200b`}},
		{`{"$ref":"#/$defs/a%E2%80%8Bb%25"}`, `{"$ref":"#/$defs/a%5Cu200bb%25"}`, spelt{}},
		{`{"$ref":"#/$defs/a\u200bb"}`, `{"$ref":"#/$defs/a%5Cu200bb"}`, spelt{}},
		{`{"❤️\"":"a"}`, `{"❤️\"":"a"}`, nil},
	} {
		shown, spelt := unseen.JSON(json.RawMessage(c.raw))
		if diff := gocmp.Diff(c.spelt, spelt); string(shown) != c.shown || diff != "" {
			t.Errorf("%s is shown as %s, want %s; %s", c.raw, shown, c.shown, diff)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add(`{"a\u200b":"\u202e","$ref":"#\u200b","title":"\u0007"}`)
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(raw)) {
			t.Skip()
		}
		shown, spelt := unseen.JSON(json.RawMessage(raw))
		if !json.Valid(shown) {
			t.Errorf("%q is shown as %q", raw, shown)
		}
		back := map[string]string{}
		for was, now := range spelt {
			back[now] = was
		}
		if len(back) != len(spelt) {
			t.Errorf("%q has one spelling of two names: %q", raw, spelt)
		}
	})
}
