package jsonedit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/text/jsonx"
)

// members are files with the members "b" and "c" of "list", with and without them.
var members = map[string][2]string{
	"spread": {
		"{\n  \"list\": {\n    \"a\": 1,\n    \"b\": {\n      \"x\": 1\n    },\n    \"c\": 3,\n    \"d\": 4\n  },\n  \"z\": 1\n}\n",
		"{\n  \"list\": {\n    \"a\": 1,\n    \"d\": 4\n  },\n  \"z\": 1\n}\n",
	},
	"the last": {"{\n  \"list\": {\n    \"a\": 1,\n    \"b\": 2,\n    \"c\": 3\n  }\n}\n", "{\n  \"list\": {\n    \"a\": 1\n  }\n}\n"},
	"the first, with lines of Windows": {
		"{\r\n\t\"list\": {\r\n\t\t\"b\": 2,\r\n\t\t\"c\": 3,\r\n\t\t\"d\": 4\r\n\t}\r\n}\r\n",
		"{\r\n\t\"list\": {\r\n\t\t\"d\": 4\r\n\t}\r\n}\r\n",
	},
	"all":      {"{\n  \"list\": {\n    \"b\": 2,\n    \"c\": 3\n  }\n}\n", "{\n  \"list\": {}\n}\n"},
	"compact":  {`{"list":{"a":1,"b":{"x":[1,2]},"c":3,"d":4},"z":1}`, `{"list":{"a":1,"d":4},"z":1}`},
	"one line": {`{ "list": {"b": 2, "c": 3, "d": 4} }`, `{ "list": {"d": 4} }`},
	"comments": {
		"{ // mine\n  \"list\": {\n    // of a\n    \"a\": 1, // one\n\n    // of b\n    /* two\n       lines */\n    \"b\": { // in b\n" +
			"      \"x\": 1, /* x */\n    }, // two\n    // of c\n    \"c\": 3, // three\n    \"d\": 4, // four\n  },\n}\n",
		"{ // mine\n  \"list\": {\n    // of a\n    \"a\": 1, // one\n    \"d\": 4, // four\n  },\n}\n",
	},
	"comments of the last": {
		"{\n  \"list\": {\n    \"a\": 1, // one\n    // of b\n    \"b\": 2, // two\n    \"c\": 3 // three\n  } // end\n}\n",
		"{\n  \"list\": {\n    \"a\": 1 // one\n  } // end\n}\n",
	},
	"a comment that ends on its line": {
		"{\n  \"list\": {\n    \"a\": 1, /* begins\n    ends */ \"b\": 2,\n    \"c\": 3\n  }\n}\n",
		"{\n  \"list\": {\n    \"a\": 1 /* begins\n    ends */ \n  }\n}\n",
	},
}

// Removed members come back in their place, with their comments, also in another text.
func TestTakeAndGive(t *testing.T) {
	t.Parallel()
	others := []string{
		"", "{}", "{\"list\":{}}", "{\"list\":{\"d\":4}}", "{ \"list\": {\"d\": 4, \"a\": 1, }, }",
		"{\n  \"list\": { // open\n    \"d\": 4 /* four */\n    // end\n  }\n}",
		"{\n  \"list\": {\n    \"d\": 4, /* opens\n    closes */ \"e\": 5\n  }\n}",
	}
	for name, texts := range members {
		rest, b, err := Take([]byte(texts[0]), "list", "b")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rest, c, err := Take(rest, "list", "c")
		if diff := cmp.Diff(texts[1], string(rest)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		back := give(t, rest, c, b)
		if name == "a comment that ends on its line" { // it belongs to the end of a line, which no new line keeps
			equalJSON(t, name, back, []byte(texts[0]))
		} else if diff := cmp.Diff(texts[0], string(back)); diff != "" {
			t.Errorf("%s, put back (-want +got):\n%s", name, diff)
		}
		for _, other := range others {
			now := give(t, []byte(other), c, b)
			for _, m := range []Member{b, c} {
				if value, err := Get(now, "list", m.Key); value == nil || err != nil {
					t.Errorf("%s is not in\n%s", m.Key, now)
				}
				for _, comment := range []string{m.Lead, m.Trail} {
					if !strings.Contains(string(now), comment) {
						t.Errorf("%q is not in\n%s", comment, now)
					}
				}
			}
		}
	}
}

func give(t *testing.T, text []byte, list ...Member) []byte {
	t.Helper()
	for _, m := range list {
		now, err := Give(text, m, "list")
		if err != nil {
			t.Fatalf("%v, with %+v in\n%s", err, m, text)
		}
		text = now
	}
	return text
}

func equalJSON(t *testing.T, name string, got, want []byte) {
	t.Helper()
	if !jsonx.Equal(Plain(got), Plain(want)) {
		t.Errorf("%s became\n%s", name, got)
	}
}

func TestTakeAndGiveRefuse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{}", `{"list": {}}`, `{"list": {"b": 1, "b": 2}}`, `{"list": 1}`, "["} {
		if rest, _, err := Take([]byte(text), "list", "b"); err == nil {
			t.Errorf("%s became %s", text, rest)
		}
	}
	for _, text := range []string{`{"list": {"b": 1}}`, `{"list": []}`, "{"} {
		if now, err := Give([]byte(text), Member{Key: "b", Text: `"b": 2`}, "list"); err == nil {
			t.Errorf("%s became %s", text, now)
		}
	}
	if _, err := Give([]byte("{}"), Member{Key: "b", Text: "b"}, "list"); err == nil {
		t.Error("a member that is not JSON was put in")
	}
}

// A syntax error has a position, and quotes at most one character of the text.
func TestCheck(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "",
		"// mine\n{\"a\": 1,}":            "",
		"{\n  \"a\": \"secret\"\n  \"b\"": "line 3, column 3: it is not JSON: invalid character '\"' after object key:value pair",
		"{\n  // c\n  \"a\": }":           "line 3, column 8: it is not JSON: invalid character '}' looking for beginning of value",
		"{\"a\": 1":                       "line 1, column 8: it is not JSON: unexpected end of JSON input",
		"\xff\xfe{\x00":                   "line 1, column 1: it is UTF-16: save it as UTF-8",
	} {
		got := ""
		if err := Check([]byte(text)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
}
