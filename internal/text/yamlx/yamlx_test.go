package yamlx_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/toolfold/toolfold/internal/text/yamlx"
)

// Each error has the line and column of the fault.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		// of the parser, which counts from 0
		"a: 1\nb: [x\n":            "line 2, column 4: did not find expected ',' or ']' while parsing a flow sequence",
		"a: [x\n":                  "line 1, column 4: did not find expected ',' or ']' while parsing a flow sequence",
		"a: 1\nb: [\"x\" \"y\"]\n": "line 2, column 9: did not find expected ',' or ']'",
		"a: {b: 1\n\nc: 2": "line 3, column 2: did not find expected ',' or '}' " +
			"while parsing a flow mapping that begins in line 1",
		"\n\na: [\n1,\n,2]\n": "line 5, column 1: did not find expected node content " +
			"while parsing a flow node that begins in line 3",
		"a: 1\nb: [\n": "line 2, column 4: did not find expected node content while parsing a flow node",
		"a: [\n1,\n,2]": "line 3, column 1: did not find expected node content " +
			"while parsing a flow node that begins in line 1",
		"a: 1\nb: [x\nc: 1\nd: 2\n": "line 3, column 2: did not find expected ',' or ']' " +
			"while parsing a flow sequence that begins in line 2",
		"a:\n  b: 1\n c: 2\n":                    "line 3, column 2: did not find expected key",
		"a: 1\n- b\n":                            "line 2, column 1: did not find expected key",
		"- a\nb: 1\n":                            "line 2, column 1: did not find expected '-' indicator",
		"a: 1\nb: !x!y z\n":                      "line 2, column 4: found undefined tag handle",
		"---\na: 1\n...\n%YAML 1.1\n%YAML 1.1\n": "line 5, column 1: found duplicate %YAML directive",
		// of the scanner, which counts from 1
		"a: 1\n\nb:\n\t- x\n":                 "line 4, column 1: found character that cannot start any token: a tab; indent by spaces",
		"a: 1\nb: @x\n":                       "line 2, column 4: found character that cannot start any token: '@'; put the text in quotes",
		"ä: ü\nböse: `x`\n":                   "line 2, column 7: found character that cannot start any token: '`'; put the text in quotes",
		"a: b: c\n":                           "line 1, column 5: mapping values are not allowed in this context",
		"a: 1\nb: c: d\n":                     "line 2, column 5: mapping values are not allowed in this context",
		"a: \"x\nb: y\n":                      "line 1, column 4: found unexpected end of stream while scanning a quoted scalar",
		"a: 1\nb: \"\\q\"\n":                  "line 2, column 5: found unknown escape character",
		"a: 1\nb\nc: 2\n":                     "line 2, column 1: could not find expected ':' while scanning a simple key",
		"a: *\n":                              "line 1, column 5: did not find expected alphabetic or numeric character",
		strings.Repeat("x: y\n", 200) + "\tz": "line 201, column 1: found a tab character that violates indentation",
		// of neither
		"a: 1\nb: *x\n":    "line 2, column 4: unknown anchor 'x' referenced",
		"a: 1\nb: ü\x01\n": "line 2, column 5: control characters are not allowed",
		"\x01":             "line 1, column 1: control characters are not allowed",
	} {
		roots, err := yamlx.Read([]byte(text))
		var at *yamlx.Error
		if !errors.As(err, &at) || err.Error() != want {
			t.Errorf("%.40q: %v (%d documents), want %s", text, err, len(roots), want)
		}
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                      nil,
		"# nothing\n":           nil,
		"a: 1":                  {`{"a":1}`},
		"---\n---\na: 1\n...\n": {`null`, `{"a":1}`},
		"\ufeffa: 1\n":          {`{"a":1}`},
	} {
		roots, err := yamlx.Read([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		var got []string
		for _, root := range roots {
			got = append(got, string(back(t, root)))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: 1":             "",
		"a: 1\nb: 2\nc: 3": "line 2: b is unknown; line 3: c is unknown",
		"a: x":             "line 1: cannot unmarshal !!str `x` into int",
		"":                 "it is empty",
		"a: [":             "line 1, column 4: did not find expected node content while parsing a flow node",
	} {
		var into struct{ A int }
		got := ""
		if err := yamlx.Decode([]byte(text), &into); err != nil {
			got = err.Error()
		}
		if got != want || got == "" && into.A != 1 {
			t.Errorf("%q: %d, %s, want %s", text, into.A, got, want)
		}
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	const in = `{"a":"x","b":"two\nlines\n","c":["x",{"k":1,"l":[]},[1,[2,"a\nb"]]],"d":"3 tools","e":"2026-01-01","on":"yes",
"g":"a: b","h":"# x","i":"--output","j":"it's","k":"12","l":"","m":null,"n":{},"o":true,"p":"no trailing\nnewline","q":" lead",
"r":"\ttab\nx","s":"ä ü 🎉","t":"a\n\nb\n  c\n\n","u":1.0,"12":{"a b":{"x y":"10:30"}},"v":"a\r\nb","w":"\u2028\u0085"}`
	const want = `a: x
b: |
  two
  lines
c:
- x
- k: 1
  l: []
- - 1
  - - 2
    - |-
      a
      b
d: 3 tools
e: "2026-01-01"
"on": "yes"
g: "a: b"
h: "# x"
i: --output
j: it's
k: "12"
l: ""
m: null
"n": {}
o: true
p: |-
  no trailing
  newline
q: " lead"
r: "\ttab\nx"
s: ä ü 🎉
t: |+
  a

  b
    c

u: 1.0
"12":
  a b:
    x y: "10:30"
v: "a\r\nb"
w: "\u2028\u0085"
`
	if diff := cmp.Diff(want, string(yamlx.FromJSON([]byte(in)))); diff != "" {
		t.Error(diff)
	}
	const quoted = "a: \"x\"\nb:\n  - \"1\"\n  - c: 2\n    \"on\": []\n  - - true\n"
	if diff := cmp.Diff(quoted, string(yamlx.Quoted([]byte(`{"a":"x","b":["1",{"c":2,"on":[]},[true]]}`)))); diff != "" {
		t.Error(diff)
	}
}

// back converts a node to JSON with sorted members.
func back(t *testing.T, n *yaml.Node) []byte {
	t.Helper()
	raw, err := json.Marshal(value(t, n))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func value(t *testing.T, n *yaml.Node) any {
	t.Helper()
	switch n.Kind {
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, value(t, item))
		}
		return list
	case yaml.MappingNode:
		object := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			if key := n.Content[i]; key.ShortTag() != "!!str" {
				t.Fatalf("key %q is read as %s", key.Value, key.ShortTag())
			}
			object[n.Content[i].Value] = value(t, n.Content[i+1])
		}
		return object
	}
	v, err := yamlx.Scalar(n)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// JSON values survive YAML in both forms.
func FuzzRoundTrip(f *testing.F) {
	for _, text := range []string{
		"x", "a\nb", "\ta", " a\n", "\n", "a\n\n", "- x", "a: b", "a #b", "#", "---", "...", "---\nx", "yes", "1.0", "0x1",
		"1_000", "~", "<<", "=", "!x", "&a", "*a", "%a", "@", "`", "|", ">", "'", `"`, `\`, "a\tb", "\r", "\u0085", "\u2028", "\ufeff", "\x7f",
		"\ufffe", "2026-01-01", "10:30", "a:", ":a", "?", "? a", "-", "--", "\u00a0", "a \nb", "a\n b", "a\n#b", "a\n---\nb", "🎉",
		"\U0001fffe", strings.Repeat("k", 1030), strings.Repeat("k ", 600), "null", "\x00",
		"1e400", ".inf", ".nan", "+1", "a\n\t\nb", "a\n \nb", "[", "{", ",",
	} {
		f.Add(text, text, "1")
	}
	for _, number := range []string{
		"0", "-0", "1.50", "1e5", "1E+5", "1e400", "18446744073709551616", "0.1e-7", `[[],{},[[1]]]`, "null", "true",
	} {
		f.Add("a", "b", number)
	}
	f.Fuzz(func(t *testing.T, key, text, other string) {
		var rest json.RawMessage
		if json.Unmarshal([]byte(other), &rest) != nil || len(other) > 2000 {
			rest = json.RawMessage("1")
		}
		in := map[string]any{"t": text, key: []any{text, []any{text, []any{key}}, map[string]any{key: text, "z": rest}}, "r": rest}
		for _, in := range []any{in, []any{in, text}, text, rest} {
			raw, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			var want any
			decoder := json.NewDecoder(bytes.NewReader(raw))
			decoder.UseNumber()
			if err := decoder.Decode(&want); err != nil {
				t.Fatal(err)
			}
			wantJSON, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			for form, write := range map[string]func([]byte) []byte{"plain": yamlx.FromJSON, "quoted": yamlx.Quoted} {
				out := write(raw)
				roots, err := yamlx.Read(out)
				if err != nil || len(roots) != 1 {
					t.Fatalf("%s: %v\n%s", form, err, out)
				}
				if got := back(t, roots[0]); !bytes.Equal(got, wantJSON) {
					t.Fatalf("%s: %s, want %s\n%s", form, got, wantJSON, fmt.Sprintf("%q", out))
				}
			}
		}
	})
}

// Read returns for any text, with documents or a positioned error.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"a: 1", "a: [", "a: &b *b", "? x\n: y", "a: |\n x", "{", "- -", "a: !!x y", "a:\n- b:\n  - c", "# x\n- # y\n", "%YAML 1.1\n---",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := yamlx.Read(text)
		var at *yamlx.Error
		lines := 1
		for _, end := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
			lines += bytes.Count(text, []byte(end))
		}
		if err != nil && (!errors.As(err, &at) || at.Line < 1 || at.Line > lines+1 || at.Column < 1 || at.Reason == "") {
			t.Errorf("%v", err)
		}
	})
}
