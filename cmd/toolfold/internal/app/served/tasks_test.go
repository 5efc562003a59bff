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

	"github.com/toolfold/toolfold/cmd/toolfold/internal/app"
	"github.com/toolfold/toolfold/cmd/toolfold/internal/queue"
	"github.com/toolfold/toolfold/cmd/toolfold/internal/storage"
	"github.com/toolfold/toolfold/cmd/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/internal/mcptest"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/config"
)

// slow is a workflow that waits three seconds, note one that answers at once, with more
// than an answer may have where many is large.
const (
	slow = `{name: Slow, steps: [
		{stepId: later, type: tool, config: {tool: task.submit, arguments: {name: later, type: wait, delayMs: 3600000}}},
		{stepId: pause, type: tool, config: {tool: task.wait, arguments: {taskId: "{{ steps.later.taskId }}", timeoutMs: 3000}}},
		{stepId: note, type: tool, config: {tool: memory.store, arguments: {key: slow/done, value: {done: true}}}}]}`
	note = `{name: Note, inputSchema: {type: object, properties: {text: {type: string}}, required: [text]}, steps: [
		{stepId: note, type: tool, config: {tool: memory.store, arguments: {key: note, value: {text: "{{ input.text }}"}}}},
		{stepId: read, type: tool, config: {tool: memory.get, arguments: {key: note}}}]}`
	perhaps = `{name: Perhaps, steps: [{stepId: if, type: conditional, config: {condition: "true",
		then: [{stepId: ask, type: prompt, config: {prompt: one}}]}}]}`
)

// machine is a server with a worker on a store that may be another one's too.
type machine struct {
	*testing.T
	http *mcptest.HTTP
	stop func()
}

func newMachine(t *testing.T, store string, rules permission.Rules, limit int) machine {
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
		Discovery: s.Discovery, Log: quiet, Now: time.Now, NewID: uuid.NewString, WorkspaceName: "vm:/shop", MaxInterruptions: 5,
		Rights: rules.Rights(),
	}
	families, err := app.Mount(host)
	if err == nil {
		err = s.Put(families...)
	}
	if err != nil {
		t.Fatal(err)
	}
	server, err := serve.New(serve.Options{Surface: s, Log: quiet, Tasks: host.Tasks(true)})
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
		}, s.Runner, queue.Options{Workspace: "vm:/shop", Tick: 20 * time.Millisecond, Grace: time.Millisecond, Lease: 2 * time.Second}).Work(ctx)
	}()
	web := httptest.NewServer(server.Handler(""))
	m := machine{t, mcptest.Started(t, web), sync.OnceFunc(func() {
		web.Close()
		cancel()
		<-ended
		db.Close()
	})}
	t.Cleanup(m.stop)
	return m
}

// eachDurable runs a test on both stores that outlive a process.
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

// takes is the metadata of a client that takes tasks, and offers what else is given.
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

func (m machine) task(id string) map[string]any {
	m.Helper()
	return m.ask(takes(""), "tasks/get", id, fmt.Sprintf(`"taskId":%q`, id))
}

// ended waits for the end of a task.
func (m machine) ended(id string) map[string]any {
	m.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(50 * time.Millisecond) {
		if task := m.task(id); task["status"] != "working" {
			return task
		}
	}
	m.Fatalf("task %s goes on", id)
	return nil
}

var (
	durations = regexp.MustCompile(`(urationMs\\?"):\d+`)
	times     = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	amounts   = regexp.MustCompile(`\d{3,}|x{3,}`) // of an answer that is cut, where the digits of durations move the cut
	ids       = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
)

// stable is a result without what differs between two runs.
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

// What was kept is answered as the call would have been: whole or in part, cut, by an old
// name, as the error of the run, or as the refusal of what cannot run.
func TestKeptCallsAnswerLikeCalls(t *testing.T) {
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
			kept := stable(m.call(takes(""), c.name, c.arguments))
			if diff := cmp.Diff(plain, kept); diff != "" {
				t.Errorf("%s %.80s: -call +kept\n%s", c.name, c.arguments, diff)
			}
		}
		rows := m.call(mcptest.ModernMeta, "task", `{"action":"list","queueId":"calls","include_fields":["total"]}`)
		if text, _ := json.Marshal(rows["content"]); !strings.Contains(string(text), `{\"total\":9}`) {
			t.Errorf("kept were %s, not what runs in the background", text)
		}
	})
}

// A kept call goes on in another process when the one that took it is gone, under the
// same id, and the task family knows it.
func TestKeptCallsMoveOn(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		first := newMachine(t, store, permission.Rules{}, 0)
		created := first.call(takes(""), "workflow", `{"action":"run","workflowId":"slow"}`)
		id, _ := created["taskId"].(string)
		if created["resultType"] != "task" || id == "" {
			t.Fatalf("it is answered %v", created)
		}
		first.stop()
		second := newMachine(t, store, permission.Rules{}, 0)
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

// To cancel a task ends its run, and its steps.
func TestCancelKeptCall(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		m := newMachine(t, store, permission.Rules{}, 0)
		id := m.call(takes(""), "workflow", `{"action":"run","workflowId":"slow"}`)["taskId"].(string)
		m.ask(takes(""), "tasks/cancel", id, fmt.Sprintf(`"taskId":%q`, id))
		if task := m.ended(id); task["status"] != "cancelled" || task["result"] != nil {
			t.Errorf("it ended as %v", task)
		}
		time.Sleep(1500 * time.Millisecond) // the note would be there by then
		text := stable(m.call(mcptest.ModernMeta, "memory", `{"action":"get","key":"slow/done"}`))
		if !strings.Contains(text, `\"found\":false`) {
			t.Errorf("its steps went on: %s", text)
		}
	})
}

// To wait for a task is answered by that task, and nothing is kept for it. Who cancels
// the wait does not cancel what was waited for.
func TestAwaitedTask(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		m := newMachine(t, store, permission.Rules{}, 0)
		var submitted struct{ TaskID string }
		content := m.call(mcptest.ModernMeta, "task", `{"action":"submit","name":"slow","workflowId":"slow"}`)["content"].([]any)
		if err := json.Unmarshal([]byte(content[0].(map[string]any)["text"].(string)), &submitted); err != nil {
			t.Fatal(err)
		}
		wait := `{"action":"wait","taskId":"` + submitted.TaskID + `"}`
		if waiting := m.call(takes(""), "task", wait); waiting["resultType"] != "task" || waiting["taskId"] != submitted.TaskID {
			t.Errorf("to wait is answered %v", waiting)
		}
		m.ask(takes(""), "tasks/cancel", submitted.TaskID, fmt.Sprintf(`"taskId":%q`, submitted.TaskID))
		task := m.ended(submitted.TaskID)
		result, _ := task["result"].(map[string]any)
		if diff := cmp.Diff(stable(m.call(mcptest.ModernMeta, "task", wait)), stable(result)); diff != "" || task["status"] != "completed" {
			t.Errorf("-call +task\n%s%v", diff, task)
		}
	})
}

// A client that lends its model runs what may ask it within the request.
func TestLentModelsKeepCallsPlain(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "memory:", permission.Rules{}, 0)
	asks := m.call(takes(`,"sampling":{}`), "workflow", `{"action":"run","workflowId":"perhaps"}`)
	if asks["resultType"] != "input_required" {
		t.Errorf("it is answered %v", asks)
	}
	if slow := m.call(takes(`,"sampling":{}`), "workflow", `{"action":"run","workflowId":"slow"}`); slow["resultType"] != "task" {
		t.Errorf("what asks no model is answered %v", slow)
	}
}

// A kept call has no more rights than the server that took it, wherever it runs.
func TestKeptCallsHaveTheServersRights(t *testing.T) {
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
