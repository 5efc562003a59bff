package memory_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/tools/memory"
)

func TestIndexText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ key, value, want string }{
		"key and value":    {"Team/Rules", `{"freeze":"Friday"}`, "#team #rules team rules freeze friday"},
		"each once":        {"a", `{"a":"a A","b":["a"]}`, "#a a b"},
		"camel case":       {"k", `{"deployFreeze":"HTTPServer v2Beta"}`, "#k k deploy freeze deployfreeze http server httpserver v2 beta v2beta"},
		"scalars":          {"k", `{"n":-1.5e3,"t":true,"z":null}`, "#k k n 1 5e3 t true z"},
		"escapes":          {"k", `{"s":"a\nb\u00e9\u0000c"}`, "#k k s a bé c"},
		"without spaces":   {"会議室", `{}`, "#会 #議 #会議 #室 #議室 会 議 会議 室 議室"},
		"mixed":            {"v2の予定!", `{}`, "#v2 #の #予 #の予 #定 #予定 v2 の 予 の予 定 予定"},
		"accents":          {"e\u0301t\u00e9", `{"कमल":"ก็"}`, "#été été कमल ก ็ ก็"},
		"emoji":            {"🚀🔥 1\ufe0f\u20e3", `{}`, "#🚀 #🔥 #1 🚀 🔥 1"},
		"only punctuation": {"\x00-'\"%", `{}`, ""},
		"long word":        {strings.Repeat("é", 99), `{}`, "#" + strings.Repeat("é", 64) + " " + strings.Repeat("é", 64)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			token, words, _ := strings.Cut(memory.IndexText(memory.Entry{Namespace: "n", Key: c.key, Value: json.RawMessage(c.value)}), " ")
			equal(t, words, c.want)
			other := memory.IndexText(memory.Entry{Namespace: "m", Key: c.key})
			if !strings.HasPrefix(token, "@") || strings.HasPrefix(other, token) {
				t.Fatalf("%q does not tell the namespace", token)
			}
		})
	}
}

// FuzzIndexText holds that words are what the databases take: no separators
// or quotes in them, not long, each once; and that a key is found by itself.
func FuzzIndexText(f *testing.F) {
	f.Add("team/rules", "Friday")
	f.Add("ﷺ\u0345ǅ", "İıſK\u0307")
	f.Fuzz(func(t *testing.T, key, text string) {
		value, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Skip()
		}
		seen := map[string]bool{}
		list := memory.IndexText(memory.Entry{Namespace: "n", Key: key, Value: value})
		for _, word := range strings.Split(list, " ") {
			if word == "" || len(word) > 260 || seen[word] || strings.ContainsAny(word, "'\"\\&|!:*()\x00\t\n") {
				t.Fatalf("word %q of %q", word, list)
			}
			seen[word] = true
		}
		s := setup(t)
		store(t, s, "n", key, string(value))
		n := call(t, s.Search, memory.SearchIn{Query: key, Limit: 1}).Count
		if hasWords := strings.Contains(list, " #"); n == 1 != hasWords {
			t.Fatalf("found %d entries by key, whose words are %q", n, list)
		}
	})
}
