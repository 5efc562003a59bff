package served_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/ask"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/config"
)

// Workflows of the tests: slow waits until it is released, or fifty seconds; note answers at once;
// perhaps may ask the client's model.
const (
	slow = `{name: Slow, steps: [
		{stepId: later, type: tool, config: {tool: task.submit, arguments: {name: later, type: wait, delayMs: 3600000}}},
		{stepId: pause, type: tool, config: {tool: task.wait, arguments: {taskId: "{{ steps.later.taskId }}", timeoutMs: 50000}}},
		{stepId: note, type: tool, config: {tool: memory.store, arguments: {key: slow/done, value: {done: true}}}}]}`
	note = `{name: Note, inputSchema: {type: object, properties: {text: {type: string}}, required: [text]}, steps: [
		{stepId: note, type: tool, config: {tool: memory.store, arguments: {key: note, value: {text: "{{ input.text }}"}}}},
		{stepId: read, type: tool, config: {tool: memory.get, arguments: {key: note}}}]}`
	perhaps = `{name: Perhaps, steps: [{stepId: if, type: conditional, config: {condition: "true",
		then: [{stepId: ask, type: prompt, config: {prompt: one}}]}}]}`
)

// maxInterruptions is how often a task may be interrupted.
const maxInterruptions = 2

// patient bounds how long tests wait.
const patient = 2 * time.Minute

// machine is a server with a worker, on a store that several machines may share.
type machine struct {
	*testing.T
	http *mcptest.HTTP
	dir  string // the workspace
	rest func() // ends the worker
	stop func()
}

func newMachine(t *testing.T, store string, rules permission.Rules, limit int, more ...*toolfold.Family) machine {
	t.Helper()
	return newMachineWith(t, store, patient, rules, limit, nil, more...)
}

// newHasty is newMachine for a server that always answers task calls with their task, even if they
// end soon.
func newHasty(t *testing.T, store string, rules permission.Rules, more ...*toolfold.Family) machine {
	t.Helper()
	return newMachineWith(t, store, -1, rules, 0, nil, more...)
}

// newMachineWith is newMachine with a grace period for task calls to end, and a change of the host, if it is not nil.
func newMachineWith(
	t *testing.T, store string, grace time.Duration, rules permission.Rules, limit int, change func(*app.Host), more ...*toolfold.Family,
) machine {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"slow": slow, "note": note, "perhaps": perhaps} {
		path := filepath.Join(dir, ".toolfold", "workflows", name+".yaml")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := surface.New(surface.Options{Log: quiet, Rights: rules.Rights(), ResultLimit: limit})
	db := storage.Lazy(store)
	host := app.Host{
		Open: db.Open, Files: config.Files{Global: filepath.Join(dir, "config.json"), Workspace: dir}, Caller: s.Runner,
		Discovery: s.Discovery, Log: quiet, Now: time.Now, NewID: uuid.NewString, WorkspaceName: "vm:/shop", MaxInterruptions: maxInterruptions,
		Works: true, Rights: rules.Rights(), Opened: db.Opened(),
	}
	if change != nil {
		change(&host)
	}
	families, err := app.Mount(host)
	if err == nil {
		err = s.Put(append(families, more...)...)
	}
	if err != nil {
		t.Fatal(err)
	}
	server, err := serve.New(serve.Options{Surface: s, Log: quiet, Tasks: host.Tasks(), TaskGrace: grace})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- queue.New(func(ctx context.Context) (queue.Ledger, *queue.Jobs, error) {
			opened, err := db.Open(ctx)
			if err != nil {
				return nil, nil, err
			}
			return opened.Work()
		}, s.Runner, queue.Options{
			Workspace: "vm:/shop", Tick: 20 * time.Millisecond, Grace: 10 * time.Millisecond, Notice: patient, Lease: 15 * time.Second,
		}).Work(ctx)
	}()
	web := httptest.NewServer(server.Handler(""))
	m := machine{T: t, http: mcptest.Started(t, web), dir: dir, rest: sync.OnceFunc(func() {
		cancel()
		<-ended
	})}
	m.stop = sync.OnceFunc(func() {
		web.Close()
		m.rest()
		db.Close()
	})
	t.Cleanup(m.stop)
	return m
}

// eachDurable runs a test with both stores that outlive a process.
func eachDurable(t *testing.T, test func(t *testing.T, store string)) {
	t.Parallel()
	for name, fresh := range map[string]func(testing.TB) string{
		"sqlite":   func(t testing.TB) string { return "sqlite://" + filepath.Join(t.TempDir(), "t.db") },
		"postgres": storagetest.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

// takes returns the metadata of a client that takes tasks, with additional capabilities.
func takes(more string) string {
	return strings.Replace(mcptest.ModernMeta, `clientCapabilities":{}`,
		`clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}`+more+`}`, 1)
}

// ask sends a request and returns the result, or {"error": …}.
func (m machine) ask(meta, method, name, params string) (result map[string]any) {
	m.Helper()
	text, _ := m.http.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,%s}}`, method, params, meta),
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name)
	var answer map[string]any
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		m.Fatalf("%s: %v", text, err)
	}
	if answer["result"] == nil {
		return map[string]any{"error": answer["error"]}
	}
	result = answer["result"].(map[string]any)
	delete(result["_meta"].(map[string]any), "io.modelcontextprotocol/serverInfo")
	return result
}

func (m machine) call(meta, name, arguments string) map[string]any {
	m.Helper()
	return m.ask(meta, "tools/call", name, fmt.Sprintf(`"name":%q,"arguments":%s`, name, arguments))
}

// does calls an action and returns its result.
func (m machine) does(name, arguments string) (out map[string]any) {
	m.Helper()
	result := m.call(mcptest.ModernMeta, name, arguments)
	text := result["content"].([]any)[0].(map[string]any)["text"].(string)
	err := json.Unmarshal([]byte(text), &out)
	if _, refused := out["error"].(map[string]any); err != nil || refused && out["success"] == nil {
		m.Fatalf("%s %s: %s", name, arguments, text)
	}
	return out
}

func (m machine) task(id string) map[string]any {
	m.Helper()
	return m.ask(takes(""), "tasks/get", id, fmt.Sprintf(`"taskId":%q`, id))
}

// says waits until the status message of a running task contains a text.
func (m machine) says(id, text string) {
	m.Helper()
	for end := time.Now().Add(patient); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if message, _ := m.task(id)["statusMessage"].(string); strings.Contains(message, text) {
			return
		}
	}
	m.Fatalf("of task %s nothing with %q is told: %v", id, text, m.task(id))
}

// ended waits for the end of a task.
func (m machine) ended(id string) map[string]any {
	m.Helper()
	for end := time.Now().Add(patient); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if task := m.task(id); task["status"] != "working" && task["status"] != "input_required" {
			return task
		}
	}
	m.Fatalf("task %s goes on", id)
	return nil
}

// release ends the waiting step of the workflow slow, once it runs.
func (m machine) release() {
	m.Helper()
	for end := time.Now().Add(patient); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		list, _ := m.does("task", `{"action":"list","status":["pending"]}`)["tasks"].([]any)
		for _, item := range list {
			if one := item.(map[string]any); one["name"] == "later" {
				m.does("task", fmt.Sprintf(`{"action":"cancel","taskId":%q}`, one["taskId"]))
				return
			}
		}
	}
	m.Fatal("nothing waits")
}

var (
	durations = regexp.MustCompile(`(urationMs\\?"):\d+`)
	times     = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	amounts   = regexp.MustCompile(`\d{3,}|x{3,}`) // in a cut answer, where the digits of durations move the cut
	ids       = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
)

// stable returns a result without the parts that differ between runs.
func stable(result map[string]any) string {
	delete(result, "resultType")
	if meta, ok := result["_meta"].(map[string]any); ok && len(meta) == 0 {
		delete(result, "_meta")
	}
	text, _ := json.Marshal(result)
	same := ids.ReplaceAllString(times.ReplaceAllString(durations.ReplaceAllString(string(text), "$1:0"), "T"), "ID")
	if strings.Contains(same, "cut from") {
		return amounts.ReplaceAllString(same, "")
	}
	return same
}

// A task call has the same answer as a plain one: whole or in part, cut, under an old name, as the
// error of the run, or as the refusal of a call that cannot run.
func TestTaskCallsAnswerLikeCalls(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		m := newMachine(t, store, permission.Rules{}, 3000)
		m.call(mcptest.ModernMeta, "memory", `{"action":"store","key":"note","value":{}}`) // both runs replace it
		for _, c := range []struct{ name, arguments string }{
			{"workflow", `{"action":"run","workflowId":"note","input":{"text":"a"}}`},
			{"workflow", `{"action":"run","params":{"workflowId":"note","input":{"text":"a"}},"include_fields":["output.found","success"]}`},
			{"workflow", `{"action":"run","params":{"workflowId":"note","input":{"text":"a"}},"jq":".output.value.text"}`},
			{"workflow_run", `{"workflowId":"note","input":{"text":"a"}}`},
			{"workflow", `{"action":"run","workflowId":"note","input":{"text":"` + strings.Repeat("x", 9000) + `"}}`},
			{"workflow", `{"action":"run","workflowId":"perhaps"}`},
			{"workflow", `{"action":"run","workflowId":"note"}`},
			{"workflow", `{"action":"run","workflowId":"nowhere"}`},
			{"agent", `{"action":"run","agentId":"nobody"}`},
			{"guard", `{"action":"check","policyId":"nothing","changedPaths":["x"]}`},
			{"bugfix", `{"action":"scan","paths":["."]}`},
			{"refactor", `{"action":"scan","paths":["."]}`},
		} {
			plain := stable(m.call(mcptest.ModernMeta, c.name, c.arguments))
			asTask := stable(m.call(takes(""), c.name, c.arguments))
			if diff := cmp.Diff(plain, asTask); diff != "" {
				t.Errorf("%s %.80s: -call +kept\n%s", c.name, c.arguments, diff)
			}
		}
		rows := m.call(mcptest.ModernMeta, "task", `{"action":"list","queueId":"calls","include_fields":["total"]}`)
		if text, _ := json.Marshal(rows["content"]); !strings.Contains(string(text), `{\"total\":9}`) {
			t.Errorf("kept were %s, not what runs in the background", text)
		}
	})
}

// A task call continues in another process if its process is gone, under the same id, and the task
// family knows it.
func TestTaskCallsMoveOn(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		first := newHasty(t, store, permission.Rules{})
		created := first.call(takes(""), "workflow", `{"action":"run","workflowId":"slow"}`)
		id, _ := created["taskId"].(string)
		if created["resultType"] != "task" || id == "" {
			t.Fatalf("it is answered %v", created)
		}
		first.says(id, "pause")
		first.stop()
		second := newMachine(t, store, permission.Rules{}, 0)
		second.release()
		task := second.ended(id)
		text, _ := json.Marshal(task["result"])
		if task["status"] != "completed" || !strings.Contains(string(text), `\"success\":true`) {
			t.Errorf("it ended as %v", task)
		}
		status := second.call(mcptest.ModernMeta, "task", `{"action":"status","taskId":"`+id+`"}`)
		if text, _ := json.Marshal(status["content"]); !strings.Contains(string(text), `\"status\":\"completed\"`) {
			t.Errorf("task.status shows %s", text)
		}
	})
}

// Cancelling a task ends its run and its steps.
func TestCancelTaskCall(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		m := newHasty(t, store, permission.Rules{})
		id := m.call(takes(""), "workflow", `{"action":"run","workflowId":"slow"}`)["taskId"].(string)
		m.says(id, "pause")
		m.ask(takes(""), "tasks/cancel", id, fmt.Sprintf(`"taskId":%q`, id))
		if task := m.ended(id); task["status"] != "cancelled" || task["result"] != nil {
			t.Errorf("it ended as %v", task)
		}
		m.rest() // a step that still ran would have ended
		text := stable(m.call(mcptest.ModernMeta, "memory", `{"action":"get","key":"slow/done"}`))
		if !strings.Contains(text, `\"found\":false`) {
			t.Errorf("its steps went on: %s", text)
		}
	})
}

// Waiting for a task is answered with that task, and stores no other. Cancelling the wait does not
// cancel the task.
func TestAwaitedTask(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		m := newHasty(t, store, permission.Rules{})
		id := m.does("task", `{"action":"submit","name":"slow","workflowId":"slow"}`)["taskId"].(string)
		wait := `{"action":"wait","taskId":"` + id + `"}`
		if answer := m.call(takes(""), "task", wait); answer["resultType"] != "task" || answer["taskId"] != id {
			t.Errorf("to wait is answered %v", answer)
		}
		m.ask(takes(""), "tasks/cancel", id, fmt.Sprintf(`"taskId":%q`, id))
		m.release()
		task := m.ended(id)
		result, _ := task["result"].(map[string]any)
		if diff := cmp.Diff(stable(m.call(mcptest.ModernMeta, "task", wait)), stable(result)); diff != "" || task["status"] != "completed" {
			t.Errorf("-call +task\n%s%v", diff, task)
		}
	})
}

// A client that lends its model runs calls that may ask the model within the request.
func TestLentModelsKeepCallsPlain(t *testing.T) {
	t.Parallel()
	m := newHasty(t, "memory:", permission.Rules{})
	asks := m.call(takes(`,"sampling":{}`), "workflow", `{"action":"run","workflowId":"perhaps"}`)
	if asks["resultType"] != "input_required" {
		t.Errorf("it is answered %v", asks)
	}
	if slow := m.call(takes(`,"sampling":{}`), "workflow", `{"action":"run","workflowId":"slow"}`); slow["resultType"] != "task" {
		t.Errorf("what asks no model is answered %v", slow)
	}
}

// A task call has at most the rights of the server that took it, wherever it runs.
func TestTaskCallsHaveTheServersRights(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		all := newMachine(t, store, permission.Rules{}, 0) // its worker may take the row
		limited := newMachine(t, store, permission.Rules{Deny: []string{"memory.clear", "task.*"}}, 0)
		registered := all.call(mcptest.ModernMeta, "agent", `{"action":"register","agentId":"wiper","description":"Wipes.","workflow":[`+
			`{"stepId":"x","name":"Wipe","type":"tool","config":{"tool":"memory.clear","arguments":{"namespace":"default","confirm":true}}}]}`)
		if registered["isError"] == true {
			t.Fatal(registered)
		}
		all.call(mcptest.ModernMeta, "memory", `{"action":"store","key":"precious","value":{}}`)
		for range 5 {
			answer := stable(limited.call(takes(""), "agent", `{"action":"run","agentId":"wiper"}`))
			if !strings.Contains(answer, `"isError":true`) {
				t.Errorf("it did what is denied: %s", answer)
			}
		}
		text := stable(all.call(mcptest.ModernMeta, "memory", `{"action":"get","key":"precious"}`))
		if !strings.Contains(text, `\"found\":true`) {
			t.Errorf("it was removed: %s", text)
		}
		rows := stable(all.call(mcptest.ModernMeta, "task", `{"action":"list","queueId":"calls","include_fields":["total"]}`))
		if !strings.Contains(rows, `\"total\":5`) {
			t.Errorf("not kept without the right to submit tasks: %s", rows)
		}
	})
}

// Work that a server leaves to a worker, or to other callers, has at most the server's rights,
// wherever it runs.
func TestRemainingTasksHaveTheServersRights(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		all := newMachine(t, store, permission.Rules{}, 0)
		limited := newMachine(t, store, permission.Rules{Deny: []string{"memory.clear"}}, 0)
		limited.rest() // the other's worker runs everything
		register := func(by machine, id, step string) {
			by.does("agent", `{"action":"register","agentId":"`+id+`","description":"Wipes.","workflow":[{"stepId":"x","name":"Wipe",`+step+`}]}`)
		}
		register(all, "wiper", `"type":"tool","config":{"tool":"memory.clear","arguments":{"namespace":"default","confirm":true}}`)
		const delegate = `"type":"delegate","config":{"agentId":"wiper"}`
		register(all, "changed", delegate)
		register(limited, "limited", delegate)
		limited.does("agent", `{"action":"update","agentId":"changed","description":"Clears."}`)
		all.does("memory", `{"action":"store","key":"precious","value":{}}`)
		ends := func(id, want string) {
			t.Helper()
			if got := all.does("task", `{"action":"wait","taskId":"`+id+`","timeoutMs":50000}`)["status"]; got != want {
				t.Errorf("it is %s, not %s", got, want)
			}
		}
		submitted := limited.does("task", `{"action":"submit","name":"x","agentId":"wiper"}`)
		ends(submitted["taskId"].(string), "failed")
		for _, id := range []string{"limited", "changed"} {
			if ran := all.does("agent", `{"action":"run","agentId":"`+id+`"}`); ran["success"] != false {
				t.Errorf("agent %s did what is denied: %v", id, ran)
			}
		}
		schedule := all.does("task", `{"action":"submit","name":"x","agentId":"wiper","schedule":"0 0 1 1 *"}`)["taskId"].(string)
		limited.does("task", `{"action":"update","taskId":"`+schedule+`","priority":"high"}`)
		ends(all.does("task", `{"action":"trigger","taskId":"`+schedule+`"}`)["taskId"].(string), "failed")
		if got := all.does("memory", `{"action":"get","key":"precious"}`); got["found"] != true {
			t.Errorf("it was removed: %v", got)
		}
	})
}

// A task call is visible to callers with the rights that it was kept with, or with the right to see
// tasks. They, and callers with the right to end tasks, can cancel it.
func TestTaskCallsBelongToTheirRights(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		all := newHasty(t, store, permission.Rules{})
		stranger := newMachine(t, store, permission.Rules{Deny: []string{"memory.clear", "task.status", "task.cancel"}}, 0)
		watcher := newMachine(t, store, permission.Rules{Deny: []string{"memory.clear", "task.cancel"}}, 0)
		ender := newMachine(t, store, permission.Rules{Deny: []string{"memory.clear"}}, 0)
		id := all.call(takes(""), "workflow", `{"action":"run","workflowId":"slow"}`)["taskId"].(string)
		cancel := func(by machine) string {
			return stable(by.ask(takes(""), "tasks/cancel", id, fmt.Sprintf(`"taskId":%q`, id)))
		}
		for text, want := range map[string]string{
			stable(stranger.task(id)): "there is no task",
			cancel(stranger):          "there is no task",
			stable(watcher.task(id)):  `"working"`,
			cancel(watcher):           "kept for a caller with other rights",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("answered %s, want %s", text, want)
			}
		}
		if status := all.task(id)["status"]; status != "working" {
			t.Errorf("it is %v", status)
		}
		if text := cancel(ender); strings.Contains(text, "error") {
			t.Errorf("with the right to end tasks: %s", text)
		}
		if task := all.ended(id); task["status"] != "cancelled" {
			t.Errorf("it ended as %v", task)
		}
	})
}

// A task call of an action outside of a set does not exist for callers who are served the set,
// whatever their rights to tasks.
func TestTaskCallsStayInTheirSet(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		order := func() *toolfold.Family {
			f := shop(t, toolfold.Reads, "Which ")
			f.Server = "shop"
			return f
		}
		id, _ := newMachine(t, store, permission.Rules{}, 0, order()).call(takes(`,"elicitation":{}`), "order", `{}`)["taskId"].(string)
		for server, seen := range map[string]bool{"shop": true, "other": false} {
			m := newMachine(t, store, permission.Rules{Set: &permission.Set{Upstreams: map[string][]string{server: nil}}}, 0, order())
			m.rest()
			if got := stable(m.task(id)); id == "" || strings.Contains(got, "there is no task") == seen {
				t.Errorf("with a set of %s it is answered %s", server, got)
			}
		}
	})
}

// shop returns a tool that takes an order and asks for size and colour, as an action with the given
// effect.
func shop(t *testing.T, effect toolfold.Effect, question string) *toolfold.Family {
	t.Helper()
	family, err := toolfold.External{
		Name: "order", Description: "Takes an order.", Category: "shop", Effect: effect, BecomesTask: true,
		Run: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			order := map[string]json.RawMessage{}
			for _, what := range []string{"size", "colour"} {
				filled, err := ask.User(ctx, ask.Form{Text: question + what, Schema: json.RawMessage(
					`{"type":"object","properties":{"is":{"type":"string"}},"required":["is"]}`)})
				if err != nil {
					return nil, err
				}
				order[what] = filled.Content
			}
			return json.Marshal(order)
		},
	}.Family()
	if err != nil {
		t.Fatal(err)
	}
	return family
}

// asks waits until a task asks a question with a text, and returns its questions by key.
func (m machine) asks(id, text string) map[string]any {
	m.Helper()
	for end := time.Now().Add(patient); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		task := m.task(id)
		if questions, _ := json.Marshal(task["inputRequests"]); task["status"] == "input_required" && strings.Contains(string(questions), text) {
			return task["inputRequests"].(map[string]any)
		} else if task["result"] != nil {
			m.Fatalf("it ended as %v", task)
		}
	}
	m.Fatalf("task %s does not ask for %s", id, text)
	return nil
}

func (m machine) tells(id, key, content string) string {
	m.Helper()
	return stable(m.ask(takes(""), "tasks/update", id, fmt.Sprintf(`"taskId":%q,"inputResponses":{%q:{"action":"accept","content":%s}}`,
		id, key, content)))
}

// The questions and answers of a task call are stored with it: another process continues with both,
// asks nothing twice, and accepts answers even while no process runs the task.
func TestTaskCallsAsk(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		first := newMachine(t, store, permission.Rules{}, 0, shop(t, toolfold.Reads, "Which "))
		created := first.call(takes(`,"elicitation":{}`), "order", `{}`)
		id, _ := created["taskId"].(string)
		if created["resultType"] != "task" { // it may be input_required already
			t.Fatalf("it is answered %v", created)
		}
		questions := first.asks(id, "Which size")
		first.stop()
		second := newMachine(t, store, permission.Rules{}, 0, shop(t, toolfold.Reads, "Which "))
		if diff := cmp.Diff(questions, second.task(id)["inputRequests"]); diff != "" {
			t.Errorf("-first +second\n%s", diff)
		}
		stranger := newMachine(t, store, permission.Rules{Deny: []string{"memory.clear"}}, 0, shop(t, toolfold.Reads, "Which "))
		stranger.rest()
		if text := stranger.tells(id, "question", `{"is":"XL"}`); !strings.Contains(text, "other rights than yours") {
			t.Errorf("with other rights it is answered %s", text)
		}
		second.rest()
		second.tells(id, "question", `{"is":"M"}`)
		second.tells(id, "question", `{"is":"S"}`) // too late
		second.stop()
		third := newMachine(t, store, permission.Rules{}, 0, shop(t, toolfold.Reads, "Which "))
		if questions := third.asks(id, "Which colour"); len(questions) != 1 || questions["question-2"] == nil {
			t.Errorf("it asks %v", questions)
		}
		third.tells(id, "question-2", `{"is":"red"}`)
		done := third.ended(id)
		text, _ := json.Marshal(done["result"])
		if done["status"] != "completed" || !strings.Contains(string(text), `{\"colour\":{\"is\":\"red\"},\"size\":{\"is\":\"M\"}}`) {
			t.Errorf("it ended as %v", done)
		}
	})
}

// A call that may not be repeated ends with its process, also while it asks. A question that cannot
// be stored is not asked.
func TestUnrepeatableTaskCalls(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		first := newMachine(t, store, permission.Rules{}, 0, shop(t, toolfold.Reads, strings.Repeat("x", 1<<20)))
		large := stable(first.call(takes(`,"elicitation":{}`), "order", `{}`))
		if !strings.Contains(large, "LIMIT_REACHED") || !strings.Contains(large, "are kept with a task") {
			t.Errorf("a large question is answered %.300s", large)
		}
		first.stop()
		second := newMachine(t, store, permission.Rules{}, 0, shop(t, toolfold.Adds, "Which "))
		id := second.call(takes(`,"elicitation":{}`), "order", `{}`)["taskId"].(string)
		second.asks(id, "Which size")
		second.stop()
		third := newMachine(t, store, permission.Rules{}, 0, shop(t, toolfold.Adds, "Which "))
		if text, _ := json.Marshal(third.ended(id)); !strings.Contains(string(text), "is not known to be done") {
			t.Errorf("it ended as %s", text)
		}
	})
}

// A task call that was lost with its workers fails with the reason, and does not count as
// cancelled.
func TestLostTaskCall(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		m := newMachine(t, store, permission.Rules{}, 0, shop(t, toolfold.Reads, "Which "))
		id := m.call(takes(`,"elicitation":{}`), "order", `{}`)["taskId"].(string)
		for n := range maxInterruptions + 1 {
			for {
				record := m.does("task", `{"action":"status","taskId":"`+id+`"}`)
				if count, _ := record["interruptions"].(float64); record["status"] == "running" && int(count) >= n {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			m.stop()
			m = newMachine(t, store, permission.Rules{}, 0, shop(t, toolfold.Reads, "Which "))
		}
		lost := m.ended(id)
		failure, _ := lost["error"].(map[string]any)
		if lost["status"] != "failed" || failure["code"] != -32603.0 ||
			!strings.Contains(failure["message"].(string), "its process stopped or died") {
			t.Errorf("it ended as %v", lost)
		}
	})
}
