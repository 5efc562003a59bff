package jsonedit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/text/jsonx"
)

const entry = `{"command":"toolfold","args":["serve","--for=x"],"env":{"A":"1"}}`

// layouts are files before and after adding the entry.
var layouts = map[string][2]string{
	"empty":      {"{}", "{\n  \"mcpServers\": {\n    \"toolfold\": ENTRY2\n  }\n}"},
	"empty line": {"{\n}\n", "{\n  \"mcpServers\": {\n    \"toolfold\": ENTRY2\n  }\n}\n"},
	"compact": {
		`{"a":1,"mcpServers":{"x":{"command":"c"}}}`,
		`{"a":1,"mcpServers":{"x":{"command":"c"},"toolfold":` + entry + `}}`,
	},
	"one line": {
		`{ "mcpServers": { "x": {} } }` + "\n",
		`{ "mcpServers": { "x": {}, "toolfold": {"command": "toolfold", "args": ["serve", "--for=x"], "env": {"A": "1"}} } }` + "\n",
	},
	"two spaces": {
		"{\n  \"mcpServers\": {\n    \"x\": {}\n  },\n  \"z\": 12345678901234567890\n}\n",
		"{\n  \"mcpServers\": {\n    \"x\": {},\n    \"toolfold\": ENTRY2\n  },\n  \"z\": 12345678901234567890\n}\n",
	},
	"one line in others": {
		"{\n  \"mcpServers\": {\"x\": {}}\n}\n",
		"{\n  \"mcpServers\": {\"x\": {}, " +
			"\"toolfold\": {\"command\": \"toolfold\", \"args\": [\"serve\", \"--for=x\"], \"env\": {\"A\": \"1\"}}}\n}\n",
	},
	"comments": {
		"// mine\n{\n  // of work\n  \"mcpServers\": {\n    \"x\": {} // kept\n    /* , and } */\n  } // end\n}\n",
		"// mine\n{\n  // of work\n  \"mcpServers\": {\n    \"x\": {}, // kept\n    /* , and } */\n    \"toolfold\": ENTRY2\n  } // end\n}\n",
	},
	"trailing commas": {
		"{\n  \"mcpServers\": {\n    \"x\": {}, // kept\n  },\n}\n",
		"{\n  \"mcpServers\": {\n    \"x\": {}, // kept\n    \"toolfold\": ENTRY2,\n  },\n}\n",
	},
	"comma of the next line": {
		"{\n  \"a\": 1\n  , \"b\": 2\n}",
		"{\n  \"a\": 1\n  , \"b\": 2,\n  \"mcpServers\": {\n    \"toolfold\": ENTRY2\n  }\n}",
	},
	"lines of Windows, with a mark": {
		"\ufeff{\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {}\r\n\t}\r\n}\r\n",
		"\ufeff{\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {},\r\n\t\t\"toolfold\": {\r\n\t\t\t\"command\": \"toolfold\",\r\n" +
			"\t\t\t\"args\": [\"serve\", \"--for=x\"],\r\n\t\t\t\"env\": {\r\n\t\t\t\t\"A\": \"1\"\r\n\t\t\t}\r\n\t\t}\r\n\t}\r\n}\r\n",
	},
	"empty list": {
		"{\n  \"mcpServers\": {},\n  \"a\": 1\n}",
		"{\n  \"mcpServers\": {\n    \"toolfold\": ENTRY2\n  },\n  \"a\": 1\n}",
	},
	"bracket behind the last": {
		"{\n  \"mcpServers\": {\n    \"x\": {} }}",
		"{\n  \"mcpServers\": {\n    \"x\": {},\n    \"toolfold\": ENTRY2\n  }}",
	},
}

const entry2 = `{
      "command": "toolfold",
      "args": ["serve", "--for=x"],
      "env": {
        "A": "1"
      }
    }`

// An added member follows the layout around it, and leaves no trace when it is removed.
func TestSetAndRemove(t *testing.T) {
	t.Parallel()
	for name, l := range layouts {
		before, want := []byte(l[0]), strings.ReplaceAll(l[1], "ENTRY2", entry2)
		got, err := Set(before, []byte(entry), "mcpServers", "toolfold")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if again, err := Set(got, []byte(entry), "mcpServers", "toolfold"); err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s: putting it twice: %v\n%s", name, err, again)
		}
		path := []string{"mcpServers", "toolfold"}
		if list, err := Get(before, "mcpServers"); err != nil || list == nil {
			path = path[:1]
		}
		without, err := Remove(got, path...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if name == "bracket behind the last" || name == "empty line" { // the layout does not show where the bracket was
			continue
		}
		if diff := cmp.Diff(l[0], string(without)); diff != "" {
			t.Errorf("%s, taken out (-want +got):\n%s", name, diff)
		}
	}
}

// A list item follows the layout of the items around it, and leaves no trace when it is removed.
func TestAppendAndDrop(t *testing.T) {
	t.Parallel()
	for name, l := range map[string][2]string{
		"compact":      {`{"l":[{"a":1}]}`, `{"l":[{"a":1},{"b":2}]}`},
		"one line":     {`{ "l": [1, 2] }`, `{ "l": [1, 2, {"b": 2}] }`},
		"empty":        {"{\n  \"l\": []\n}\n", "{\n  \"l\": [\n    {\n      \"b\": 2\n    }\n  ]\n}\n"},
		"spread":       {"{\n\t\"l\": [\n\t\t1\n\t]\n}\n", "{\n\t\"l\": [\n\t\t1,\n\t\t{\n\t\t\t\"b\": 2\n\t\t}\n\t]\n}\n"},
		"comments":     {"{\n  \"l\": [\n    1 // one\n  ]\n}", "{\n  \"l\": [\n    1, // one\n    {\n      \"b\": 2\n    }\n  ]\n}"},
		"lines apart":  {"{\"l\": [[\n1], \"]\"]}", "{\"l\": [[\n1], \"]\", {\"b\": 2}]}"},
		"commas after": {"{\n  \"l\": [\n    1,\n  ],\n}", "{\n  \"l\": [\n    1,\n    {\n      \"b\": 2\n    },\n  ],\n}"},
	} {
		got, err := Append([]byte(l[0]), []byte(`{"b":2}`), "l")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(l[1], string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		list, err := Get(got, "l")
		var items []json.RawMessage
		if err != nil || json.Unmarshal(list, &items) != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err = Drop(got, len(items)-1, "l"); err != nil || string(got) != l[0] {
			t.Errorf("%s, taken out: %v\n%s", name, err, got)
		}
	}
	got, err := Append([]byte(`{"a":1}`), []byte("1"), "b", "l")
	if want := `{"a":1,"b":{"l":[1]}}`; err != nil || string(got) != want {
		t.Errorf("a new list: %v\n%s", err, got)
	}
	if got, err = Drop([]byte(`{"l":[1,2,3]}`), 1, "l"); err != nil || string(got) != `{"l":[1,3]}` {
		t.Errorf("in the middle: %v\n%s", err, got)
	}
	for text, want := range map[string]string{
		`{"l":{}}`: "l: it is not a list", `{"l":[1]}`: "l: it has no item 1", `{}`: "l: it is not a list",
	} {
		if got, err := Drop([]byte(text), 1, "l"); err == nil || err.Error() != want {
			t.Errorf("%s: %v\n%s", text, err, got)
		}
	}
}

// A value is replaced in place, and other members stay unchanged.
func TestReplace(t *testing.T) {
	t.Parallel()
	text := "{\n  \"s\": {\n    \"command\": \"old\", // where it was\n    \"args\": [\n      \"a\",\n    ],\n    \"t\": 1e2\n  }\n}\n"
	got, err := Set([]byte(text), []byte(`["b","c"]`), "s", "args")
	if err == nil {
		got, err = Set(got, []byte(`"new"`), "s", "command")
	}
	want := "{\n  \"s\": {\n    \"command\": \"new\", // where it was\n    \"args\": [\"b\", \"c\"],\n    \"t\": 1e2\n  }\n}\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
	if got, err = Remove(got, "s", "args"); err != nil || string(got) != strings.Replace(want, "    \"args\": [\"b\", \"c\"],\n", "", 1) {
		t.Errorf("%v\n%s", err, got)
	}
}

// A text that cannot be edited safely is rejected, with the fault but no content of the text.
func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``: "it is not an object", `// mine`: "it is not an object", `[]`: "it is not an object", `{"s": []}`: "s: it is not an object",
		`{secret`:            "line 1, column 2: it is not JSON: invalid character 's' looking for beginning of object key string",
		`{"s": {}} {}`:       "something follows its last bracket",
		`{"s": {}, "s": {}}`: `it has "s" twice: take one out`, `{"s": {"k": 1, "k": 2}}`: `s: it has "k" twice: take one out`,
		"{\"\xff\": 1}":        "line 1, column 3: it is not JSON",
		`{"s": {} /* no end }`: "line 1, column 10: it is not JSON: invalid character '/' after object key:value pair",
	} {
		for what, edit := range map[string]func() ([]byte, error){
			"set":    func() ([]byte, error) { return Set([]byte(text), []byte("1"), "s", "k") },
			"remove": func() ([]byte, error) { return Remove([]byte(text), "s", "k") },
		} {
			if got, err := edit(); err == nil || err.Error() != want {
				t.Errorf("%s in %s: %v\n%s", what, text, err, got)
			}
		}
	}
}

// For any text, an edit is rejected, or changes only the named member and keeps every comment.
func FuzzEdit(f *testing.F) {
	for _, l := range layouts {
		f.Add(l[0], "a")
	}
	f.Add("{\"a\":/*x*/1,//y\n\"b\":{}}", "b")
	f.Fuzz(func(t *testing.T, text, key string) {
		with, err := Set([]byte(text), []byte(entry), "mcpServers", key)
		if err != nil || !utf8.ValidString(key) {
			return
		}
		value, err := Get(with, "mcpServers", key)
		if err != nil || !jsonx.Equal(value, []byte(entry)) {
			t.Fatalf("%v: it has %s in\n%s", err, value, with)
		}
		if had, _ := Get([]byte(text), "mcpServers", key); had != nil {
			return
		}
		rest := with
		for i := range len(text) {
			if text[i] == ' ' || text[i] == '\t' {
				continue // between the last value and the bracket
			}
			at := bytes.IndexByte(rest, text[i])
			if at < 0 {
				t.Fatalf("%q is lost:\n%s", text[i:], with)
			}
			rest = rest[at+1:]
		}
		without, err := Remove(with, "mcpServers", key)
		if err != nil {
			t.Fatalf("%v:\n%s", err, with)
		}
		if list, _ := Get([]byte(text), "mcpServers"); list == nil {
			if without, err = Remove(without, "mcpServers"); err != nil {
				t.Fatalf("%v:\n%s", err, with)
			}
		}
		if !jsonx.Equal(Plain([]byte(text)), Plain(without)) {
			t.Fatalf("%s\nbecame\n%s", text, without)
		}
	})
}
