package jsapi

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/text/estimate"
)

func TestSignature(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, call, input, output, want string }{
		{"github.list_issues", "github.list_issues",
			`{"type":"object","properties":{"owner":{"type":"string"},"state":{"enum":["open","closed"]},"repo":{"type":"string"}},
				"required":["owner","repo"]}`,
			`{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}},
				"required":["id"]}},"total":{"type":"integer"}},"required":["items","total"]}`,
			`github.list_issues(a: {owner: string, repo: string, state?: "open" | "closed"}): ` +
				`Promise<{items: {id: number}[], total: number}>`},
		{"a.b", "a.b", `{"type":"object","properties":{}}`, "", `a.b(): Promise<unknown>`},
		{"a.b", "a.b", `{"type":"object"}`, "{}", `a.b(): Promise<unknown>`},
		{"a.b", "a.b", `{"type":"object","properties":{"x":{"type":["string","null"]}}}`, `{"type":"array"}`,
			`a.b(a?: {x?: string | null}): Promise<unknown[]>`},
		{"my-server.do it", "", `{"type":"object","properties":{"a-b":{"const":"it's \"x\"\n"}},"required":["a-b"]}`, `true`,
			`tools.call(name: "my-server.do it", a: {"a-b": "it's \"x\"\n"}): Promise<unknown>`},
		{"a.b", "a.b", `{"type":"object","properties":{"x":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"integer"}]}},
			"y":{"type":"object","additionalProperties":{"type":"number"}},"z":{"type":"array","items":{"const":-1}}}}`, "",
			`a.b(a?: {x?: (string | number)[], y?: Record<string, number>, z?: (-1)[]}): Promise<unknown>`},
		{"a.b", "a.b", `{"type":"object","properties":{"x":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":
			{"next":{"$ref":"#/$defs/n"},"v":{"allOf":[{"properties":{"p":{"type":"string"}}},{"required":["p"]}]}}}}}`, "",
			`a.b(a?: {x?: {next?: object, v?: {p: string}}}): Promise<unknown>`},
		{"a.b", "a.b", `{"type":"object","properties":{"x":{"anyOf":[{"type":["string","number","boolean"]},{"type":"object"}]},
			"y":{"type":["string","number","boolean","object","array","null"]}}}`, "", `a.b(a?: {x?: unknown, y?: unknown}): Promise<unknown>`},
		{"a.b", "a.b", `{"type":"object","additionalProperties":{"type":"string"}}`, "", `a.b(a?: Record<string, string>): Promise<unknown>`},
	} {
		if got := Signature(c.name, c.call, json.RawMessage(c.input), json.RawMessage(c.output)); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.input, got, c.want)
		}
	}
}

// hostile are schemas that would make an endless, long or broken signature.
func hostile() (list []string) {
	values := make([]string, 1000)
	members := make([]string, 1000)
	for i := range values {
		values[i] = fmt.Sprintf(`"value %d"`, i)
		members[i] = fmt.Sprintf(`"member %d":{"type":"string","description":"*/ }`+`\n"}`, i)
	}
	many := `{` + strings.Join(members, ",") + `}`
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 200) + `{}` + strings.Repeat(`}}`, 200)
	lists := strings.Repeat(`{"type":"array","items":`, 200) + `{"enum":["a b"]}` + strings.Repeat(`}`, 200)
	wide := `{"$defs":{"a":{"anyOf":[{"type":"object","properties":{"x":{"$ref":"#/$defs/a"},"y":{"$ref":"#/$defs/a"}}},{"type":"null"}]}},
		"type":"object","properties":{"x":{"$ref":"#/$defs/a"},"y":{"$ref":"#/$defs/a"}}}`
	return []string{
		`{"type":"object","properties":{"x":{"enum":[` + strings.Join(values, ",") + `]}}}`,
		`{"type":"object","properties":` + many + `}`,
		`{"type":"object","properties":` + many + `,"required":["member 1","member 999"]}`,
		`{"type":"object","properties":{"x":` + deep + `}}`, `{"type":"object","properties":{"x":` + lists + `}}`, wide,
		`{"$ref":"#"}`, `{"type":"object","properties":{"x":{"$ref":"#/properties/x"}}}`,
		`{"type":"object","properties":{"x":{"enum":["*/","\"","\\","'","` + "`" + `","\n","\u2028","${x}","/*"]}}}`,
		`{"type":"object","properties":{"*/":{"const":"*/"},"\"":{},"\n":{},"\\":{},"__proto__":{"type":"x*/"},"a b":{"type":["string","}"]}}}`,
		`{"type":"object","properties":{"` + strings.Repeat("long", 10_000) + `":{}}}`,
		`{"type":"object","properties":{"x":{"const":"` + strings.Repeat("long", 10_000) + `"}}}`,
		`{"type":"object","properties":{"x":{"enum":[{},[],null,true,1e400,-1.5]}}}`,
		`{"type":"array"}`, `{"type":7,"properties":[],"required":{},"enum":{}}`, `true`, `false`, `null`, `[]`, `7`, ``, `{"anyOf":[]}`,
		`{"anyOf":[true,false,7,{"type":"string"}],"properties":7}`, `{"type":"object","properties":{"x":{"oneOf":[7]},"y":false}}`,
	}
}

// TestHostileSignatures reads each signature with a reader of the part of TypeScript that signatures use, and adds
// them to the file of TOOLFOLD_SIGNATURES, which the clients' tests read with TypeScript itself.
func TestHostileSignatures(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	if path := os.Getenv("TOOLFOLD_SIGNATURES"); path != "" {
		defer func() {
			file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if _, err := file.WriteString(all.String()); err != nil {
				t.Fatal(err)
			}
		}()
	}
	for _, in := range hostile() {
		for _, out := range hostile() {
			signature := Signature("a.b", "a.b", json.RawMessage(in), json.RawMessage(out))
			all.WriteString(signature + "\n")
			if rest, ok := strings.CutPrefix(signature, "a.b"); !ok || !reads(rest) || estimate.Tokens([]byte(signature)) > 350 {
				t.Errorf("%.200s\n%.200s\n%s", in, out, signature)
			}
		}
	}
}

func FuzzSignature(f *testing.F) {
	for _, schema := range hostile() {
		if len(schema) < 2000 {
			f.Add("a-b.c", schema, schema)
		}
	}
	f.Fuzz(func(t *testing.T, name, in, out string) {
		if !json.Valid([]byte(in)) || !json.Valid([]byte(out)) {
			t.Skip()
		}
		signature := Signature(name, "", json.RawMessage(in), json.RawMessage(out))
		if rest, ok := strings.CutPrefix(signature, "tools.call"); !ok || !reads(rest) {
			t.Errorf("%s", signature)
		}
	})
}

// reads reports whether a text is (a: type, …): type.
func reads(text string) bool {
	r := &reader{text: text}
	return r.members("(", ")") && r.takes(":") && r.union() && r.space() && r.text == ""
}

// reader reads a text from its beginning.
type reader struct{ text string }

// space removes blanks and comments.
func (r *reader) space() bool {
	for {
		r.text = strings.TrimLeft(r.text, " ")
		rest, is := strings.CutPrefix(r.text, "/*")
		if !is {
			return true
		}
		_, r.text, is = strings.Cut(rest, "*/")
		if !is {
			r.text = "/*"
			return false
		}
	}
}

func (r *reader) takes(token string) (ok bool) {
	r.space()
	r.text, ok = strings.CutPrefix(r.text, token)
	return ok
}

// members reads name: type, or name?: type, between two tokens.
func (r *reader) members(opening, closing string) bool {
	if !r.takes(opening) {
		return false
	}
	for !r.takes(closing) {
		if !r.literal() && r.word() == "" {
			return false
		}
		if r.takes("?"); !r.takes(":") || !r.union() {
			return false
		}
		if r.takes(","); r.text == "" {
			return false
		}
	}
	return true
}

// union reads a type.
func (r *reader) union() bool {
	for {
		switch {
		case r.takes("("):
			if !r.union() || !r.takes(")") {
				return false
			}
		case r.space() && strings.HasPrefix(r.text, "{"):
			if !r.members("{", "}") {
				return false
			}
		case r.literal():
		default:
			r.takes("-")
			word := r.word()
			if word == "" {
				return false
			}
			opening := map[string]string{"Record": "<string,", "Promise": "<"}[word]
			if opening != "" && !(r.takes(opening) && r.union() && r.takes(">")) {
				return false
			}
		}
		for r.takes("[]") {
		}
		if !r.takes("|") {
			return true
		}
	}
}

// word reads a name or a number.
func (r *reader) word() (word string) {
	r.space()
	end := strings.IndexFunc(r.text, func(c rune) bool {
		return !(c == '_' || c == '$' || c == '.' || c == '+' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
	})
	if end < 0 {
		end = len(r.text)
	}
	word, r.text = r.text[:end], r.text[end:]
	return word
}

// literal reads a text in quotes.
func (r *reader) literal() bool {
	if r.space(); !strings.HasPrefix(r.text, `"`) {
		return false
	}
	d := json.NewDecoder(strings.NewReader(r.text))
	var text string
	if d.Decode(&text) != nil {
		return false
	}
	r.text = r.text[d.InputOffset():]
	return true
}

func TestSpelling(t *testing.T) {
	t.Parallel()
	call := Spelling([]string{"memory.store", "my-server.list-things", "a-b.c", "a_b.c", "x-y.z", "x.y.z", "3d.render", "s.3d", "Map.get",
		"delete.all", "k.delete", "sleep.x", "toString.x", "tools.find", "tools.call", "plain", "eval", "a b", "input.x"})
	for name, want := range map[string]string{
		"memory.store": "memory.store", "my-server.list-things": "my_server.list_things", "a_b.c": "a_b.c", "a-b.c": "", "x-y.z": "x_y.z",
		"x.y.z": "x.y_z", "3d.render": "", "s.3d": "", "Map.get": "", "delete.all": "", "k.delete": "k.delete", "sleep.x": "", "toString.x": "",
		"tools.find": "tools.find", "tools.call": "", "plain": "plain", "eval": "", "a b": "a_b", "input.x": "", "none.such": "",
	} {
		if got := call(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
