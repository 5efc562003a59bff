package foreign_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/call/foreign"
)

func TestObject(t *testing.T) {
	t.Parallel()
	for why, test := range map[string]struct {
		method, in, want string
		dropped          []string
		err              error
	}{
		"a result of a tool stays": {
			"tools/call",
			`{"content":[{"type":"text","text":"a\u00e9\u003c\n"}],"structuredContent":{"n":1.50},"isError":false,"_meta":{"k":1e3}}`,
			`{"content":[{"type":"text","text":"a\u00e9\u003c\n"}],"structuredContent":{"n":1.50},"isError":false,"_meta":{"k":1e3}}`, nil, nil,
		},
		"lines become one": {"tools/call", "{\r\n  \"content\": [\n ]\n}\n", `{"content":[]}`, nil, nil},
		"nothing":          {"prompts/get", `{ }`, `{}`, nil, nil},
		"unknown members": {
			"tools/call", `{"taskId":"x","content":[],"status":"working","nextCursor":"c"}`, `{"content":[]}`,
			[]string{"taskId", "status", "nextCursor"}, nil,
		},
		"members of the connection": {
			"resources/read", `{"resultType":"complete","ttlMs":1,"cacheScope":"public","contents":[],` +
				`"_meta":{"io.modelcontextprotocol/serverInfo":{}}}`,
			`{"contents":[]}`, nil, nil,
		},
		"a task in place of a result": {"tools/call", `{"resultType":"task","content":[]}`, `{"content":[]}`, []string{"resultType"}, nil},
		"reserved names": {
			"tools/call", `{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"x"},"toolfold/deprecated":{},` +
				`"ui":{"resourceUri":"ui://a"},"io.modelcontextprotocol/ui":{},"com.example.mcp/x":1}}`,
			`{"_meta":{"ui":{"resourceUri":"ui://a"},"io.modelcontextprotocol/ui":{},"com.example.mcp/x":1}}`,
			[]string{`_meta["io.modelcontextprotocol/related-task"]`, `_meta["toolfold/deprecated"]`}, nil,
		},
		"an escaped name": {
			"tools/call", `{"content":[],"_meta":{"toolf\u006fld/structured":true},"st\u0061tus":1}`, `{"content":[]}`,
			[]string{`_meta["toolfold/structured"]`, "status"}, nil,
		},
		"a _meta of another type": {"tools/call", `{"content":[],"_meta":[1]}`, `{"content":[]}`, []string{"_meta"}, nil},
		"members that are repeated": {
			"tools/call", `{"content":[1,{"a":1,"b":{"a":2,"a":3},"a":4}],"_meta":{"k":1},"content":[2,{"a":1,"\u0061":5}],"_meta":{"k":2}}`,
			`{"content":[2,{"\u0061":5}],"_meta":{"k":2}}`, []string{"_meta (repeated 1×)", "a (repeated 3×)", "content (repeated 1×)"}, nil,
		},
		"what is not Unicode": {
			"tools/call", "{\"content\":[\"a\xff\xfeb\",\"\\ud83dx\",\"\\ud83d\\ude00\"],\"\xff\":1}",
			`{"content":["a` + "\ufffd\ufffd" + `b","` + "\ufffd" + `x","\ud83d\ude00"]}`, []string{"\ufffd"}, nil,
		},
		"a line separator": {"tools/call", "{\"content\":[\"\u2028\"]}", "{\"content\":[\"\u2028\"]}", nil, nil},
		"an entry of a list": {"", `{"name":"a", "more":1,"_meta":{"mcp.dev/x":1,"tools.mcp.com/x":1}}`, `{"name":"a","more":1}`,
			[]string{`_meta["mcp.dev/x"]`, `_meta["tools.mcp.com/x"]`}, nil},
		"a log message": {"notifications/message", `{"level":"info","data":{"x":1},"method":"y"}`, `{"level":"info","data":{"x":1}}`,
			[]string{"method"}, nil},
		"NaN":                   {"tools/call", `{"content":[NaN]}`, ``, nil, foreign.ErrNoJSON},
		"nothing at all":        {"tools/call", ` `, ``, nil, foreign.ErrNoJSON},
		"two values":            {"tools/call", `{"content":[]}{}`, ``, nil, foreign.ErrNoJSON},
		"two, the first broken": {"tools/call", "{\"content\":[\"\xff\"]}\n{}", ``, nil, foreign.ErrNoJSON},
		"a raw line break":      {"tools/call", "{\"content\":[\"a\nb\"]}", ``, nil, foreign.ErrNoJSON},
		"a list":                {"tools/call", `[]`, ``, nil, foreign.ErrNoObject},
		"null":                  {"tools/call", `null`, ``, nil, foreign.ErrNoObject},
		"too deep": {"tools/call", strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat(`}`, 20_000), ``,
			nil, foreign.ErrNoJSON},
	} {
		got, dropped, err := foreign.Object(test.method, []byte(test.in))
		if !errors.Is(err, test.err) || string(got) != test.want {
			t.Errorf("%s:\n%s %v, want\n%s %v", why, got, err, test.want, test.err)
		}
		if diff := cmp.Diff(test.dropped, dropped); diff != "" {
			t.Errorf("%s: dropped %s", why, diff)
		}
	}
}

// Rewriting takes time in proportion to the length of a value. No work is repeated per level or per
// duplicate member.
func BenchmarkObject(b *testing.B) {
	repeats := strings.Repeat(`"a":1,"b":[1,2,{"a":1}],`, 20_000)
	for name, raw := range map[string]string{
		"valid":    `{"content":[{"type":"text","text":"` + strings.Repeat("word ", 100_000) + `"}]}`,
		"repeated": `{"content":[],` + repeats + `"z":0}`,
		"deep":     strings.Repeat(`{"a":0,"a":`, 9_000) + `"` + strings.Repeat("x", 400_000) + `"` + strings.Repeat(`}`, 9_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, _, err := foreign.Object("tools/call", []byte(raw)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The result is one line of valid JSON without duplicates. Other readers read the same value from
// it, and a second conversion does not change it.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{
		"{\n\"content\":[\r\n]}", `{"content":[],"content":1,"_meta":{"a":1,"a":{"b":1,"b":2}}}`, "{\"a\":\"\xff\",\"\xfe\":1,\"\xfd\":2}",
		`{"content":[],"_meta":{"io.modelcontextprotocol/related-task":1,"k":1}}`, `{"a":"\ud800","b":"\udc00\ud800"}`,
		`{} {}`, `[{"a":NaN}]`, `{"a":1e999}`,
		"{\"structuredContent\":{\"a\":\n{\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}\n}}",
	} {
		f.Add("tools/call", []byte(seed))
		f.Add("", []byte(seed))
	}
	f.Fuzz(func(t *testing.T, method string, in []byte) {
		before := bytes.Clone(in)
		value, err := foreign.JSON(in)
		if !bytes.Equal(in, before) {
			t.Fatalf("%q was changed to %q", before, in)
		}
		if (err == nil) != json.Valid(in) {
			t.Fatalf("%q: %v", in, err)
		}
		if err == nil {
			check(t, in, value)
			if want, got := read(t, in), read(t, value); !cmp.Equal(want, got) {
				t.Fatalf("%q is %s, %s", in, value, cmp.Diff(want, got))
			}
		}
		object, dropped, err := foreign.Object(method, in)
		if err != nil {
			return
		}
		check(t, in, object)
		again, more, err := foreign.Object(method, object)
		if err != nil || string(again) != string(object) || more != nil {
			t.Fatalf("%q with %q left out is taken over as %s and then as %s with %q, %v", in, dropped, object, again, more, err)
		}
		var members struct {
			Meta map[string]any `json:"_meta"`
		}
		_ = json.Unmarshal(object, &members)
		for name := range members.Meta {
			if foreign.Reserved(name) {
				t.Errorf("%q keeps %s", in, name)
			}
		}
	})
}

func check(t *testing.T, in, value []byte) {
	t.Helper()
	if bytes.ContainsAny(value, "\n\r") || !utf8.Valid(value) || !jsontext.Value(value).IsValid() {
		t.Fatalf("%q is taken over as %q", in, value)
	}
}

// read reads a value like encoding/json: the last of duplicate members counts.
func read(t *testing.T, raw []byte) (v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}
