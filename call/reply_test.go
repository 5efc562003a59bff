package call_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
)

// foreign returns a family of tools that return the given results and store their arguments.
func foreign(t *testing.T, server string, got *string, results map[string]string, schemas map[string]string) *toolfold.Family {
	t.Helper()
	f := toolfold.Family{Name: server, Summary: "S", Category: "c", Tier: toolfold.Extended, Apiece: true}
	for name, result := range results {
		schema := schemas[name]
		if schema == "" {
			schema = `{"type":"object"}`
		}
		a, err := toolfold.External{
			Name: name, Description: "D.", InputSchema: json.RawMessage(schema), Effect: toolfold.Sets, Lenient: true,
			Aliases: []string{server + "." + name + "-tool", name + "-tool"}, Definition: json.RawMessage(`{}`),
			Relay: func(_ context.Context, args json.RawMessage) (toolfold.Reply, error) {
				*got = string(args)
				return toolfold.Reply{Result: json.RawMessage(result)}, nil
			},
		}.Action()
		if err != nil {
			t.Fatal(err)
		}
		f.Actions = append(f.Actions, a)
	}
	mounted, err := toolfold.Mount(f, func(context.Context) (any, error) { return f, nil })
	if err == nil {
		err = mounted.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	return mounted
}

func runnerOf(families ...*toolfold.Family) *call.Runner {
	var entries []*entry.Entry
	for _, f := range families {
		entries = append(entries, consolidate.Entries(f, consolidate.ByFamily)...)
	}
	names := call.NewResolver(append(entries, call.FullNames(families)...))
	return call.New(func(*toolfold.Rights) *call.Resolver { return names }, nil)
}

// Results of another server are passed on unchanged. If fields are selected or a result is too
// long, it keeps its form and has a warning about the cut.
func TestReply(t *testing.T) {
	t.Parallel()
	image := `{"type":"image","data":"` + strings.Repeat("A", 3000) + `","mimeType":"image/png"}`
	long := strings.Repeat("word ", 600)
	var got string
	for _, test := range []struct{ name, result, fields, want string }{
		{
			"as it came", `{"content": [{"type":"text","text":"a\u003cb"}], "_meta":{"x":1.0},"structuredContent":{"n":1e2},"other":[1, 2]}`, ``,
			`{"content": [{"type":"text","text":"a\u003cb"}], "_meta":{"x":1.0},"structuredContent":{"n":1e2},"other":[1, 2]}`,
		},
		{"an image is not cut", `{"content":[` + image + `]}`, ``, `{"content":[` + image + `]}`},
		{"a field of JSON in text", `{"content":[{"type":"text","text":"{\"a\":1,\"b\":[1,2,3]}"}],"_meta":{"k":1}}`, `["b[1:]"]`,
			`{"content":[{"type":"text","text":"{\"b\":[2,3]}"}],"_meta":{"k":1}}`},
		{"a field of structured content", `{"content":[{"type":"text","text":"{\"a\":1,\"b\":2}"}],"structuredContent":{"b":2,"a":1}}`, `["a"]`,
			`{"content":[{"type":"text","text":"{\"a\":1}"}]}`},
		{"a part of a text", `{"content":[{"type":"text","text":"0123456789"},` + image + `]}`, `["text[3:5]"]`,
			`{"content":[{"type":"text","text":"34"},` + image + `]}`},
		{"one of several blocks", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, `["content[1:]"]`,
			`{"content":[{"type":"text","text":"b"}]}`},
		{"fields that are not there", `{"content":[{"type":"text","text":"{\"items\":[{\"id\":1},{\"id\":2,\"title\":\"t\"}],\"total\":2}"}]}`,
			`["items.nope","total","none"]`, `{"content":[{"type":"text","text":"{\"items\":[{},{}],\"total\":2}"},` +
				`{"type":"text","text":"{\"warnings\":[\"include_fields: nothing is at items.nope: items has id, title\",` +
				`\"include_fields: nothing is at none: the answer has items, total\"]}"}]}`},
		{"an error", `{"content":[{"type":"text","text":"no such repository"}],"isError":true}`, `["items"]`,
			`{"content":[{"type":"text","text":"no such repository"}],"isError":true}`},
	} {
		f := foreign(t, "srv", &got, map[string]string{"x": test.result}, nil)
		args := `{"action":"x"}`
		if test.fields != "" {
			args = `{"action":"x","include_fields":` + test.fields + `}`
		}
		answer := runnerOf(f).Bounded(call.Bound{Bytes: 2000}).Call(t.Context(), "srv", json.RawMessage(args))
		failed := strings.Contains(test.result, `"isError":true`)
		if diff := cmp.Diff(test.want, string(answer.Reply)); diff != "" || (answer.Err != nil) != failed {
			t.Errorf("%s: %v (-want +got):\n%s", test.name, answer.Err, diff)
		}
	}
	for name, result := range map[string]string{
		"text":       `{"content":[{"type":"text","text":"` + long + `"}]}`,
		"JSON":       `{"content":[{"type":"text","text":"{\"a\":\"` + long + `\"}"}],"isError":true}`,
		"list":       `{"content":[{"type":"text","text":"[\"` + long + `\"]"}]}`,
		"structured": `{"content":[{"type":"text","text":"{\"a\":\"` + long + `\"}"}],"structuredContent":{"a":"` + long + `"}}`,
		"blocks":     `{"content":[{"type":"text","text":"` + long + `"},{"type":"text","text":"` + long + `"}]}`,
	} {
		var whole json.RawMessage
		bound := call.Bound{Bytes: 2600, Keep: func(_ context.Context, answer json.RawMessage, _ bool) (id, usage string) {
			whole = answer
			return "1", "tools.rest 1"
		}}
		r := runnerOf(foreign(t, "srv", &got, map[string]string{"x": result}, nil)).Bounded(bound)
		answer := r.Call(t.Context(), "srv", json.RawMessage(`{"action":"x"}`))
		if answer.RestID != "1" {
			t.Errorf("%s: the answer is kept as %q", name, answer.RestID)
		}
		hasRest := strings.Contains(string(answer.Reply), "tools.rest 1 has it for a while")
		if len(answer.Reply) > 2700 || !hasRest || !strings.Contains(string(whole), long) {
			t.Errorf("%s is answered with %d bytes, of %d kept: %s", name, len(answer.Reply), len(whole), answer.Reply)
		}
		if name == "JSON" && (answer.Err == nil || !strings.Contains(string(answer.Reply), `"isError":true`)) {
			t.Errorf("%s is no failure: %s", name, answer.Reply)
		}
	}
}

// Arguments arrive as they were sent, whatever their names, and are rejected if the schema rejects
// them.
func TestForeignArguments(t *testing.T) {
	t.Parallel()
	var got string
	ok := `{"content":[]}`
	f := foreign(t, "srv", &got, map[string]string{"x": ok, "y": ok, "odd": ok}, map[string]string{
		"x": `{"type":"object","properties":{"action":{"type":"string"},"include_fields":{"type":"array"},"count":{"type":"integer"},` +
			`"gone":{"type":["string","null"]},"plain":{"type":"string"}},"required":["action"]}`,
		"y":   `{"type":"object","properties":{"sibling":{"type":"string"}}}`,
		"odd": `{"type":"nothing","properties":{"plain":{"type":"string"}}}`,
	})
	r := runnerOf(f)
	for _, test := range []struct{ tool, args, want, refused string }{
		{"srv", `{"action":"x","params":{"action":"close","count":1.0e1,"gone":null,"plain":null}}`,
			`{"action":"close","count":1.0e1,"gone":null}`, ""},
		{"srv.x-tool", `{"action":"close","include_fields":["a"],"unknown":{"b":1,  "a":2}}`,
			`{"action":"close","include_fields":["a"],"unknown":{"b":1,  "a":2}}`, ""},
		{"x-tool", `{"action":"close"}`, `{"action":"close"}`, ""},
		{"srv", `{"action":"x","params":{"plain":"a"}}`, "", "action is missing"},
		{"srv", `{"action":"x","params":{"action":"a","counts":2}}`, "", `did you mean "count"`},
		{"srv", `{"action":"x","params":{"action":"a","sibling":"s"}}`, "", `sibling`},
		{"srv", `{"action":"odd","params":{"plane":[1],"include":null}}`, `{"plane":[1],"include":null}`, ""},
		{"srv", `{"action":"y","params":{"sibling":"s"},"include_fields":[]}`, `{"sibling":"s"}`, ""},
	} {
		got = ""
		answer := r.Call(t.Context(), test.tool, json.RawMessage(test.args))
		switch {
		case test.refused != "" && (answer.Err == nil || !strings.Contains(answer.Err.Message, test.refused) || got != ""):
			t.Errorf("%s %s: %s", test.tool, test.args, answer.Content)
		case test.refused == "" && (answer.Err != nil || got != test.want):
			t.Errorf("%s %s arrives as %s: %s", test.tool, test.args, got, answer.Content)
		}
	}
}

// A name of tools of two servers is an error that names both tools.
func TestSharedName(t *testing.T) {
	t.Parallel()
	var got string
	ok := map[string]string{"x": `{"content":[]}`}
	z := map[string]string{"z": `{"content":[]}`}
	r := runnerOf(foreign(t, "one", &got, ok, nil), foreign(t, "two", &got, ok, nil), foreign(t, "three", &got, z, nil))
	answer := r.Call(t.Context(), "x-tool", nil)
	if answer.Err == nil || answer.Err.Message != `"x-tool" is a tool of several servers: call one.x-tool or two.x-tool` {
		t.Errorf("%s", answer.Content)
	}
	for _, name := range []string{"one.x-tool", "two.x", "two_x", "z-tool"} {
		if answer := r.Call(t.Context(), name, nil); answer.Err != nil {
			t.Errorf("%s: %s", name, answer.Content)
		}
	}
}

// Actions of other servers are verbs with objects. A verb alone, or an action after an almost
// correct tool name, leads to the right action.
func TestPartsOfNames(t *testing.T) {
	t.Parallel()
	var got string
	const path, content = `"path":{"type":"string"}`, `"content":{"type":"string"}`
	tools, schemas := map[string]string{}, map[string]string{
		"read_file":      `{"type":"object","required":["path"],"properties":{` + path + `}}`,
		"write_file":     `{"type":"object","required":["path","content"],"properties":{` + path + `,` + content + `}}`,
		"list_directory": `{"type":"object","required":["path"],"properties":{` + path + `}}`,
	}
	for name := range schemas {
		tools[name] = `{"content":[]}`
	}
	r := runnerOf(foreign(t, "files", &got, tools, schemas))
	for _, test := range []struct{ tool, args, want string }{
		{"files", `{"action":"write","params":{"path":"a","content":"b"}}`, "write_file"},
		{"files", `{"action":"list","params":{"path":"a"}}`, "list_directory"},
		{"files_write", `{"path":"a","content":"b"}`, "write_file"},
		{"files_read", `{"action":"list_directory","params":{"path":"a"}}`, "list_directory"},
	} {
		answer := r.Call(t.Context(), test.tool, json.RawMessage(test.args))
		if answer.Err == nil || !strings.HasPrefix(answer.Err.Usage, test.want+"(") {
			t.Errorf("%s %s is answered %s", test.tool, test.args, answer.Content)
		}
	}
	answer := r.Call(t.Context(), "files", json.RawMessage(`{"action":"delete","params":{"path":"a"}}`))
	if answer.Err == nil || answer.Err.Usage != "" {
		t.Errorf("what no tool does is answered %s", answer.Content)
	}
}
