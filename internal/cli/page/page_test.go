package page

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/task"
)

// served is a page that calls a function in place of actions, and a browser that may have entered it.
func served(t *testing.T, call func(action string, arguments json.RawMessage) (json.RawMessage, error)) (
	page *Page, base string, browser *http.Client) {
	t.Helper()
	p := &Page{
		machine: &machine{state: &state{}, files: func() (string, error) { return "", nil }}, stored: func() bool { return true },
		version: "test", log: slog.New(slog.NewTextHandler(t.Output(), nil)), now: time.Now,
		call: func(_ context.Context, action string, arguments json.RawMessage) (json.RawMessage, error) {
			return call(action, arguments)
		},
		activity: func(context.Context, time.Time, time.Time) ([]storage.Activity, error) { return nil, nil }, asks: &asked{},
	}
	p.definitions = func(context.Context, string) (map[string]json.RawMessage, error) { return nil, nil }
	p.called = func(context.Context) (called storage.Called, err error) { return called, nil }
	p.process = func(context.Context, *settings.Options, string) (string, error) { return "process 7", nil }
	p.scriptRun = func(context.Context, string, string) (run workbench.ScriptRun, err error) { return run, nil }
	p.record = func(ctx context.Context, _ string, _ any, change func(context.Context) error) error {
		return change(ctx)
	}
	p.tools = func() (toolbox, error) { return &triedTools{}, nil }
	p.live, p.storeMark = newLive(p.log, p.mark), func(context.Context) (string, error) { return "", nil }
	t.Cleanup(p.live.close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	p.access = newAccess(server.Listener.Addr().String())
	p.routes()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return p, server.URL, &http.Client{Jar: jar}
}

// fetch sends a request and returns its status and text.
func fetch(t *testing.T, browser *http.Client, r *http.Request) (int, string) {
	t.Helper()
	answer, err := browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func get(t *testing.T, path string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func post(t *testing.T, path string, form url.Values) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func TestOnlyTheBrowserOfTheLinkIsLetIn(t *testing.T) {
	var called []string
	p, base, browser := served(t, func(action string, _ json.RawMessage) (json.RawMessage, error) {
		called = append(called, action)
		return json.RawMessage(`{}`), nil
	})
	link := p.access.address()
	stranger := func() *http.Client {
		jar, _ := cookiejar.New(nil)
		return &http.Client{Jar: jar}
	}
	for _, path := range []string{"/", "/notes", "/style.css", "/calls/1", "/enter/wrong", "/enter/"} {
		if status, _ := fetch(t, stranger(), get(t, base+path)); status != http.StatusForbidden {
			t.Errorf("GET %s without the cookie: %d", path, status)
		}
	}
	if status, _ := fetch(t, browser, get(t, strings.Replace(link, "/enter/", "/enter/x", 1))); status != http.StatusForbidden {
		t.Errorf("a wrong link: %d", status)
	}
	if status, text := fetch(t, browser, get(t, strings.TrimSuffix(link, "/")+"?then=/notes")); status == http.StatusForbidden {
		t.Fatalf("the link: %d %s", status, text)
	}
	if status, text := fetch(t, stranger(), get(t, link)); status != http.StatusForbidden || !strings.Contains(text, "toolfold page") {
		t.Errorf("the link a second time, in another browser: %d %s", status, text)
	}
	if status, _ := fetch(t, browser, get(t, base+"/notes")); status != http.StatusOK {
		t.Errorf("GET /notes with the cookie: %d", status)
	}

	// What another web page in the same browser can do.
	called = nil
	form := url.Values{"form": {p.access.form()}, "key": {"a"}, "back": {"/notes"}}
	for name, change := range map[string]func(*http.Request){
		"another host, by DNS rebinding": func(r *http.Request) { r.Host = "evil.example" },
		"another port":                   func(r *http.Request) { r.Host = "127.0.0.1:1" },
		"another origin":                 func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"another port of this machine":   func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") },
		"a form of another site":         func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
	} {
		r := post(t, base+"/do/memory.delete", form)
		change(r)
		if status, _ := fetch(t, browser, r); status != http.StatusForbidden && status != http.StatusMisdirectedRequest {
			t.Errorf("%s: %d", name, status)
		}
	}
	for _, token := range []string{"", "wrong", p.access.session} {
		wrong := url.Values{"form": {token}, "key": {"a"}}
		if status, _ := fetch(t, browser, post(t, base+"/do/memory.delete", wrong)); status != http.StatusForbidden {
			t.Errorf("a form with the token %q: %d", token, status)
		}
	}
	if status, _ := fetch(t, browser, get(t, base+"/do/memory.delete?"+form.Encode())); status != http.StatusNotFound {
		t.Errorf("a change by GET: %d", status)
	}
	if status, _ := fetch(t, browser, post(t, base+"/do/config.set", form)); status != http.StatusNotFound {
		t.Errorf("an action without a form: %d", status)
	}
	if len(called) != 0 {
		t.Errorf("these were called all the same: %v", called)
	}
	status, text := fetch(t, browser, post(t, base+"/do/memory.delete", form))
	if status != http.StatusOK || !slices.Contains(called, "memory.delete") {
		t.Errorf("the page's own form: %d, called %v: %s", status, called, text)
	}
}

func TestFormsReturnToThisPageOnly(t *testing.T) {
	for path, want := range map[string]string{
		"/notes": "/notes", "/note?key=a": "/note?key=a", "": "/", "//evil.example/": "/", "https://evil.example/": "/",
		`/\evil.example`: "/", "javascript:alert(1)": "/", "notes": "/",
	} {
		if got := local(path); got != want {
			t.Errorf("local(%q) = %q, want %q", path, got, want)
		}
	}
}

// hostile is what a server, a note, a task or a file name may have.
var hostile = `<script>alert(1)</script><img src=x onerror=alert(1)>"' onload="x" javascript:alert(1) {{.}} ` +
	"\x1b[31m\u202e\u2066\x00" + strings.Repeat("long", 2500)

// answers have every member that the views show, with hostile texts.
func answers(text string) map[string]any {
	one := func(more result) result {
		all := result{
			"traceId": text, "label": text, "status": text, "caller": text, "workspace": text, "startedAt": text, "durationMs": 3.5,
			"spanCount": 1, "taskId": text, "name": text, "error": text, "schedule": text, "nextAt": text, "createdAt": text, "workflowId": text,
			"agentId": text, "output": result{text: text}, "input": []any{text}, "asks": text, "queueId": text, "stats": result{text: 3},
			"isPaused": true, "key": text, "namespace": text, "value": text, "storedAt": text, "tags": []any{text}, "excerpt": text,
			"version": 2, "author": text, "replacedAt": text, "deleted": true, "expiresAt": text, "sessionId": text, "task": text, "initiator": text,
			"handover": result{text: text}, "summary": text, "hasMore": true, "total": 1, "found": true, "participantCount": 1, "note": text,
			"role": text, "joinedAt": text, "leftAt": text, "next": []any{text}, "stale": true, "maxConcurrency": text, "ratePerMinute": text,
			"nextCursor": text,
		}
		for name, value := range more {
			all[name] = value
		}
		return all
	}
	span := one(result{"error": result{"code": text, "message": text}, "attributes": result{text: text}, "depth": 1, "kind": text,
		"arguments": result{"tokens": 1}, "result": result{"tokens": 1}, "offsetMs": 1.5})
	list := []any{one(nil)}
	return one(result{"traces": list, "tasks": list, "queues": list, "keys": list, "results": list, "sessions": list, "spans": []any{span},
		"participants": list, "notes": list})
}

// TestForeignTextsStayTexts shows hostile answers in every view that shows answers of actions.
func TestForeignTextsStayTexts(t *testing.T) {
	answer, err := json.Marshal(answers(hostile))
	if err != nil {
		t.Fatal(err)
	}
	p, base, browser := served(t, func(string, json.RawMessage) (json.RawMessage, error) { return answer, nil })
	p.asks = &asked{open: []task.Question{hostileQuestion(), {Key: hostile, Method: hostile},
		{Key: hostile, Method: callctx.MethodElicit, Params: ordered.MustJSON(result{"mode": "url", "url": hostile})},
		{Key: hostile, Method: callctx.MethodElicit, Params: ordered.MustJSON(result{"requestedSchema": result{"type": hostile}})}}}
	p.definitions = func(context.Context, string) (map[string]json.RawMessage, error) {
		hostileStep := result{"stepId": hostile, "name": hostile, "type": hostile, "dependsOn": []string{hostile},
			"config": result{"tool": hostile, "then": []result{{"stepId": hostile}}}}
		return map[string]json.RawMessage{"workflow " + hostile: ordered.MustJSON(result{"steps": []result{hostileStep}})}, nil
	}
	fetch(t, browser, get(t, p.access.address()))
	text := url.QueryEscape(hostile)
	for _, path := range []string{
		"/calls?label=" + text + "&caller=" + text, "/calls/1", "/tasks?queueId=" + text, "/tasks/1", "/notes?query=" + text, "/notes",
		"/", "/note?key=" + text + "&namespace=" + text, "/sessions?query=" + text, "/sessions/1", "/charts?of=" + text,
		"/nothing/" + url.PathEscape(hostile[:40]),
	} {
		status, page := fetch(t, browser, get(t, base+path))
		if status == http.StatusInternalServerError {
			t.Errorf("%.20s: %s", path, page)
		}
		checkHTML(t, path, page)
	}
	definition := json.RawMessage(ordered.MustJSON(result{"name": hostile, "description": hostile}))
	tool := &toolfold.Action{Family: &toolfold.Family{Server: "s"},
		Name: hostile, Summary: hostile, Definition: definition, Aliases: []string{"s." + hostile}}
	bad := server{Name: hostile, State: stateFails, Problem: hostile, Families: []*toolfold.Family{{Name: hostile, Summary: hostile,
		Actions: []*toolfold.Action{tool}}}}
	of := []figures{{storage.Activity{Label: hostile, Calls: 1}}}
	for name, data := range map[string]any{
		"charts": charts{Over: periods[lastDay], Of: hostile, Groups: of, Times: of, Total: of[0], Recorded: []any{result{"name": hostile}},
			Metric: &recorded{Name: hostile}},
		"overview": overview{Attention: []attention{{"/servers/" + url.PathEscape(hostile), hostile, "fails", hostile, true}},
			Costs: []cost{{Name: hostile}}, Day: day{Calls: 1, Hours: make([]hour, 24), Actions: []figures{{storage.Activity{Label: hostile}}}}},
		"servers": serversView{state: &state{Servers: []server{bad}}, Find: hostile, Left: 1,
			Found: []found{{hostile, branches(bad.Families, "")}}},
		"actions":  ownView{Find: hostile, Tree: branches(bad.Families, "")},
		"settings": &state{Settings: []settings.Setting{{Name: hostile, Value: hostile, From: hostile}}},
		"server": serverView{server: bad, Find: hostile, Tree: branches(bad.Families, ""), Log: []string{hostile}, Changes: []change{
			{Name: hostile, Flags: []string{hostile}, Lines: []pair{{Was: hostile, Now: hostile}, {Was: hostile, Same: true}, {Gap: true}}},
			{New: true, Lines: []pair{{Now: hostile}}}}},
		"error": hostile,
	} {
		w := httptest.NewRecorder()
		p.write(w, get(t, "/"), http.StatusOK, name, data)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %s", name, w.Body)
		}
		checkHTML(t, name, w.Body.String())
	}
}

// scripts are the paths of the page's scripts.
var scripts = []string{"/live.js", "/charts.js", "/uplot/uPlot.iife.min.js"}

// checkHTML reports elements and attributes that the templates do not have, links to elsewhere, and characters
// that hide or direct text outside of the values of forms.
func checkHTML(t *testing.T, path, page string) {
	t.Helper()
	allowed := strings.Fields("html head meta title link script body a header strong nav span main h1 h2 h3 p ol form input button label " +
		"select option table tbody tr th td br fieldset legend svg rect g pre code details summary textarea ul li section div")
	document, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for node := range document.Descendants() {
		inForm := node.Parent != nil && node.Parent.Data == "textarea"
		if node.Type == html.TextNode && !inForm && strings.ContainsAny(node.Data, "\x1b\u202e\u2066\x00") {
			t.Errorf("%.20s: hidden characters in a text of %s", path, node.Parent.Data)
		}
		if node.Type != html.ElementNode {
			continue
		}
		if !slices.Contains(allowed, node.Data) || node.Data == "script" && len(node.Attr) != 2 {
			t.Errorf("%.20s: the page has an element %s", path, node.Data)
		}
		for _, a := range node.Attr {
			ours := node.Data == "script" && slices.Contains(scripts, a.Val) && node.FirstChild == nil
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" && !ours {
				t.Errorf("%.20s: %s has an attribute %s", path, node.Data, a.Key)
			}
			if a.Key == "href" || a.Key == "action" {
				if !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "?") && a.Val != "#main" || strings.HasPrefix(a.Val, "//") {
					t.Errorf("%.20s: %s leads to %.60s", path, node.Data, a.Val)
				}
			}
		}
	}
}

// utc returns a time of 2026-03-01 of this machine's zone as actions take it.
func utc(clock string) string {
	t, _ := time.ParseInLocation(time.DateTime, "2026-03-01 "+clock, time.Local)
	return t.UTC().Format(time.RFC3339)
}

// TestViewsAskForWhatTheFormsHave calls each list with filters, and each form with its fields.
func TestViewsAskForWhatTheFormsHave(t *testing.T) {
	var action, arguments string
	p, base, browser := served(t, func(name string, args json.RawMessage) (json.RawMessage, error) {
		action, arguments = name, string(args)
		return json.RawMessage(`{"nextCursor":"next one"}`), nil
	})
	fetch(t, browser, get(t, p.access.address()))
	for path, want := range map[string]string{
		"/calls?label=memory.&status=failure&caller=+": `trace.list {"include_fields":["traces","traces.caller",` +
			`"nextCursor"],"label":"memory.","limit":50,"status":"failure"}`,
		"/calls?minDurationMs=250&since=2026-03-01T12:30&until=2026-03-01T12:30:05": `trace.list {"include_fields":["traces","traces.caller",` +
			`"nextCursor"],"limit":50,"minDurationMs":250,"since":"` + utc("12:30:00") + `","until":"` + utc("12:30:05") + `"}`,
		"/notes?prefix=a&cursor=c": `memory.list {"cursor":"c","limit":50,"order":"newest","prefix":"a"}`,
		"/notes?query=words":       `memory.search {"limit":50,"query":"words"}`,
		"/sessions?status=active":  `session.list {"limit":50,"status":"active"}`,
		"/tasks/7":                 `task.status {"include_fields":["input"],"taskId":"7"}`,
		"/calls/7":                 `trace.get {"limit":1000,"traceId":"7"}`,
	} {
		_, page := fetch(t, browser, get(t, base+path))
		if got := action + " " + arguments; got != want {
			t.Errorf("GET %s called %s, want %s", path, got, want)
		}
		if strings.Contains(path, "?") && !strings.Contains(page, "cursor=next&#43;one") && !strings.Contains(page, "cursor=next+one") {
			t.Errorf("GET %s has no link to older entries", path)
		}
	}
	for _, form := range []struct{ action, fields, want string }{
		{"memory.store", "key=a&kind=text&value=1%0D%0A2", `memory.store {"key":"a","value":"1\n2"}`},
		{"memory.store", "key=a&value=%7B%22x%22%3A1%7D", `memory.store {"key":"a","value":{"x":1}}`},
		{"memory.restore", "key=a&version=3&namespace=n", `memory.restore {"key":"a","namespace":"n","version":3}`},
		{"task.cancel", "taskId=7&force=true", `task.cancel {"taskId":"7"}`},
	} {
		values, _ := url.ParseQuery(form.fields)
		values.Set("form", p.access.form())
		action = ""
		browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		fetch(t, browser, post(t, base+"/do/"+form.action, values))
		if got := action + " " + arguments; got != form.want {
			t.Errorf("the form %s?%s called %s, want %s", form.action, form.fields, got, form.want)
		}
	}
	for _, path := range []string{"/calls?minDurationMs=1s", "/calls?since=noon", "/calls?until=2026-02-30T10:00"} {
		action = ""
		if status, text := fetch(t, browser, get(t, base+path)); status != http.StatusConflict || action != "" {
			t.Errorf("GET %s: %d, called %q: %s", path, status, action, text)
		}
	}
	action = ""
	values := url.Values{"form": {p.access.form()}, "key": {"a"}, "value": {"{"}}
	if status, text := fetch(t, browser, post(t, base+"/do/memory.store", values)); status != http.StatusConflict || action != "" ||
		!strings.Contains(text, "not JSON") {
		t.Errorf("a value that is no JSON: %d, called %q: %s", status, action, text)
	}
}

func TestDifferencesStandSideBySide(t *testing.T) {
	got := pairs("@@ -1,3 +1,4 @@\n {\n-  \"a\": 1,\n+  \"a\": 2,\n+  \"b\": 3,\n }\n")
	want := []pair{{Gap: true}, {Was: "{", Now: "{", Same: true}, {Was: `  "a": 1,`, Now: `  "a": 2,`}, {Now: `  "b": 3,`},
		{Was: "}", Now: "}", Same: true}}
	if !slices.Equal(got, want) {
		t.Errorf("pairs are %+v, want %+v", got, want)
	}
}

// TestSettledCallsAreKept reads the counts of a day, and what activity is asked for.
func TestSettledCallsAreKept(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
	day := func(at time.Time) time.Time { return at.Truncate(time.Hour).Add(-23 * time.Hour) }
	calls := map[time.Time]int{}
	var asked []time.Time
	activity := func(_ context.Context, since, until time.Time) (list []storage.Activity, err error) {
		asked = append(asked, since)
		for at, n := range calls {
			if !at.Before(since) && (until.IsZero() || at.Before(until)) {
				list = append(list, storage.Activity{Hour: at.Truncate(time.Hour), Label: "a", Calls: n})
			}
		}
		return list, nil
	}
	calls[start.Add(-time.Hour)], calls[start.Add(-time.Minute)] = 3, 1
	var c counts
	for _, step := range []struct {
		after time.Duration
		add   time.Duration   // when a call began, since start
		asks  []time.Duration // the beginnings of what is read, since the beginning of the day
		want  int
	}{
		{0, -time.Minute, []time.Duration{0, 23*time.Hour + 25*time.Minute}, 5},
		{time.Minute, 0, []time.Duration{23*time.Hour + 25*time.Minute}, 6},
		{time.Minute, -time.Hour, []time.Duration{23*time.Hour + 25*time.Minute}, 6}, // not seen before it is read again
		{2 * time.Minute, 0, []time.Duration{0, 23*time.Hour + 30*time.Minute}, 8},
		{6 * time.Minute, 6 * time.Minute, []time.Duration{23*time.Hour + 30*time.Minute}, 9},
		{31 * time.Minute, 0, []time.Duration{0, 22*time.Hour + 55*time.Minute}, 10}, // the next hour
		{32 * time.Minute, 32 * time.Minute, []time.Duration{0, 23 * time.Hour}, 11},
		{33 * time.Minute, 33 * time.Minute, []time.Duration{23 * time.Hour}, 12},
	} {
		calls[start.Add(step.add)]++
		asked = nil
		now := start.Add(step.after)
		list, err := c.read(t.Context(), now, periods[lastDay], activity)
		if err != nil {
			t.Fatal(err)
		}
		var want []time.Time
		for _, since := range step.asks {
			want = append(want, day(now).Add(since))
		}
		if !slices.Equal(asked, want) {
			t.Errorf("after %s: read since %v, want %v", step.after, asked, want)
		}
		if got := dayOf(now.Truncate(time.Hour), list).Calls; got != step.want {
			t.Errorf("after %s: %d calls, want %d", step.after, got, step.want)
		}
	}
}

func TestDayHasTheLastHours(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d := dayOf(now, []storage.Activity{
		{Hour: now.Add(-24 * time.Hour), Label: "old", Calls: 9},
		{Hour: now.Add(-23 * time.Hour), Label: "a", Calls: 2, Failed: 1, Ended: 2, Total: 4 * time.Second, Longest: 3 * time.Second},
		{Hour: now, Label: "a", Calls: 3, Ended: 2, Total: 4 * time.Second, Longest: time.Second},
		{Hour: now, Label: "b", Calls: 1, Failed: 1, Ended: 1, Total: time.Second, Longest: time.Second},
	})
	if d.Calls != 6 || d.Failed != 2 || d.Most != 4 || d.Hours[0].Calls != 2 || d.Hours[23].Failed != 1 {
		t.Errorf("the day is %+v", d)
	}
	if len(d.Actions) != 2 || d.Actions[0].Label != "a" || d.Actions[0].Mean() != 2*time.Second || d.Actions[0].Longest != 3*time.Second {
		t.Errorf("the actions are %+v", d.Actions)
	}
}
