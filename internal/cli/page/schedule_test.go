package page

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// scheduled answers task.status like a store with one schedule, and records other calls.
type scheduled struct {
	task, input json.RawMessage
	calls       []string
	refusal     *toolfold.Error
}

func (s *scheduled) call(action string, arguments json.RawMessage) (json.RawMessage, error) {
	switch {
	case action == "task.status" && strings.Contains(string(arguments), "include_fields"):
		return s.input, nil
	case action == "task.status":
		return s.task, nil
	case action == "task.list" || action == "queue.list":
		return json.RawMessage(`{}`), nil
	}
	s.calls = append(s.calls, action+" "+string(arguments))
	if s.refusal != nil {
		return nil, s.refusal
	}
	return json.RawMessage(`{"taskId":"7"}`), nil
}

// TestSchedulesAreMadeAndChanged sends the forms of a new schedule and of a stored one.
func TestSchedulesAreMadeAndChanged(t *testing.T) {
	s := &scheduled{input: json.RawMessage(`{"input":{"tool":"memory.stats","arguments":{"x":1.50}}}`)}
	s.task = ordered.MustJSON(result{"taskId": "7", "name": hostile, "description": "old", "status": "pending", "priority": "medium",
		"schedule": "0 3 * * *"})
	p, base, browser := served(t, s.call)
	fetch(t, browser, get(t, p.access.address()))
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	send := func(path string, values url.Values) (int, string) {
		t.Helper()
		s.calls = nil
		values.Set("form", p.access.form())
		status, page := fetch(t, browser, post(t, base+path, values))
		checkHTML(t, path, page)
		return status, page
	}
	names := func(page string) (all []string) { // of the fields, in their order
		for _, match := range regexp.MustCompile(`<(?:input|textarea|select)[^>]* name="(field\d+)"`).FindAllStringSubmatch(page, -1) {
			all = append(all, match[1])
		}
		return all
	}
	for _, made := range []struct {
		fields []string // name, schedule, description, priority, action, agent, workflow, arguments
		want   string
	}{
		{[]string{"N", "@every 1h", "", `"high"`, "memory.stats", "", "", ""},
			`task.submit {"input":{"tool":"memory.stats","arguments":{}},"name":"N","priority":"high","schedule":"@every 1h"}`},
		{[]string{"N", "@every 1h", "d", "", "", "", "w", `{"n": 1.50}`},
			`task.submit {"description":"d","input":{"n":1.50},"name":"N","schedule":"@every 1h","workflowId":"w"}`},
		{[]string{"N", "", "", "", "memory.stats", "", "", ""}, ""},
		{[]string{"N", "@every 1h", "", "", "memory.stats", "", "", "{"}, ""},
	} {
		_, page := fetch(t, browser, get(t, base+"/tasks/new"))
		checkHTML(t, "new", page)
		values := url.Values{}
		for i, name := range names(page) {
			values.Set(name, made.fields[i])
		}
		status, page := send("/tasks/new", values)
		want := []string{made.want}
		if made.want == "" {
			want = nil
		}
		if !slices.Equal(s.calls, want) || (status == http.StatusSeeOther) != (made.want != "") {
			t.Errorf("%q: %d, called %q, want %q: %s", made.fields, status, s.calls, made.want, page)
		}
	}

	_, page := fetch(t, browser, get(t, base+"/tasks/7/schedule"))
	checkHTML(t, "change", page)
	shown := regexp.MustCompile(`name="shown" value="([0-9a-f]{64})"`).FindStringSubmatch(page)[1]
	fields := names(page) // name, schedule, description, priority, input
	stored := url.Values{"shown": {shown}}
	input := "{\r\n  \"tool\": \"memory.stats\", \"arguments\": {\"x\": 1.50}}" // as browsers send line ends
	for i, value := range []string{hostile, "0 3 * * *", "old", `"medium"`, input} {
		stored.Set(fields[i], value)
	}
	change := func(i int, value string) url.Values {
		values := url.Values{}
		for name, one := range stored {
			values[name] = one
		}
		values.Set(fields[i], value)
		return values
	}
	for want, values := range map[string]url.Values{
		"":                                      change(2, "old"),
		`{"schedule":"0 4 * * *","taskId":"7"}`: change(1, "0 4 * * *"),
		`{"description":"","taskId":"7"}`:       change(2, ""),
		`{"input":{"x":2.0},"taskId":"7"}`:      change(4, `{"x":2.0}`),
	} {
		status, page := send("/tasks/7/schedule", values)
		if got := strings.Join(s.calls, ""); status != http.StatusSeeOther || got != strings.TrimSuffix("task.update "+want, "task.update ") {
			t.Errorf("%d, called %q, want %q: %s", status, got, want, page)
		}
	}
	s.refusal = toolfold.Errorf(toolfold.InvalidInput, "schedule %s", hostile).About(toolfold.ProblemRefused, "schedule")
	if status, page := send("/tasks/7/schedule", change(1, "0 5 * * *")); status != http.StatusUnprocessableEntity ||
		!strings.Contains(page, `value="0 5 * * *"`) || !strings.Contains(page, `aria-invalid="true"`) {
		t.Errorf("a schedule that is refused: %d %s", status, page)
	}
	s.refusal = nil

	s.task = ordered.MustJSON(result{"taskId": "7", "name": "N", "status": "pending", "schedule": "0 9 * * *"})
	if status, page := send("/tasks/7/schedule", change(1, "0 4 * * *")); status != http.StatusConflict || s.calls != nil {
		t.Errorf("a schedule that changed meanwhile: %d, called %q: %s", status, s.calls, page)
	}
	s.task = ordered.MustJSON(result{"taskId": "7", "name": "N", "status": "pending"})
	if status, _ := fetch(t, browser, get(t, base+"/tasks/7/schedule")); status != http.StatusConflict {
		t.Errorf("a task without a schedule: %d", status)
	}
	pause := url.Values{"taskId": {"7"}, "paused": {"true"}, "schedule": {"@every 1s"}}
	if status, _ := send("/do/task.update", pause); status != http.StatusSeeOther ||
		!slices.Equal(s.calls, []string{`task.update {"paused":true,"taskId":"7"}`}) {
		t.Errorf("a pause: %d, called %q", status, s.calls)
	}

	s.calls = nil
	jar, _ := cookiejar.New(nil)
	form := url.Values{"form": {p.access.form()}}
	foreign := post(t, base+"/tasks/new", form)
	foreign.Header.Set("Origin", "http://evil.example")
	for name, attack := range map[string]struct {
		browser *http.Client
		request *http.Request
	}{
		"a stranger": {&http.Client{Jar: jar}, post(t, base+"/tasks/new", form)}, "another origin": {browser, foreign},
		"no token": {browser, post(t, base+"/tasks/new", nil)}, "no token, of a change": {browser, post(t, base+"/tasks/7/schedule", nil)},
	} {
		if status, _ := fetch(t, attack.browser, attack.request); status != http.StatusForbidden || s.calls != nil {
			t.Errorf("%s: %d, called %q", name, status, s.calls)
		}
	}
}
