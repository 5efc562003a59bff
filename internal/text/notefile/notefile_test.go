package notefile

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

var texts = []string{
	"x", "", "a\n", "a\n\n", "\n", "\n\na", "---", "---\n", "---\na\n---\nb", "\ufeffa", "a\r\nb", "a\rb", "a\r\n", "\x00", "\x7f", "a\tb",
	"```json\n1\n```",
	"\u0085\u2028", "\ufffd", "{\"a\": 1}", "key: b", "é", "e\u0301", "🎉", "\ufffe", "  a  ", "\v\f", "# Heading\n\n- item\n",
}

// TestRoundTrip holds that every value comes back as it was.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	values := []string{`1`, `1.50`, `-0`, `1e400`, `true`, `null`, `[]`, `{}`, `{"b":[1,{"a":null}],"a":"é\n"}`, `"\ud800"`, `"\u00e9"`,
		`"\/"`, `"a\ud83d"`, strings.Repeat("[", 500) + strings.Repeat("]", 500), `["` + strings.Repeat("x", 300_000) + `"]`, "{\"```\":\"---\"}"}
	for _, text := range texts {
		values = append(values, string(ordered.MustJSON(text)))
	}
	for _, value := range values {
		for _, key := range []string{"k", "---", "a\nb: c", "2026", "null", "\x00\ufeff", "# x"} {
			roundTrip(t, Note{Namespace: "default", Key: key, Value: json.RawMessage(value)})
		}
		roundTrip(t, Note{
			Namespace: "no\nspace", Key: "k", Value: json.RawMessage(value), Tags: []string{"1", "a, b", "yes"},
			ExpiresAt: time.Date(2026, 1, 31, 12, 0, 0, 123456000, time.UTC), Extra: []byte("title: A # why\nlist:\n    - 1\n"),
		})
	}
}

func roundTrip(t *testing.T, n Note) {
	t.Helper()
	file, err := Encode(n)
	if err != nil {
		t.Fatalf("%q: %v", n.Value, err)
	}
	name := Name(n.Namespace, n.Key)
	for how, file := range map[string]string{
		"as written": string(file), "with a byte order mark": "\ufeff" + string(file),
		"with CRLF": strings.ReplaceAll(string(file), "\n", "\r\n"),
	} {
		back, err := Decode(name, []byte(file))
		if err != nil {
			t.Fatalf("%s: %v\n%s", how, err, file)
		}
		if back.Digest() != n.Digest() {
			t.Errorf("%s: %q came back as %q\n%s", how, n.Value, back.Value, file)
		}
		if text, isText := plainText(n.Value); isText {
			n.Value = ordered.MustJSON(text) // another spelling of the same text
		}
		if !reflect.DeepEqual(n, back) {
			t.Errorf("%s: %q came back as %q\n%s", how, n, back, file)
		}
	}
	if len(file) > MaxFile {
		t.Errorf("the file has %d bytes", len(file))
	}
}

func FuzzRoundTrip(f *testing.F) {
	for _, text := range texts {
		f.Add("default", "k", text, "")
		f.Add(text, text, text, "1")
	}
	f.Fuzz(func(t *testing.T, namespace, key, text, other string) {
		if namespace == "" || key == "" || !utf8.ValidString(namespace+key+text) {
			t.Skip()
		}
		value := ordered.MustJSON(text)
		if json.Valid([]byte(other)) && utf8.ValidString(other) && len(other) < 2000 {
			value = ordered.MustJSON([]any{text, json.RawMessage(other)})
		}
		roundTrip(t, Note{Namespace: namespace, Key: key, Value: value})
		if len(text) < 100 && text != "" {
			roundTrip(t, Note{Namespace: namespace, Key: key, Value: value, Tags: []string{text}})
		}
	})
}

// FuzzDecode holds that a file that can be read can be written and read again, with its other members.
func FuzzDecode(f *testing.F) {
	for _, text := range append(texts, "---\nkey: a\ntitle: b\n---\nx", "---\n{key: a, x: [1]}\n---\n",
		"---\nexpires: 2026-01-01\ntags: [b, a, 1]\n---\n") {
		f.Add("a.md", []byte(text))
	}
	f.Fuzz(func(t *testing.T, name string, file []byte) {
		n, err := Decode(name, file)
		if err != nil {
			return
		}
		if n.Namespace == "" {
			n.Namespace = DefaultNamespace
		}
		again, err := Encode(n)
		if err != nil {
			t.Fatal(err)
		}
		if len(again) > maxFront {
			t.Skip()
		}
		back, err := Decode(name, again)
		if err != nil {
			t.Fatalf("%v\n%q\n%q", err, file, again)
		}
		if back.Digest() != n.Digest() || back.Key != n.Key || back.Namespace != n.Namespace || (len(back.Extra) == 0) != (len(n.Extra) == 0) {
			t.Errorf("%+v came back as %+v\n%s", n, back, again)
		}
	})
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, file, want string }{
		{"idea.md", "# Idea\n", `|idea|"# Idea"`},
		{"My idea.md", "x", `|My idea|"x"`},
		{"scratch%%a%2Fb.md", "x", `scratch|a/b|"x"`},
		{"50%.md", "a\r\nb\r\n", `|50%|"a\nb"`},
		{Name("default", "Readme"), "x", `|Readme|"x"`},
		{"x.md", "---\nkey: team/rules\nmood: good\n---\n\nx\n", `|team/rules|"x"|mood: good`},
		{"x.md", "---\nkey: 2026\nnamespace: null\n---\nx", `|2026|"x"`},
		{"x.md", "---\nformat: json\n---\n{\"a\": [1, 2]}\n", `|x|{"a":[1,2]}`},
		{"x.md", "---\r\nformat: json\r\n---\r\n```json\r\n1.50\r\n```\r\n", `|x|1.50`},
		{"x.md", "---\ntags: [b, a, b, 1]\nexpires: 2026-01-31\n---\n", `|x|""|1 a b|2026-01-31T00:00:00Z`},
		{"x.md", "---\n---\nx", `|x|"x"`},

		{"x.md", "", "it is empty"},
		{"x.md", "\xff", "it is not UTF-8"},
		{"x.md", "---\nkey: a\n", "its front matter has no closing ---"},
		{"x.md", "---\n- a\n---\n", "names with values"},
		{"x.md", "---\na: [\n---\n", "line "},
		{"x.md", "---\nkey: a\nkey: b\n---\n", `line 3, column 1: "key" stands there twice`},
		{"x.md", "---\nkey: [a]\n---\n", "key must be a text"},
		{"x.md", "---\ntags: a\n---\n", "tags must be a list of texts"},
		{"x.md", "---\nexpires: soon\n---\n", "expires must be a time"},
		{"x.md", "---\nformat: html\n---\n", "format must be text or json"},
		{"x.md", "---\nformat: json\n---\n{", "not valid JSON"},
		{"x.md", "---\na: &b 1\n---\n", "anchors and aliases"},
		{Name("default", strings.Repeat("x", 200)), "x", "its name has none that is whole"},
	} {
		n, err := Decode(test.name, []byte(test.file))
		got := fmt.Sprint(err)
		if err == nil {
			got = n.Namespace + "|" + n.Key + "|" + string(n.Value)
			if n.Tags != nil {
				got += "|" + strings.Join(n.Tags, " ")
			}
			if !n.ExpiresAt.IsZero() {
				got += "|" + n.ExpiresAt.Format(time.RFC3339)
			}
			if n.Extra != nil {
				got += "|" + strings.TrimSpace(string(n.Extra))
			}
		}
		if err == nil && got != test.want || !strings.Contains(got, test.want) {
			t.Errorf("%s, %q: got %s, want %s", test.name, test.file, got, test.want)
		}
	}
}

// hostile are keys whose plain names collide, are reserved or are refused somewhere.
var hostile = []string{
	"a", "A", "readme", "Readme", "README", "CON", "con", "Con.txt", "nul", "nul.", "aux .x", "com1", "COM9.log", "com¹", "lpt1", "conin$",
	"a.", "a ", " a", "a.md", "a.md.md", ".", "..", ".git", "...", "a/b", `a\b`, "a:b", "a%2Fb", "a%2fb", "A%2FB",
	"%%", "a%%b", "~", "a~b",
	"a~conflict-0123456789ab", "é", "e\u0301", "É", "ﬁ", "fi", "ß", "SS", "ss", "ı", "İ", "i", "K", "k", "\u212a",
	"Å", "\u212b", "\x00", "\n", "\u200d", "\u202e", "🎉",
	"日本語", strings.Repeat("x", 500), strings.Repeat("x", 499) + "y", strings.Repeat("日", 500), strings.Repeat("/", 500),
	strings.Repeat("a", 99) + "/",
	strings.Repeat("a", 98) + "/b", "\xff", "-", "--help", "*", "?", "\"<>|", "$HOME", "`x`", "a\u0301b", "\u0301",
}

func TestNames(t *testing.T) {
	t.Parallel()
	fold := map[string]string{}
	for _, namespace := range []string{"default", "DEFAULT", "scratch", "a%%b", "con", "x/y"} {
		for _, key := range hostile {
			name := Name(namespace, key)
			at := namespace + " " + key
			folded := strings.ToLower(strings.ToUpper(name))
			if other, taken := fold[folded]; taken {
				t.Errorf("%q and %q share %s", at, other, name)
			}
			fold[folded] = at
			stem := strings.TrimSuffix(name, Ending)
			if len(name) > 150 || !utf8.ValidString(name) || reserved().MatchString(name) || strings.ContainsAny(name, "/\\:*?\"<>|") ||
				strings.HasPrefix(name, ".") || strings.HasPrefix(name, " ") || stem == "" || IsConflict(name) {
				t.Errorf("%q has the name %q", at, name)
			}
			if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u202e' || r == '\u200d' }) {
				t.Errorf("%q has the name %q", at, name)
			}
			gotNamespace, gotKey, ok := parseName(name)
			if gotNamespace == "" {
				gotNamespace = "default"
			}
			if ok && (gotKey != key || gotNamespace != namespace) {
				t.Errorf("%q is read as %q in %q", name, gotKey, gotNamespace)
			}
			if !ok && utf8.ValidString(key) && len(escape(namespace)+"%%"+escape(key)) < maxStem {
				t.Errorf("%q of %q is not read", name, at)
			}
		}
	}
	for key, want := range map[string]string{
		"team/rules": "team%2Frules.md", "todo": "todo.md", "con": "%63on.md", ".git": "%2Egit.md", "a b": "a b.md",
		"Readme": "Readme~" + hash("default", "Readme") + ".md",
	} {
		if got := Name(DefaultNamespace, key); got != want {
			t.Errorf("%q has the name %s, want %s", key, got, want)
		}
	}
	if got := Conflict("a.md", strings.Repeat("0", 64)); !IsConflict(got) || got != "a~conflict-000000000000.md" {
		t.Error(got)
	}
}

func FuzzName(f *testing.F) {
	for _, key := range hostile {
		f.Add("default", key)
	}
	f.Fuzz(func(t *testing.T, namespace, key string) {
		if namespace == "" || key == "" || !utf8.ValidString(namespace+key) {
			t.Skip()
		}
		name := Name(namespace, key)
		if len(name) > 150 || reserved().MatchString(name) || strings.ContainsAny(name, "/\\:*?\"<>|\x00") || name[0] == '.' {
			t.Errorf("%q", name)
		}
		gotNamespace, gotKey, ok := parseName(name)
		if gotNamespace == "" {
			gotNamespace = DefaultNamespace
		}
		if ok && (gotKey != key || gotNamespace != namespace) {
			t.Errorf("%q of %q in %q is read as %q in %q", name, key, namespace, gotKey, gotNamespace)
		}
	})
}
