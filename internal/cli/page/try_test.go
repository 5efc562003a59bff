package page

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// triedTools implements [toolbox] with one tool of another server.
type triedTools struct {
	tool    workbench.Tool
	refusal *toolfold.Error
	answer  toolfold.Answer
	calls   []string
}

func (b *triedTools) Own() []*toolfold.Family { return nil }

func (b *triedTools) Tool(name string) (workbench.Tool, bool) {
	return b.tool, b.tool.Action != nil && b.tool.Name == name
}

func (b *triedTools) Refusal(context.Context, string, json.RawMessage) *toolfold.Error {
	return b.refusal
}

func (b *triedTools) Try(ctx context.Context, name string, arguments json.RawMessage) toolfold.Answer {
	b.calls = append(b.calls, name+" "+string(arguments)+" by "+toolfold.OriginOf(ctx).Client)
	return b.answer
}

// trying returns the page of a tool, with a function that sends its form.
func trying(t *testing.T, b *triedTools) (p *Page, browser *http.Client, at string, send func(pairs ...string) (int, string)) {
	t.Helper()
	p, base, browser := served(t, running)
	p.tools = func() (toolbox, error) { return b, nil }
	family := *b.tool.Family
	family.Actions = []*toolfold.Action{b.tool.Action}
	p.machine.state.Servers = []server{{Name: family.Server, State: stateReady, Families: []*toolfold.Family{&family}}}
	fetch(t, browser, get(t, p.access.address()))
	at = base + "/tools/" + url.PathEscape(b.tool.Name)
	status, page := fetch(t, browser, get(t, at))
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, page)
	}
	checkHTML(t, at, page)
	shown := regexp.MustCompile(`name="shown" value="([0-9a-f]{64})"`).FindStringSubmatch(page)[1]
	return p, browser, at, func(pairs ...string) (int, string) {
		t.Helper()
		form := url.Values{"form": {p.access.form()}, "shown": {shown}}
		for pair := range slices.Chunk(pairs, 2) {
			form.Add(pair[0], pair[1])
		}
		status, page := fetch(t, browser, post(t, at, form))
		if status < 500 {
			checkHTML(t, at, page)
		}
		return status, page
	}
}

// toolOf returns a tool of a server with hints and a schema.
func toolOf(name string, hints toolfold.Hints, schema string) workbench.Tool {
	family := &toolfold.Family{Name: "till", Server: "till"}
	return workbench.Tool{Name: name, Schema: json.RawMessage(schema), Action: &toolfold.Action{
		Name: "pay", Summary: "Pay.", Family: family, Annotations: &hints, Aliases: []string{name}}}
}

var reads, destroys = toolfold.Hints{ReadOnly: true}, toolfold.Hints{Destructive: true}

// TestFormsHaveTheArguments fills the forms of tools with schemas of many kinds.
func TestFormsHaveTheArguments(t *testing.T) {
	const wide = `{"type":"object","required":["z"],"properties":{
		"a":{"type":"boolean","default":true},"b":{"enum":["x","y"]},
		"c":{"anyOf":[{"type":"integer"},{"type":"null"}],"title":"How many","default":null},
		"d":{"type":["string","null"],"default":"dd"},"e":{"type":"object"},"z":{"type":"string"}}}`
	for _, test := range []struct{ schema, fields, want, problem string }{
		{wide, "field0=zz", `{"z":"zz"}`, ""},
		{wide, "field0=zz&field1=false&field2=%22y%22&field3=7&field4=t&field5=%7B%22k%22%3A1.0%7D",
			`{"z":"zz","a":false,"b":"y","c":7,"d":"t","e":{"k":1.0}}`, ""},
		{wide, "field0=zz&field5=%7B", "", "e must be JSON"},
		{wide, "field0=zz&field3=many", "", "c must be a number"},
		{wide, "field0=zz&arguments=+%7B%22q%22%3A+12345678901234567890%7D", `{"q":12345678901234567890}`, ""},
		{wide, "arguments=null", "", "the arguments must be a JSON object"},
		{wide, "arguments=%5B%5D", "", "the arguments must be a JSON object"},
		{wide, "arguments=%7B", "", "the arguments must be a JSON object"},
		{`{"type":"object"}`, "", `{}`, ""},
		{`{"type":"object","properties":[],"required":7}`, "", `{}`, ""},
		{`{"oneOf":[{"required":["a"]}]}`, "arguments=%7B%22a%22%3A1%7D", `{"a":1}`, ""},
	} {
		b := &triedTools{tool: toolOf("till.pay", reads, test.schema), answer: toolfold.Answer{Content: json.RawMessage(`{"ok":true}`)}}
		_, _, _, send := trying(t, b)
		values, _ := url.ParseQuery(test.fields)
		pairs := []string{"action", "call"}
		for name := range values {
			pairs = append(pairs, name, values.Get(name))
		}
		status, page := send(pairs...)
		if test.problem != "" {
			if status != http.StatusUnprocessableEntity || len(b.calls) > 0 || !strings.Contains(page, test.problem) {
				t.Errorf("%s: %d, called %v: %s", test.fields, status, b.calls, page)
			}
			continue
		}
		if want := "till.pay " + test.want + " by the page"; status != http.StatusOK || !slices.Equal(b.calls, []string{want}) {
			t.Errorf("%s: %d, called %q, want %s", test.fields, status, b.calls, want)
		}
		if !strings.Contains(page, "It worked") || !strings.Contains(page, "&#34;ok&#34;: true") {
			t.Errorf("the answer is not shown: %s", page)
		}
	}
	fields := callFields(json.RawMessage(wide))
	var order []string
	for _, f := range fields {
		order = append(order, f.Name+" "+f.Kind)
		if f.Value != "" || slices.ContainsFunc(f.Options, func(o option) bool { return o.Chosen }) {
			t.Errorf("%s is filled in", f.Name)
		}
	}
	if got, want := strings.Join(order, ", "), "z long, a choice, b choice, c number, d long, e json"; got != want {
		t.Errorf("the fields are %s, want %s", got, want)
	}
	if fields[2].Title != "b" || fields[3].Title != "How many" || fields[1].Description != "Default: true" {
		t.Errorf("the fields are %+v", fields)
	}
}

// TestDestructiveToolsAreConfirmed sends every form that must not call a tool that may destroy something, and the one that does.
func TestDestructiveToolsAreConfirmed(t *testing.T) {
	b := &triedTools{tool: toolOf("till.pay", destroys, `{"properties":{"id":{"type":"string"}}}`),
		answer: toolfold.Answer{Content: json.RawMessage(`{}`)}}
	p, browser, at, send := trying(t, b)
	_, page := send("field0", "a", "action", "call")
	confirmed := regexp.MustCompile(`name="confirmed" value="([0-9a-f]{64})"`).FindStringSubmatch(page)
	if confirmed == nil || !strings.Contains(page, "Nothing is called yet") || !strings.Contains(page, "{&#34;id&#34;:&#34;a&#34;}") ||
		!strings.Contains(page, "in 10 bytes, 5 tokens") {
		t.Fatalf("there is no preview: %s", page)
	}
	once := regexp.MustCompile(`name="once" value="([A-Z2-7]+)"`).FindStringSubmatch(page)[1]
	send("field0", "b", "action", "call", "confirmed", confirmed[1], "once", once)
	send("arguments", `{"id":"a"}`, "action", "preview", "confirmed", confirmed[1], "once", once)
	send("arguments", `{"id":"a"}`, "action", "call", "confirmed", strings.Repeat("0", 64), "once", once)
	send("arguments", `{"id":"a"}`, "action", "call", "confirmed", confirmed[1])
	form := url.Values{"form": {p.access.form()}, "shown": {strings.Repeat("0", 64)}, "arguments": {`{"id":"a"}`}, "action": {"call"},
		"confirmed": {confirmed[1]}, "once": {once}}
	if status, page := fetch(t, browser, post(t, at, form)); status != http.StatusConflict || !strings.Contains(page, "has changed since") {
		t.Errorf("a form of another definition: %d %s", status, page)
	}
	form.Set("shown", regexp.MustCompile(`name="shown" value="([0-9a-f]{64})"`).FindStringSubmatch(page)[1])
	jar, _ := cookiejar.New(nil)
	foreign := post(t, at, form)
	foreign.Header.Set("Origin", "http://evil.example")
	withoutToken := url.Values{}
	for name, values := range form {
		if name != "form" {
			withoutToken[name] = values
		}
	}
	for name, attack := range map[string]struct {
		browser *http.Client
		request *http.Request
	}{
		"a stranger": {&http.Client{Jar: jar}, post(t, at, form)}, "another origin": {browser, foreign},
		"no token": {browser, post(t, at, withoutToken)},
	} {
		if status, _ := fetch(t, attack.browser, attack.request); status != http.StatusForbidden {
			t.Errorf("%s: %d", name, status)
		}
	}
	fetch(t, browser, get(t, at+"?"+form.Encode()))
	if len(b.calls) > 0 {
		t.Fatalf("these were called all the same: %v", b.calls)
	}
	if status, page := fetch(t, browser, post(t, at, form)); status != http.StatusOK || len(b.calls) != 1 ||
		!strings.Contains(page, "It worked") {
		t.Errorf("the form of the preview: %d, called %v: %s", status, b.calls, page)
	}
	if _, page := fetch(t, browser, post(t, at, form)); len(b.calls) != 1 || !strings.Contains(page, "Nothing is called yet") {
		t.Errorf("the form sent again: called %v: %s", b.calls, page)
	}
	b.tool.Action.Annotations = &toolfold.Hints{}
	form.Set("shown", regexp.MustCompile(`name="shown" value="([0-9a-f]{64})"`).FindStringSubmatch(page)[1])
	if status, _ := fetch(t, browser, post(t, at, form)); status != http.StatusConflict {
		t.Errorf("a tool with other hints than it was shown with: %d", status)
	}
	form.Set("shown", regexp.MustCompile(`name="shown" value="([0-9a-f]{64})"`).FindStringSubmatch(page)[1])
	p.machine.state.Servers[0].Families[0].Actions[0] = &toolfold.Action{Name: "pay", Aliases: []string{"till.pay"},
		Definition: json.RawMessage(`{}`)}
	if status, page := fetch(t, browser, post(t, at, form)); status != http.StatusConflict ||
		!strings.Contains(page, "cannot be called here") {
		t.Errorf("a tool that servers list in another way: %d %s", status, page)
	}
	p.machine.state.Servers[0].State = stateOff
	if status, _ := fetch(t, browser, post(t, at, form)); status != http.StatusConflict || len(b.calls) != 1 {
		t.Errorf("a tool of a server that is off: %d, called %v", status, b.calls)
	}
	if status, page := fetch(t, browser, get(t, strings.Replace(at, "pay", "gone", 1))); status != http.StatusConflict ||
		!strings.Contains(page, "till.gone cannot be called here") {
		t.Errorf("a tool that is not there: %d %s", status, page)
	}
}

// TestRefusalsAreBesideTheFields shows the problems of a call that the server of the tool does not get.
func TestRefusalsAreBesideTheFields(t *testing.T) {
	refusal := toolfold.Errorf(toolfold.InvalidInput, "till.pay: two problems").About(toolfold.ProblemMissing, "id", "other")
	b := &triedTools{tool: toolOf("till.pay", reads, `{"properties":{"id":{"type":"string"}}}`), refusal: refusal}
	_, _, _, send := trying(t, b)
	status, page := send("action", "call", "field0", "typed")
	if status != http.StatusUnprocessableEntity || len(b.calls) > 0 || !strings.Contains(page, `<strong class="bad">id is missing`) ||
		!strings.Contains(page, `role="alert">other is missing`) || !strings.Contains(page, "\ntyped</textarea>") {
		t.Errorf("%d, called %v: %s", status, b.calls, page)
	}
	b.refusal = toolfold.Errorf(toolfold.PermissionDenied, "not permitted")
	if status, page := send("action", "preview"); status != http.StatusUnprocessableEntity ||
		!strings.Contains(page, `role="alert">not permitted`) {
		t.Errorf("%d %s", status, page)
	}
}

// TestAnswersStayTexts shows hostile and large answers of a hostile tool.
func TestAnswersStayTexts(t *testing.T) {
	properties := ordered.Map{}
	for i := range mostFields + 7 {
		text := hostile[:min(len(hostile), 90+i)]
		properties.Set(text, result{"type": "string", "title": text, "description": text, "default": text})
	}
	schema := ordered.MustJSON(result{"type": "object", "properties": properties, "required": []string{hostile[:90]}})
	b := &triedTools{tool: toolOf("s."+hostile[:90], reads, string(schema))}
	b.tool.Summary, b.tool.Doc, b.tool.Family.Server = hostile, hostile, hostile
	_, _, _, send := trying(t, b)
	million := strings.Repeat(hostile, 1+1_000_000/len(hostile))
	blocks := []any{
		result{"type": "text", "text": hostile}, result{"type": "image", "mimeType": hostile[:80], "data": "AAAA"},
		result{"type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zz48L3N2Zz4="},
		result{"type": "resource_link", "uri": "javascript:alert(1)", "name": hostile}, result{"type": hostile, "x": hostile},
		result{"type": "resource", "resource": result{"uri": hostile, "text": hostile}}, 7, result{"type": "text", "text": 7},
		result{"type": "resource", "resource": result{"uri": "a", "mimeType": "b", "blob": "AAA="}}, result{"type": "text", "text": million},
	}
	for range mostParts {
		blocks = append(blocks, result{"type": "text", "text": "last"})
	}
	reply := ordered.MustJSON(result{"content": blocks, "structuredContent": result{hostile: million}, "isError": true})
	for name, answer := range map[string]toolfold.Answer{
		"a reply": {Reply: reply, Content: json.RawMessage(`{}`)}, "an error": toolfold.Errorf(hostile, "%s", million).Answer(),
		"a result": {Content: ordered.MustJSON(result{hostile: million}), Failed: true},
	} {
		b.answer = answer
		status, page := send("action", "call")
		if status != http.StatusOK || !strings.Contains(page, "It failed") || !strings.Contains(page, "bytes are not shown") {
			t.Errorf("%s: %d %.2000s", name, status, page)
		}
		shown := page[strings.Index(page, "Answer</h2>"):strings.Index(page, "Try it</h2>")]
		if len(shown) > 6*mostText {
			t.Errorf("%s: %d bytes are shown", name, len(shown))
		}
		if name != "a reply" {
			continue
		}
		for _, want := range []string{"image/svg&#43;xml, 11 bytes", "link to javascript:alert(1)", "content of an unknown type",
			"about ", "11 more parts are not shown",
			"contents of a, b, 2 bytes"} {
			if !strings.Contains(shown, want) {
				t.Errorf("the answer lacks %s: %.3000s", want, shown)
			}
		}
	}
	if _, page := send("action", "preview"); !strings.Contains(page, "7 more parameters have no field") {
		t.Errorf("the form does not tell of parameters without a field: %.1000s", page)
	}
}
