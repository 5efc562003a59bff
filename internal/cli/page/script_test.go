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
	"time"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/internal/run/script"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// runOf returns the answers of actions for a task that runs a script, whose unknown calls are named.
func runOf(status, source string, unknown ...string) func(string, json.RawMessage) (json.RawMessage, error) {
	end := script.Result{Error: &script.Failure{Code: "INTERRUPTED", Message: "cut off"}, Writes: map[string]int{"till.pay": 2}, ID: "7"}
	for i, action := range unknown {
		u := script.Unknown{Call: 4 + i, Action: action, Arguments: json.RawMessage(`{"id":"d"}`)}
		if name, waits := strings.CutPrefix(action, "waits "); waits {
			u.Action, u.Waits = name, "a1b2"
		}
		end.Unknown = append(end.Unknown, u)
	}
	return func(action string, _ json.RawMessage) (json.RawMessage, error) {
		switch action {
		case "task.status":
			state := result{"taskId": "7", "name": "script.run", "status": status,
				"input": result{"tool": "script.run", "arguments": result{"code": source, "input": []int{1}}}}
			if status != "running" {
				state["output"] = end
			}
			return ordered.MustJSON(state), nil
		case "trace.get":
			return json.RawMessage(`{"spans":[{"label":"task","depth":0,"status":"running"},{"label":"script.run","depth":1,"status":"running"},
				{"label":"till.pay","depth":2,"status":"running"},{"label":"within","depth":3,"status":"running"},
				{"label":"memory.list","depth":2,"status":"success"}]}`), nil
		}
		return json.RawMessage(`{"traces":[{"traceId":"9"}]}`), nil
	}
}

// journalOf is the journal of a script that was cut off in its fourth call.
func journalOf(_ context.Context, _, source string) (workbench.ScriptRun, error) {
	places, err := script.Places(source, []byte(`{"names":["till.pay","memory.list"]}`))
	at := time.Now()
	return workbench.ScriptRun{Places: func(action string) []script.Place { return places[action] }, Calls: []workbench.ScriptCall{
		{Step: script.Step{Call: 1, Ended: true, Name: "memory.list", At: at, Value: `{"total":0}`}, Effect: "reads"},
		{Step: script.Step{Call: 2, Ended: true, Name: "till.pay", At: at, Error: "NO: broke", Did: true}, Effect: "changes"},
		{Step: script.Step{Call: 3, Ended: true, Name: "till.pay", At: at}, Effect: "changes", Hidden: true},
		{Step: script.Step{Call: 4}},
	}}, err
}

const paying = `await memory.list({});
await till.pay({id: "c"});
await till.pay({id: "d"})`

func TestRunOfAScriptIsShown(t *testing.T) {
	answer := runOf("failed", paying, "till.pay")
	p, base, browser := served(t, func(action string, arguments json.RawMessage) (json.RawMessage, error) {
		return answer(action, arguments)
	})
	p.scriptRun = journalOf
	fetch(t, browser, get(t, p.access.address()))
	show := func(wanted ...string) string {
		t.Helper()
		status, text := fetch(t, browser, get(t, base+"/tasks/7"))
		for _, want := range wanted {
			if status != http.StatusOK || !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("%d, without %s in %s", status, want, text)
			}
		}
		return text
	}
	text := show(`<li class="here"><code>await till.pay\(\{id: &#34;d&#34;\}\)</code> <strong>← stopped at till.pay</strong>`,
		`<code>till.pay</code> 2`, `memory.list</code><td>reads<td>done`, `{&#34;total&#34;:0}`, `failed: NO: broke`,
		`your rights do not include`, `unknown: may have been done`, `name="outcome4"`, `its result`, `>state this and go on<`)
	if strings.Count(text, `class="here"`) != 1 || strings.Contains(text, "task.retry") {
		t.Errorf("another line is marked, or the calls can be made again by a retry: %s", text)
	}
	answer = runOf("running", paying)
	text = show(`It waits for <code>till.pay</code>`,
		`<code>await till.pay\(\{id: &#34;c&#34;\}\);</code> <strong>← maybe: waits for till.pay`, `under way`)
	if strings.Contains(text, "/go-on") || strings.Contains(text, "within") {
		t.Errorf("a running run can go on, or waits for the calls of its calls: %s", text)
	}
	answer = runOf("cancelled", paying)
	show(`>go on</button>`)
	answer = runOf("failed", "", "till.pay")
	if text := show(`runs a stored script`, `name="outcome4"`); strings.Contains(text, `class="source"`) {
		t.Errorf("a source is shown: %s", text)
	}
	answer = runOf("completed", paying)
	if text := show(); strings.Contains(text, "/go-on") {
		t.Errorf("a completed run can go on: %s", text)
	}
}

// TestOutcomesAreStated sends the form of unknown calls as it is, with mistakes, late and from elsewhere.
func TestOutcomesAreStated(t *testing.T) {
	answer := runOf("failed", paying, "till.pay", "till.pay", "till.pay", "scripts.confirm", "waits till.pay", "waits till.pay")
	var called []string
	var left error
	p, base, browser := served(t, nil)
	p.scriptRun = journalOf
	p.call = func(ctx context.Context, action string, arguments json.RawMessage) (json.RawMessage, error) {
		if action != "script.run" {
			return answer(action, arguments)
		}
		called = append(called, string(arguments))
		<-ctx.Done() // a long run
		left = context.Cause(ctx)
		return nil, ctx.Err()
	}
	p.patience = time.Millisecond
	fetch(t, browser, get(t, p.access.address()))
	_, text := fetch(t, browser, get(t, base+"/tasks/7"))
	digest := regexp.MustCompile(`name="shown" value="([0-9a-f]{64})"`).FindStringSubmatch(text)[1]
	form := func(pairs ...string) url.Values {
		all := url.Values{"form": {p.access.form()}, "shown": {digest}}
		for pair := range slices.Chunk(pairs, 2) {
			all.Set(pair[0], pair[1])
		}
		return all
	}
	complete := form("outcome4", "done", "outcome5", "not done", "outcome6", "result", "result6", ` {"n": 1.0} `, "outcome7", "yes",
		"outcome8", "all", "outcome9", "no", "outcome11", "done")
	jar, _ := cookiejar.New(nil)
	foreign := post(t, base+"/tasks/7/go-on", complete)
	foreign.Header.Set("Origin", "http://evil.example")
	for name, attack := range map[string]struct {
		browser *http.Client
		request *http.Request
	}{
		"a stranger":     {&http.Client{Jar: jar}, post(t, base+"/tasks/7/go-on", complete)},
		"another origin": {browser, foreign},
		"no token":       {browser, post(t, base+"/tasks/7/go-on", url.Values{"shown": {digest}, "outcome4": {"done"}})},
	} {
		if status, _ := fetch(t, attack.browser, attack.request); status != http.StatusForbidden {
			t.Errorf("%s: %d", name, status)
		}
	}
	if status, _ := fetch(t, browser, get(t, base+"/tasks/7/go-on?"+complete.Encode())); status != http.StatusOK {
		t.Errorf("by GET: %d", status)
	}
	const unfit = http.StatusUnprocessableEntity
	for name, wrong := range map[string]struct {
		form   url.Values
		status int
		says   string
	}{
		"an old form":         {form("shown", strings.Repeat("0", 64), "outcome4", "done"), http.StatusConflict, "has stopped at another place"},
		"a call left out":     {form("outcome4", "done", "outcome5", "done"), unfit, "choose what became"},
		"an unknown outcome":  {form("outcome4", "maybe", "outcome5", "done", "outcome6", "done"), unfit, "choose what became"},
		"a result of no JSON": {form("outcome4", "done", "outcome5", "done", "outcome6", "result", "result6", "paid"), unfit, "must be JSON"},
		"a question done":     {form("outcome4", "done", "outcome7", "done"), unfit, "answer the question"},
		"a question for all":  {form("outcome4", "done", "outcome7", "all"), unfit, "answer the question"},
		"done unasked":        {form("outcome4", "done", "outcome8", "done"), unfit, "agree to this call"},
		"no result":           {form("outcome4", "done", "outcome5", "done", "outcome6", "result"), unfit, "must be JSON"},
	} {
		status, text := fetch(t, browser, post(t, base+"/tasks/7/go-on", wrong.form))
		if status != wrong.status || !strings.Contains(text, wrong.says) {
			t.Errorf("%s: %d %s", name, status, text)
		}
		if wrong.status == unfit && !strings.Contains(text, `<option value="done" selected>`) {
			t.Errorf("%s: what was chosen is lost", name)
		}
	}
	if len(called) > 0 {
		t.Fatalf("these were called all the same: %v", called)
	}
	status, text := fetch(t, browser, post(t, base+"/tasks/7/go-on", complete))
	want := `{"id":"7","outcome":{"4":"done","5":"not done","6":{"result":{"n":1.0}},"7":"yes","8":"all","9":"no"}}`
	if status != http.StatusOK || len(called) != 1 || called[0] != want {
		t.Errorf("%d, called %v, want %s: %s", status, called, want, text)
	}
	if left != callctx.ErrStopped { // else script.run would cancel the run
		t.Errorf("the page left the call with %v", left)
	}
	answer = runOf("running", paying)
	if status, text := fetch(t, browser, post(t, base+"/tasks/7/go-on", complete)); status != http.StatusConflict || len(called) != 1 {
		t.Errorf("stated twice: %d, called %d times: %s", status, len(called), text)
	}
}

// TestStuckTasksNeedTheUser lists, on the overview, the runs that the user has to settle, and what else keeps work from going on.
func TestStuckTasksNeedTheUser(t *testing.T) {
	p, base, browser := served(t, func(string, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`{}`), nil })
	fetch(t, browser, get(t, p.access.address()))
	const nothing = "Nothing: no tool is held back"
	if _, text := fetch(t, browser, get(t, base+"/")); !strings.Contains(text, nothing) {
		t.Errorf("something needs the user: %s", text)
	}
	p.asks = &asked{stuck: []storage.Stuck{{TaskID: "7/../x", Name: hostile}, {TaskID: "8", Name: "b", Lacks: "agent " + hostile},
		{TaskID: "9", Name: "c", Place: "home" + hostile}}}
	p.machine.state.LeftOut = []string{`"upstreams" (` + hostile + `)`}
	_, text := fetch(t, browser, get(t, base+"/"))
	for _, want := range []string{`<li><a href="/tasks/7%2F..%2Fx">`,
		`<span class="bad">stopped: a call may have been done, or waits for your answer</span>`,
		`<li><a href="/tasks/8">b</a> <span>waits for a server whose folder has what it runs</span>: agent &lt;script`,
		`<li><a href="/tasks/9">c</a> <span>waits for a process that runs the tasks of</span>: home&lt;`,
		`<li><a href="/settings">.toolfold/config.json</a> <span>has settings that do not apply</span>: &#34;upstreams&#34; (&lt;`} {
		if !strings.Contains(text, want) || strings.Contains(text, nothing) {
			t.Errorf("the overview lacks %s: %s", want, text)
		}
	}
	checkHTML(t, "/", text)
	_, text = fetch(t, browser, get(t, base+"/settings"))
	if !strings.Contains(text, `<li>&#34;upstreams&#34; (&lt;`) {
		t.Errorf("the settings lack what does not apply: %s", text)
	}
	checkHTML(t, "/settings", text)
}

// TestForeignScriptsStayTexts shows a run that is hostile in every part.
func TestForeignScriptsStayTexts(t *testing.T) {
	source := hostile + "\n</code><script>alert(1)</script>"
	p, base, browser := served(t, runOf("failed", source, hostile[:150]))
	p.scriptRun = func(context.Context, string, string) (workbench.ScriptRun, error) {
		places, _ := script.Places("x.y({})", []byte(`{"names":["x.y"]}`))
		return workbench.ScriptRun{Places: func(string) []script.Place { return places["x.y"] }, Calls: []workbench.ScriptCall{
			{Step: script.Step{Call: 1, Ended: true, Name: hostile[:150], Value: hostile}, Effect: "reads"},
			{Step: script.Step{Call: 2, Ended: true, Name: hostile[:150], Error: hostile}, Effect: "changes"},
			{Step: script.Step{Call: 4}}}}, nil
	}
	fetch(t, browser, get(t, p.access.address()))
	status, text := fetch(t, browser, get(t, base+"/tasks/7"))
	if status != http.StatusOK || !strings.Contains(text, `class="here"`) {
		t.Fatalf("%d %s", status, text)
	}
	checkHTML(t, "/tasks/7", text)
	for _, cell := range regexp.MustCompile(`(?s)<td[^n]*?>.*?<t`).FindAllString(text, -1) {
		if len(cell) > 8_000 {
			t.Errorf("a cell has %d bytes", len(cell))
		}
	}
}

// TestLongJournalsAreShownInParts pages through a journal.
func TestLongJournalsAreShownInParts(t *testing.T) {
	p, base, browser := served(t, runOf("running", paying))
	p.scriptRun = func(context.Context, string, string) (run workbench.ScriptRun, err error) {
		for i := range 2*mostCalls + 1 {
			run.Calls = append(run.Calls, workbench.ScriptCall{Step: script.Step{Call: i + 1, Ended: true, Name: "till.pay"}, Effect: "changes"})
		}
		run.Places = func(string) []script.Place { return nil }
		return run, nil
	}
	fetch(t, browser, get(t, p.access.address()))
	seen, next := 0, "/tasks/7"
	for pages := 1; next != ""; pages++ {
		_, text := fetch(t, browser, get(t, base+next))
		seen += len(regexp.MustCompile(`<tr><td class="n">\d+<td><code>`).FindAllString(text, -1))
		earlier := regexp.MustCompile(`href="(\?before=\d+)"`).FindStringSubmatch(text)
		if next = ""; earlier != nil {
			next = "/tasks/7" + earlier[1]
		}
		if want := map[bool]int{true: 1, false: 0}[strings.Contains(text, "<code>till.pay</code> 201")]; want != 1 || pages > 3 {
			t.Fatalf("page %d counts other writes: %s", pages, text)
		}
	}
	if seen != 2*mostCalls+1 {
		t.Errorf("%d calls are shown", seen)
	}
}
