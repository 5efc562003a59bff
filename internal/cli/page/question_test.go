package page

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/task"
)

// asked implements [asker] with the questions of one task, and stuck tasks.
type asked struct {
	open    []task.Question
	answers []string
	stuck   []storage.Stuck
}

func (a *asked) Inquiries(context.Context, int) ([]storage.Inquiry, error) {
	if len(a.open) == 0 {
		return nil, nil
	}
	return []storage.Inquiry{{TaskID: "7", Name: a.open[0].Key, Questions: len(a.open)}}, nil
}

func (a *asked) Stuck(context.Context, int) ([]storage.Stuck, error) { return a.stuck, nil }

func (a *asked) Questions(context.Context, string) ([]task.Question, error) { return a.open, nil }

func (a *asked) Answer(_ context.Context, id, key string, answer json.RawMessage) error {
	a.answers = append(a.answers, id+" "+key+" "+string(answer))
	a.open = slices.DeleteFunc(slices.Clone(a.open), func(q task.Question) bool { return q.Key == key })
	return nil
}

// running answers task.status for a running task.
func running(string, json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`{"taskId":"7","status":"running"}`), nil
}

// form returns a question with a schema of these properties.
func form(properties string, required ...string) task.Question {
	schema := result{"type": "object", "properties": json.RawMessage(properties), "required": append([]string{}, required...)}
	return task.Question{Key: "q", Method: callctx.MethodElicit,
		Params: ordered.MustJSON(result{"message": "Which?", "requestedSchema": schema})}
}

func hostileQuestion() task.Question {
	texts := result{"title": hostile, "description": hostile, "default": hostile}
	properties := result{}
	for kind, more := range map[string]result{
		"string": {"type": "string"}, "email": {"type": "string", "format": "email"}, "enum": {"enum": []string{hostile}},
		"named": {"enum": []string{"a"}, "enumNames": []string{hostile}}, "one": {"oneOf": []result{{"const": hostile, "title": hostile}}},
		"several": {"type": "array", "items": result{"enum": []string{hostile}}}, "number": {"type": "number"}, "other": {"type": "object"},
	} {
		property := result{}
		for name, text := range texts {
			property[name] = text
		}
		for name, value := range more {
			property[name] = value
		}
		properties[kind+hostile] = property
	}
	q := form(string(ordered.MustJSON(properties)))
	q.Params = ordered.MustJSON(result{"message": hostile, "requestedSchema": result{"type": "object", "properties": properties}})
	q.Key = hostile
	return q
}

// TestAnswersFitTheSchema sends forms for questions of every kind of field.
func TestAnswersFitTheSchema(t *testing.T) {
	const fruits = `{"fruit":{"type":"string","enum":["apple","plum"],"enumNames":["Apple","Plum"]}}`
	const several = `{"kinds":{"type":"array","minItems":1,"items":{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}}}`
	for _, test := range []struct {
		schema   string
		required []string
		fields   string // of the form
		answer   string // empty = the form is shown again
		problem  string
	}{
		{`{"name":{"type":"string"}}`, []string{"name"}, "field0=Eve+%26+%3Cb%3E", `{"name":"Eve & <b>"}`, ""},
		{`{"name":{"type":"string"}}`, []string{"name"}, "field0=+", "", "name is missing"},
		{`{"name":{"type":"string"}}`, nil, "field0=", `{}`, ""},
		{`{"name":{"type":"string"}}`, nil, "field0=a%0D%0Ab", `{"name":"a\nb"}`, ""},
		{`{"name":{"type":"string","maxLength":3}}`, nil, "field0=long", "", "name must be at most 3 long, got 4"},
		{`{"at":{"type":"string","format":"email"}}`, nil, "field0=nobody", "", "at must be a email"},
		{`{"day":{"type":"string","format":"date"}}`, nil, "field0=2026-02-30", "", "day must be a date"},
		{`{"n":{"type":"number","maximum":2}}`, nil, "field0=+1.50", `{"n":1.50}`, ""},
		{`{"n":{"type":"number","maximum":2}}`, nil, "field0=3", "", "n must be at most 2, got 3"},
		{`{"n":{"type":"number"}}`, nil, "field0=1,5", "", "n must be a number"},
		{`{"n":{"type":"integer"}}`, nil, "field0=1.5", "", "n must be integer, got number"},
		{`{"n":{"type":"integer"}}`, nil, "field0=12345678901234567890", `{"n":12345678901234567890}`, ""},
		{`{"ok":{"type":"boolean"}}`, []string{"ok"}, "field0=false", `{"ok":false}`, ""},
		{`{"ok":{"type":"boolean"}}`, []string{"ok"}, "field0=", "", "ok is missing"},
		{`{"ok":{"type":"boolean"}}`, []string{"ok"}, "field0=maybe", "", "ok is missing"},
		{fruits, nil, "field0=%22plum%22", `{"fruit":"plum"}`, ""},
		{fruits, nil, "field0=%22pear%22", `{}`, ""},
		{`{"n":{"type":"integer","enum":[1,2]}}`, []string{"n"}, "field0=2", `{"n":2}`, ""},
		{several, []string{"kinds"}, "field0=%22b%22&field0=%22a%22", `{"kinds":["a","b"]}`, ""},
		{several, []string{"kinds"}, "", "", "kinds must be at least 1 long, got 0"},
		{several, nil, "", `{}`, ""},
		{`{"any":{"type":["string","null"]}}`, nil, "field0=null", `{"any":null}`, ""},
		{`{"any":{"type":["string","null"]}}`, nil, "field0=text", "", "any must be JSON"},
		{`{"a/b":{"type":"string","minLength":2},"c":{"type":"string"}}`, nil, "field0=x&field1=y", "", "a/b must be at least 2 long, got 1"},
		{`{}`, nil, "", `{}`, ""},
	} {
		p, base, browser := served(t, running)
		fetch(t, browser, get(t, p.access.address()))
		asks := &asked{open: []task.Question{form(test.schema, test.required...)}}
		p.asks = asks
		values, _ := url.ParseQuery(test.fields)
		values.Set("form", p.access.form())
		values.Set("key", "q")
		values.Set("shown", questionOf(asks.open[0]).Digest)
		values.Set("action", "accept")
		status, page := fetch(t, browser, post(t, base+"/tasks/7/answer", values))
		if test.answer == "" {
			if status != http.StatusUnprocessableEntity || len(asks.answers) > 0 || !strings.Contains(page, `<strong class="bad">`+test.problem) {
				t.Errorf("%s, %s: %d, answered %v, want the problem %q: %s", test.schema, test.fields, status, asks.answers, test.problem, page)
			}
			continue
		}
		want := `7 q {"action":"accept","content":` + test.answer + `}`
		if status != http.StatusOK || !slices.Equal(asks.answers, []string{want}) {
			t.Errorf("%s, %s: %d, answered %v, want %s", test.schema, test.fields, status, asks.answers, want)
		}
		if strings.Contains(page, "Questions for you") {
			t.Errorf("%s: the task still asks", test.schema)
		}
	}
}

// TestQuestionsAreAnsweredAsShown answers by each button, and refuses answers to another question.
func TestQuestionsAreAnsweredAsShown(t *testing.T) {
	p, base, browser := served(t, running)
	fetch(t, browser, get(t, p.access.address()))
	plain := form(`{"name":{"type":"string","default":"Eve","title":"Your name"}}`)
	page := task.Question{Key: "q", Method: callctx.MethodElicit,
		Params: json.RawMessage(`{"mode":"url","message":"Log in.","url":"https://a.example/"}`)}
	roots := task.Question{Key: "q", Method: callctx.MethodRoots, Params: json.RawMessage(`{}`)}
	broken := task.Question{Key: "q", Method: callctx.MethodElicit, Params: json.RawMessage(`{"requestedSchema":{"type":7}}`)}
	other := plain
	other.Params = json.RawMessage(`{"message":"Another?"}`)
	for _, test := range []struct {
		open, shown task.Question
		action      string
		status      int
		answer      string
	}{
		{plain, plain, "decline", http.StatusOK, `7 q {"action":"decline"}`},
		{plain, plain, "cancel", http.StatusOK, `7 q {"action":"cancel"}`},
		{page, page, "accept", http.StatusOK, `7 q {"action":"accept"}`},
		{broken, broken, "decline", http.StatusOK, `7 q {"action":"decline"}`},
		{broken, broken, "accept", http.StatusNotFound, ""},
		{roots, roots, "accept", http.StatusNotFound, ""},
		{roots, roots, "decline", http.StatusNotFound, ""},
		{plain, plain, "", http.StatusNotFound, ""},
		{other, plain, "accept", http.StatusConflict, ""},
	} {
		asks := &asked{open: []task.Question{test.open}}
		p.asks = asks
		_, shown := fetch(t, browser, get(t, base+"/tasks/7"))
		if _, overview := fetch(t, browser, get(t, base+"/")); !strings.Contains(overview, `<a href="/tasks/7">q</a>`) {
			t.Errorf("the overview has no task with questions: %s", overview)
		}
		if accept := strings.Contains(shown, `value="accept"`); accept != questionOf(test.open).Usable() {
			t.Errorf("%s: a button to accept: %t", test.open.Params, accept)
		}
		values := url.Values{"form": {p.access.form()}, "key": {"q"}, "shown": {questionOf(test.shown).Digest}, "action": {test.action}}
		status, text := fetch(t, browser, post(t, base+"/tasks/7/answer", values))
		if got := strings.Join(asks.answers, ", "); status != test.status || got != test.answer {
			t.Errorf("%s %s: %d, answered %q, want %d %q: %s", test.action, test.open.Params, status, got, test.status, test.answer, text)
		}
	}
	p.asks = &asked{open: []task.Question{plain}}
	status, text := fetch(t, browser, get(t, base+"/tasks/7/answer"))
	if status != http.StatusOK || !strings.Contains(text, "Questions for you") {
		t.Errorf("the address of an answer: %d %s", status, text)
	}
	_, text = fetch(t, browser, get(t, base+"/tasks/7"))
	if !strings.Contains(text, "\nEve</textarea>") || !strings.Contains(text, "Your name (optional)") {
		t.Errorf("the form has no default or title: %s", text)
	}
}
