package call_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/test/notetest"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// runner serves the note family.
func runner(t *testing.T) *call.Runner {
	t.Helper()
	return toolfoldtest.Runner(toolfoldtest.Mount(t, notetest.Family, &notetest.Service{}))
}

// answer calls and returns the content as text.
func answer(t *testing.T, r *call.Runner, name, args string) (content string, failed bool) {
	t.Helper()
	a := r.Call(t.Context(), name, json.RawMessage(args))
	return string(a.Content), a.IsError()
}

// The unusual calls that are accepted, and their answers.
func TestNormalise(t *testing.T) {
	t.Parallel()
	c := runner(t)
	for _, test := range []struct{ why, name, args, want string }{
		{"plain", "note", `{"action":"save","text":"hi"}`, `{"meta":null,"text":"hi","tags":null,"owner":null}`},
		{"full name", "note.save", `{"text":"hi"}`, `{"meta":null,"text":"hi","tags":null,"owner":null}`},
		{"underscored name", "note_save", `{"text":"hi"}`, `{"meta":null,"text":"hi","tags":null,"owner":null}`},
		{"legacy name and spelling", "save_note", `{"body":"hi"}`, `{"meta":null,"text":"hi","tags":null,"owner":null}`},
		{"null is absent", "note", `{"action":"save","text":"hi","tags":null,"limit":null,"include_fields":null}`,
			`{"meta":null,"text":"hi","tags":null,"owner":null}`},
		{"no arguments", "list_notes", ``, `{"notes":[{"id":"1","text":"one","meta":{"a":{"b":1},"c":2}},{"id":"2","text":"two",` +
			`"meta":{}}],"count":10}`},
		{"one for many", "note", `{"action":"save","text":"hi","tags":"ops"}`, `{"meta":null,"text":"hi","tags":["ops"],"owner":null}`},
		{"list as text", "note", `{"action":"save","text":"hi","tags":"[\"a\",\"b\"]"}`,
			`{"meta":null,"text":"hi","tags":["a","b"],"owner":null}`},
		{"numeral", "note", `{"action":"list","limit":"7","include_fields":["count"]}`, `{"count":7}`},
		{"whole number with a point", "note", `{"action":"list","limit":7.0,"include_fields":["count"]}`, `{"count":7}`},
		{"boolean as text", "note", `{"action":"save","text":"hi","pinned":"true","include_fields":["text"]}`, `{"text":"hi"}`},
		{"object as text", "note", `{"action":"save","text":"hi","owner":"{\"name\":\"Ada\"}","include_fields":["owner"]}`,
			`{"owner":{"name":"Ada","age":1}}`},
		{"numeral where text is due stays text", "note", `{"action":"save","text":"42","include_fields":["text"]}`, `{"text":"42"}`},
		{"numbers digit by digit", "note", `{"action":"save","text":"hi","meta":{"n":9007199254740993,"f":1.10},"include_fields":["meta"]}`,
			`{"meta":{"n":9007199254740993,"f":1.10}}`},
		{"stray in a read", "note", `{"action":"list","text":"x","include_fields":["count"]}`,
			`{"count":10,"warnings":["note.list has no parameter \"text\": ignored (it belongs to save)"]}`},
		{"unknown under a legacy name", "list_notes", `{"zzz":1,"include_fields":["count"]}`,
			`{"count":10,"warnings":["list_notes has no parameter \"zzz\": ignored"]}`},
		{"unknown member under a legacy name", "save_note", `{"body":"hi","owner":{"name":"Ada","x":1},"include_fields":["owner"]}`,
			`{"owner":{"name":"Ada","age":1},"warnings":["save_note has no parameter \"owner/x\": ignored"]}`},
		{"fields through lists", "note", `{"action":"list","include_fields":["notes.id","count"]}`,
			`{"notes":[{"id":"1"},{"id":"2"}],"count":10}`},
		{"fields into open objects", "note", `{"action":"list","include_fields":["notes.meta.a.b"]}`,
			`{"notes":[{"meta":{"a":{"b":1}}},{"meta":{}}]}`},
		{"field and its part", "note", `{"action":"list","include_fields":["notes.meta","notes.meta.c"]}`,
			`{"notes":[{"meta":{"a":{"b":1},"c":2}},{"meta":{}}]}`},
		{"one field as text", "note", `{"action":"list","include_fields":"count"}`, `{"count":10}`},
		{"params as an object", "note", `{"action":"save","params":{"text":"hi","meta":{"b":1,"a":2},"include_fields":["meta","text"]}}`,
			`{"meta":{"b":1,"a":2},"text":"hi"}`},
		{"params as text", "note", `{"action":"save","params":"{\"text\":\"hi\",\"meta\":{\"n\":1.10}}","include_fields":["meta","text"]}`,
			`{"meta":{"n":1.10},"text":"hi"}`},
		{"params and flat", "note", `{"action":"save","text":"hi","params":{"tags":["a"]},"include_fields":["text","tags"]}`,
			`{"text":"hi","tags":["a"]}`},
		{"params that say the same", "note", `{"action":"save","text":"hi","params":{"text":"hi","action":"save"},"include_fields":["text"]}`,
			`{"text":"hi"}`},
		{"null beside params", "note", `{"action":"save","text":null,"params":{"text":"hi"},"include_fields":["text"]}`, `{"text":"hi"}`},
		{"null in params", "note", `{"action":"save","text":"hi","params":{"text":null},"include_fields":["text"]}`, `{"text":"hi"}`},
		{"the action in params", "note", `{"params":{"action":"save","text":"hi","include_fields":["text"]}}`, `{"text":"hi"}`},
		{"params null", "note", `{"action":"list","params":null,"include_fields":["count"]}`, `{"count":10}`},
		{"params empty text", "note", `{"action":"list","params":"","include_fields":["count"]}`, `{"count":10}`},
		{"params empty object as text", "note", `{"action":"list","params":" {} ","include_fields":["count"]}`, `{"count":10}`},
		{"params empty", "note", `{"action":"list","params":{},"include_fields":["count"]}`, `{"count":10}`},
		{"params under a full name", "note.save", `{"params":{"text":"hi"},"include_fields":["text"]}`, `{"text":"hi"}`},
		{"params under a legacy name", "save_note", `{"params":{"body":"hi"},"include_fields":["text"]}`, `{"text":"hi"}`},
		{"null for fields in params", "note", `{"action":"list","params":{"include_fields":null,"limit":3},"include_fields":["count"]}`,
			`{"count":3}`},
		{"fields as JSON text", "note", `{"action":"save","text":"hi","include_fields":"[\"text\"]"}`, `{"text":"hi"}`},
		{"fields as JSON text in params", "note", `{"action":"save","params":{"text":"hi","include_fields":"[\"text\"]"}}`, `{"text":"hi"}`},
		{"what hosts add", "note", `{"action":"save","text":"hi","wait_for_previous":true,"toolCallId":"x","include_fields":["text"]}`,
			`{"text":"hi"}`},
		{"what hosts add in params", "note", `{"action":"save","params":{"text":"hi","wait_for_previous":false},"include_fields":["text"]}`,
			`{"text":"hi"}`},
		{"sibling's parameter, null", "note", `{"action":"save","text":"hi","limit":null,"include_fields":["text"]}`, `{"text":"hi"}`},
		{"every parameter, the strange ones say nothing", "note",
			`{"action":"save","text":"hi","tags":null,"priority":null,"pinned":null,"owner":null,"meta":null,"limit":10,"id":"",` +
				`"include_fields":["text"]}`,
			`{"text":"hi"}`},
		{"sibling's parameter in a read, empty", "note", `{"action":"list","text":"","include_fields":["count"]}`,
			`{"count":10,"warnings":["note.list has no parameter \"text\": ignored (it belongs to save)"]}`},
		{"misspelt under a legacy name", "list_notes", `{"limmit":1,"include_fields":["count"]}`,
			`{"count":10,"warnings":["list_notes has no parameter \"limmit\": ignored, did you mean \"limit\"?"]}`},
		{"unknown in a read", "note", `{"action":"list","zzz":1,"include_fields":["count"]}`,
			`{"count":10,"warnings":["note.list has no parameter \"zzz\": ignored"]}`},
		{"no fields are all", "note", `{"action":"save","text":"hi","include_fields":[]}`, `{"meta":null,"text":"hi","tags":null,"owner":null}`},
	} {
		t.Run(test.why, func(t *testing.T) {
			t.Parallel()
			got, failed := answer(t, c, test.name, test.args)
			if failed {
				t.Fatalf("%s %s failed: %s", test.name, test.args, got)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", test.name, test.args, diff)
			}
		})
	}
}

// A wrong call gets an error with all problems and their correction.
func TestErrors(t *testing.T) {
	t.Parallel()
	const usage = `"usage":"save(text: string, tags?: string[], priority?: high|medium|low, pinned?: boolean, owner?: object, meta?: object)"`
	const example = `"example":{"action":"save","text":"Freeze on Friday","tags":["ops"],"priority":"high","owner":{"name":"Ada"}}`
	c := runner(t)
	for _, test := range []struct{ why, name, args, want string }{
		{"missing and misspelt", "note", `{"action":"save","txet":"hi"}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.save: \"txet\" is unknown, did you mean \"text\"?; text is missing",` +
				`"problems":[{"path":"/txet","kind":"unknown","suggest":"text"},{"path":"/text","kind":"missing"}],` + usage + `,` + example + `}}`},
		{"type", "note", `{"action":"save","text":7}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.save: text must be string, got number",` +
				`"problems":[{"path":"/text","kind":"type","want":"string","got":"number"}],` + usage + `,` + example + `}}`},
		{"enum", "note", `{"action":"save","text":"hi","priority":"hihg"}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.save: priority must be one of its allowed values, got \"hihg\",` +
				` did you mean \"high\"?","problems":[{"path":"/priority","kind":"enum","got":"hihg","allowed":["high","medium","low"],` +
				`"suggest":"high"}],` + usage + `,` + example + `}}`},
		{"range", "note", `{"action":"list","limit":1000}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.list: limit must be 1 to 100, got 1000",` +
				`"problems":[{"path":"/limit","kind":"range","got":1000,"min":1,"max":100}],` +
				`"usage":"list(limit?: integer, priority?: (high|medium|low)[])","example":{"action":"list","limit":5,"priority":["high","low"]}}}`},
		{"length", "note", `{"action":"save","text":"` + strings.Repeat("x", 21) + `"}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.save: text must be 1 to 20 long, got 21",` +
				`"problems":[{"path":"/text","kind":"length","got":21,"min":1,"max":20}],` + usage + `,` + example + `}}`},
		{"nested", "note", `{"action":"save","text":"hi","owner":{"nmae":"Ada"}}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.save: owner/name is missing; \"owner/nmae\" is unknown, did you mean \"name\"?",` +
				`"problems":[{"path":"/owner/name","kind":"missing"},{"path":"/owner/nmae","kind":"unknown","suggest":"name"}],` + usage + `,` +
				example + `}}`},
		{"stray in a write", "note", `{"action":"save","text":"hi","limit":3}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.save: limit belongs to list",` +
				`"problems":[{"path":"/limit","kind":"stray","belongs_to":["list"]}],` + usage + `,` + example + `}}`},
		{"a stray that says nothing, in a write", "note", `{"action":"save","text":"hi","limit":0}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.save: limit belongs to list",` +
				`"problems":[{"path":"/limit","kind":"stray","belongs_to":["list"]}],` + usage + `,` + example + `}}`},
		{"every parameter, a strange one says something", "note",
			`{"action":"save","text":"hi","tags":null,"priority":null,"pinned":null,"owner":null,"meta":null,"limit":3,"id":""}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.save: limit belongs to list",` +
				`"problems":[{"path":"/limit","kind":"stray","belongs_to":["list"]}],` + usage + `,` + example + `}}`},
		{"misspelt under a legacy name, refused", "save_note", `{"bodey":"hi"}`,
			`{"error":{"code":"INVALID_INPUT","message":"save_note: body is missing; \"bodey\" is unknown, did you mean \"body\"?",` +
				`"problems":[{"path":"/body","kind":"missing"},{"path":"/bodey","kind":"unknown","suggest":"body"}],` +
				`"usage":"save_note(body: string, tags?: string[], priority?: high|medium|low, pinned?: boolean, owner?: object, meta?: object)",` +
				`"example":{"body":"Freeze on Friday","tags":["ops"],"priority":"high","owner":{"name":"Ada"}}}}`},
		{"given twice", "note", `{"action":"save","text":"hi","params":{"text":"ho"}}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.save: params/text is also given beside params, with another value",` +
				`"problems":[{"path":"/params/text","kind":"twice"}],` + usage + `,` + example + `}}`},
		{"the action twice", "note", `{"action":"list","params":{"action":"save"}}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.list: params/action is also given beside params, with another value",` +
				`"problems":[{"path":"/params/action","kind":"twice"}],` +
				`"usage":"list(limit?: integer, priority?: (high|medium|low)[])","example":{"action":"list","limit":5,"priority":["high","low"]}}}`},
		{"params that are a list", "note", `{"action":"list","params":[1]}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.list: params must be object, got array",` +
				`"problems":[{"path":"/params","kind":"type","want":"object","got":"array"}],` +
				`"usage":"list(limit?: integer, priority?: (high|medium|low)[])","example":{"action":"list","limit":5,"priority":["high","low"]}}}`},
		{"params that break off", "note", `{"action":"list","params":"{\"limit\":"}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.list: params must be object, got text: arguments are not valid JSON after ` +
				`byte 9: unexpected EOF","problems":[{"path":"/params","kind":"type","want":"object","got":"text: arguments are not valid JSON ` +
				`after byte 9: unexpected EOF"}],"usage":"list(limit?: integer, priority?: (high|medium|low)[])","example":{"action":"list",` +
				`"limit":5,"priority":["high","low"]}}}`},
		{"wrong in params", "note", `{"action":"save","params":{"text":7}}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.save: params/text must be string, got number",` +
				`"problems":[{"path":"/params/text","kind":"type","want":"string","got":"number"}],` + usage + `,` + example + `}}`},
		{"unknown near a parameter in a read", "note", `{"action":"list","limmit":3}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.list: \"limmit\" is unknown, did you mean \"limit\"?",` +
				`"problems":[{"path":"/limmit","kind":"unknown","suggest":"limit"}],` +
				`"usage":"list(limit?: integer, priority?: (high|medium|low)[])","example":{"action":"list","limit":5,"priority":["high","low"]}}}`},
		{"unknown in a write", "note", `{"action":"save","text":"hi","zzz":1}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.save: \"zzz\" is unknown",` +
				`"problems":[{"path":"/zzz","kind":"unknown"}],` + usage + `,` + example + `}}`},
		{"only the action came", "note", `{"action":"save"}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.save: text is missing","hint":"if you sent more,` +
				` your host dropped it: put it into params","problems":[{"path":"/text","kind":"missing"}],` + usage + `,` + example + `}}`},
		{"params came empty", "note", `{"action":"save","params":{}}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.save: text is missing","hint":"if you sent more,` +
				` your host emptied params: send it as JSON text","problems":[{"path":"/text","kind":"missing"}],` + usage + `,` + example + `}}`},
		{"format", "note", `{"action":"get","id":"x"}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.get: id must be a uuid",` +
				`"problems":[{"path":"/id","kind":"format","want":"uuid","got":"x"}],` +
				`"usage":"get(id: uuid)","example":{"action":"get","id":"7f0c2a34-0000-4000-8000-000000000001"}}}`},
		{"field", "note", `{"action":"get","id":"7f0c2a34-0000-4000-8000-000000000001","include_fields":["txt"]}`,
			`{"error":{"code":"INVALID_INPUT","message":"note.get: include_fields/0 must be one of its allowed values, got \"txt\",` +
				` did you mean \"text\"?","problems":[{"path":"/include_fields/0","kind":"enum","got":"txt","allowed":["id","text",` +
				`"meta"],"suggest":"text"}],"usage":"get(id: uuid)","example":{"action":"get","id":"7f0c2a34-0000-4000-8000-000000000001"}}}`},
		{"legacy spelling in the error", "save_note", `{}`,
			`{"error":{"code":"INVALID_INPUT","message":"save_note: body is missing","problems":[{"path":"/body","kind":"missing"}],` +
				`"usage":"save_note(body: string, tags?: string[], priority?: high|medium|low, pinned?: boolean, owner?: object, meta?: object)",` +
				`"example":{"body":"Freeze on Friday","tags":["ops"],"priority":"high","owner":{"name":"Ada"}}}}`},
		{"a code of the family", "note", `{"action":"get","id":"7f0c2a34-0000-4000-8000-000000000001"}`,
			`{"error":{"code":"NOTE_NOT_FOUND","message":"there is no note 7f0c2a34-0000-4000-8000-000000000001","hint":"list shows the notes"}}`},
		{"no action", "note", `{"text":"hi"}`,
			`{"error":{"code":"INVALID_ACTION","message":"note: action is missing",` +
				`"problems":[{"path":"/action","kind":"missing","allowed":["save","list","get"],"suggest":"save"}],` + usage + `,` + example + `}}`},
		{"misspelt action", "note", `{"action":"svae"}`,
			`{"error":{"code":"INVALID_ACTION","message":"note: action must be one of its allowed values, got \"svae\", did you mean \"save\"?",` +
				`"problems":[{"path":"/action","kind":"enum","got":"svae","allowed":["save","list","get"],"suggest":"save"}],` + usage + `,` +
				example + `}}`},
		{"near-miss tool", "list_notse", `{}`,
			`{"error":{"code":"UNKNOWN_TOOL","message":"there is no tool \"list_notse\", did you mean \"list_notes\"?",` +
				`"usage":"list_notes(limit?: integer, priority?: (high|medium|low)[])","example":{"limit":5,"priority":["high","low"]}}}`},
		{"unknown tool", "weather", `{}`,
			`{"error":{"code":"UNKNOWN_TOOL","message":"there is no tool \"weather\"","hint":"call one of the listed tools"}}`},
		{"a member twice", "note", `{"action":"get","id":"a","id":"b"}`,
			`{"error":{"code":"INVALID_INPUT","message":"/id is given twice","hint":"give each member once"}}`},
		{"text that is not UTF-8", "note", "{\"action\":\"save\",\"text\":\"a\xff\"}",
			`{"error":{"code":"INVALID_INPUT","message":"text is not UTF-8 after byte 26","hint":"send text in UTF-8, other bytes as base64",` +
				`"problems":[{"path":"/text","kind":"format","want":"text in UTF-8"}]}}`},
		{"half of a surrogate pair", "note", `{"action":"save","meta":{"a":["\ud800b"]}}`,
			`{"error":{"code":"INVALID_INPUT","message":"meta/a/0 is not UTF-8 after byte 31","hint":"send text in UTF-8, other bytes as base64",` +
				`"problems":[{"path":"/meta/a/0","kind":"format","want":"text in UTF-8"}]}}`},
		{"a name that is not UTF-8", "note", "{\"action\":\"save\",\"te\xff\":1}",
			`{"error":{"code":"INVALID_INPUT","message":"a name is not UTF-8 after byte 20","hint":"send text in UTF-8, other bytes as base64",` +
				`"problems":[{"path":"","kind":"format","want":"text in UTF-8"}]}}`},
		{"more arguments than any action has", "note", `{"action":"list"` + manyMembers(1001) + `}`,
			`{"error":{"code":"INVALID_INPUT","message":"there are more than 1000 arguments"}}`},
		{"too many values", "note", `{"action":"save","text":"hi","meta":{"a":[1` + strings.Repeat(",1", 100_000) + `]}}`,
			`{"error":{"code":"INVALID_INPUT","message":"the arguments hold more than 100000 values","hint":"send them in several calls"}}`},
		{"too deep", "note", `{"action":"save","text":"hi","meta":` + strings.Repeat(`{"a":`, 300) + `1` + strings.Repeat("}", 300) + `}`,
			`{"error":{"code":"INVALID_INPUT","message":"arguments nest deeper than 200 levels"}}`},
		{"arguments that are no object", "note", `[1]`,
			`{"error":{"code":"INVALID_INPUT","message":"arguments must be a JSON object, got array",` +
				`"hint":"send an object such as {\"action\":\"list\"}"}}`},
	} {
		t.Run(test.why, func(t *testing.T) {
			t.Parallel()
			got, failed := answer(t, c, test.name, test.args)
			if !failed {
				t.Fatalf("%s %s did not fail: %s", test.name, test.args, got)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", test.name, test.args, diff)
			}
		})
	}
}

// manyMembers returns n more members of an object.
func manyMembers(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, `,"m%d":1`, i)
	}
	return s.String()
}

// Internal errors do not reveal their cause to callers.
func TestInternalErrors(t *testing.T) {
	t.Parallel()
	c := runner(t)
	for _, text := range []string{"boom", "disk"} {
		got, failed := answer(t, c, "note.save", `{"text":"`+text+`"}`)
		if !failed || !strings.Contains(got, "INTERNAL_ERROR") {
			t.Errorf("%s answered %s", text, got)
		}
		for _, secret := range []string{"boom", "/dev", "goroutine", ".go"} {
			if strings.Contains(got, secret) {
				t.Errorf("%s shows %q: %s", text, secret, got)
			}
		}
	}
}

// An answer to a legacy name has the current name.
func TestDeprecation(t *testing.T) {
	t.Parallel()
	c := runner(t)
	for name, want := range map[string]string{"list_notes": "note list", "note": "", "note.list": ""} {
		args := `{}`
		if name == "note" {
			args = `{"action":"list"}`
		}
		got := ""
		if d := c.Call(t.Context(), name, []byte(args)).Deprecated; d != nil {
			got = d.Tool + " " + d.Action
		}
		if got != want {
			t.Errorf("%s: deprecated in favour of %q, want %q", name, got, want)
		}
	}
}

// Middleware sees every call, the first middleware as the outermost, also calls that are unknown or
// rejected. It sees the action's own arguments with defaults.
func TestMiddleware(t *testing.T) {
	t.Parallel()
	var seen []string
	note := func(mark string) call.Middleware {
		return func(next call.Func) call.Func {
			return func(ctx context.Context, c *call.Call) toolfold.Answer {
				action := "none"
				if c.Entry != nil {
					action = c.Entry.Action.FullName()
				}
				args, ok := c.Arguments()
				seen = append(seen, fmt.Sprint(mark, " ", c.Name, " ", action, " ", args["text"], " ", args["limit"], " ", ok))
				answer := next(ctx, c)
				seen = append(seen, fmt.Sprint(mark, " failed ", answer.IsError()))
				return answer
			}
		}
	}
	family := toolfoldtest.Mount(t, notetest.Family, &notetest.Service{})
	runner := toolfoldtest.RunnerWith([]*toolfold.Family{family}, note("outer"), note("inner"))
	for _, test := range []struct {
		name, args string
		want       []string
	}{
		{"save_note", `{"body":"hi"}`, []string{"outer save_note note.save hi <nil> true", "inner save_note note.save hi <nil> true",
			"inner failed false", "outer failed false"}},
		{"note", `{"action":"list"}`, []string{"outer note note.list <nil> 10 true", "inner note note.list <nil> 10 true", "inner failed false",
			"outer failed false"}},
		{"note.save", `{}`, []string{"outer note.save note.save <nil> <nil> false", "inner note.save note.save <nil> <nil> false",
			"inner failed true", "outer failed true"}},
		{"nothing", `{}`, []string{"outer nothing none <nil> <nil> false", "inner nothing none <nil> <nil> false", "inner failed true",
			"outer failed true"}},
	} {
		seen = nil
		runner.Call(t.Context(), test.name, []byte(test.args))
		if diff := cmp.Diff(test.want, seen); diff != "" {
			t.Errorf("%s %s:\n%s", test.name, test.args, diff)
		}
	}
}
