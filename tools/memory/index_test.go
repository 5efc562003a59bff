package memory_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/tools/memory"
)

func TestIndexText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ key, value, want string }{
		"key and value":    {"Team/Rules", `{"freeze":"Fridays"}`, "#team #rule team rule freez friday"},
		"in order":         {"a", `{"a":"a A","b":["a"]}`, "#a a a a a b a"},
		"camel case":       {"k", `{"deployFreeze":"HTTPServer v2Beta"}`, "#k k deploy freez http server v 2 beta deployfreez httpserver v2beta"},
		"scalars":          {"k", `{"n":-1.5e3,"t":true,"z":null}`, "#k k n 1 5 e 3 t true z 5e3"},
		"any value":        {"k", `"kept"`, "#k k keep"},
		"escapes":          {"k", `{"s":"a\nb\u00e9\u0000c"}`, "#k k s a be c"},
		"without spaces":   {"会議室", `{}`, "#会議 #議室 #会 #議 #室 会議 議室 会 議 室"},
		"mixed":            {"v2の予定!", `{}`, "#v #2 #の予 #予定 #v2 #の #予 #定 v 2 の予 予定 v2 の 予 定"},
		"hyphens":          {"on-call", `{}`, "#on #call #oncal on call oncal"},
		"accents":          {"e\u0301t\u00e9", `{"कमल":"ก็"}`, "#ete ete कमल ก็"},
		"emoji":            {"🚀🔥 1\ufe0f\u20e3", `{}`, "#🚀 #🔥 #1 🚀 🔥 1"},
		"only punctuation": {"\x00-'\"%", `{}`, ""},
		"long word":        {strings.Repeat("é", 99), `{}`, "#" + strings.Repeat("e", 64) + " " + strings.Repeat("e", 64)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			token, words, _ := strings.Cut(memory.IndexText(memory.Entry{Namespace: "n", Key: c.key, Value: json.RawMessage(c.value)}), " ")
			plain := slices.DeleteFunc(strings.Fields(words), func(w string) bool { return strings.HasPrefix(w, "##") })
			equal(t, strings.Join(plain, " "), c.want)
			other := memory.IndexText(memory.Entry{Namespace: "m", Key: c.key})
			if !strings.HasPrefix(token, "@") || strings.HasPrefix(other, token) {
				t.Fatalf("%q does not tell the namespace", token)
			}
		})
	}
}

// TestIndexTextMarks checks that the words an entry is about are marked: all words of a short
// entry, and repeated words of a long one.
func TestIndexTextMarks(t *testing.T) {
	t.Parallel()
	text := memory.IndexText(memory.Entry{Key: "k", Value: json.RawMessage(`"freeze ` + strings.Repeat("filler words of a long note ", 3) +
		`freeze thaw"`)})
	if !strings.Contains(text, " ##freez ") || strings.Contains(text, " ##thaw ") {
		t.Fatalf("got %q", text)
	}
}

// FuzzIndexText checks that words fit the databases, so they have no separators or quotes and are
// not long, and that a key is found by itself.
func FuzzIndexText(f *testing.F) {
	f.Add("team/rules", "Friday")
	f.Add("ﷺ\u0345ǅ", "İıſK\u0307")
	f.Add(" ", "0") // a key without words and a value with words
	f.Fuzz(func(t *testing.T, key, text string) {
		value, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Skip()
		}
		list := memory.IndexText(memory.Entry{Namespace: "n", Key: key, Value: value})
		for _, word := range strings.Split(list, " ") {
			if word == "" || len(word) > 260 || strings.ContainsAny(word, "'\"\\&|!:*()\x00\t\n") {
				t.Fatalf("word %q of %q", word, list)
			}
		}
		s := setup(t)
		store(t, s, "n", key, string(value))
		n := call(t, s.Search, memory.SearchIn{Query: key, Page: toolfold.Page{Limit: 1}}).Count
		ofKey := func(word string) bool { return strings.HasPrefix(word, "#") && !strings.HasPrefix(word, "##") }
		if hasWords := slices.ContainsFunc(strings.Split(list, " "), ofKey); n == 1 != hasWords {
			t.Fatalf("found %d entries by key, whose words are %q", n, list)
		}
	})
}
