package task_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/toolfoldtest"
	"github.com/toolfold/toolfold/tools/memory"
	"github.com/toolfold/toolfold/tools/task"
	"github.com/toolfold/toolfold/tools/workflow"
)

// A submit is refused if the task cannot run, or would run without some of its arguments.
func TestWorkIsChecked(t *testing.T) {
	t.Parallel()
	db := storagetest.Open(t, "memory:")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"deploy.yaml": "name: Deploy\ninputSchema: {type: object, required: [to], properties: {to: {enum: [here, there]}, fast: {type: " +
			"boolean, default: true}}}\nsteps:\n  - {stepId: list, type: tool, config: {tool: memory.list}}\n",
		"either.yaml": "name: Either\ninputSchema: {type: object, oneOf: [{required: [a], properties: {a: {type: integer}}}, " +
			"{required: [b], properties: {a: {type: string}}}]}\nsteps:\n  - {stepId: list, type: tool, config: {tool: memory.list}}\n",
		"asks.yaml": "name: Asks\nsteps:\n" +
			"  - {stepId: p, type: parallel, config: {steps: [{stepId: a, type: prompt, config: {prompt: Hello}}]}}\n",
		"named.yaml": "name: Named\nsteps:\n  - {stepId: a, type: prompt, config: {prompt: Hello, provider: cat}}\n",
		"may.yaml": "name: May\nsteps:\n" +
			"  - {stepId: c, type: conditional, config: {condition: input.ask == 1, " +
			"then: [{stepId: a, type: prompt, config: {prompt: Hello}}]}}\n" +
			"  - {stepId: d, type: prompt, continueOnError: true, config: {prompt: Hello}}\n",
		"draft.yaml": "name: Draft\nstatus: draft\nsteps:\n  - {stepId: list, type: tool, config: {tool: memory.list}}\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(workflow.Folder), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	s := surface.New(surface.Options{Log: log})
	err := s.Put(
		toolfoldtest.Mount(t, memory.Family, memory.New(db.Memory(memory.History{}), time.Now)),
		toolfoldtest.Mount(t, workflow.Family, workflow.New(workspace.Folder{Dir: dir}, &engine.Runner{Caller: s.Runner, Now: time.Now, Log: log},
			s.Runner)),
		toolfoldtest.Mount(t, task.Family, task.New(task.Options{
			Store: db.Task(), Caller: s.Runner, Names: s.Runner, Now: time.Now, NewID: uuid.NewString, Workspace: place,
			NoModel: engine.NewProviders(func() (map[string]any, error) {
				return map[string]any{"providers": map[string]any{
					"cat": map[string]any{"type": "command", "command": []any{"cat"}}, "client": map[string]any{"type": "sampling"},
				}}, nil
			}, "").Refusal,
		})),
	)
	if err != nil {
		t.Fatal(err)
	}
	first := string(s.Runner.Call(t.Context(), "task.submit", json.RawMessage(`{"name":"first","input":{"tool":"memory.list"}}`)).Content)
	var before struct{ TaskID string }
	if err := json.Unmarshal([]byte(first), &before); err != nil {
		t.Fatal(err)
	}
	references := ""
	for i := range 12 {
		references += fmt.Sprintf(`"%s%d":"{{ tasks.%s%d.output }}",`, strings.Repeat("a", 80), i, strings.Repeat("b", 60), i)
	}
	for _, test := range []struct{ args, want string }{
		{`{"input":{"tool":"memory.store","arguments":{"key":"a","value":{}}}}`, `"status":"queued"`},
		{`{"input":{"tool":"memory","arguments":{"action":"store","key":"a","value":{}}}}`, `"status":"queued"`},
		{`{"input":{"tool":"memory","arguments":{"action":"store","params":{"key":"a","value":{}}}}}`, `"status":"queued"`},
		{`{"input":{"tool":"memory_list"}}`, `"status":"queued"`},
		{`{"workflowId":"deploy","input":{"to":"here"}}`, `"status":"queued"`},

		{`{"dependencies":["ID"],"input":{"tool":"memory.list","arguments":{"limit":"{{ tasks.first.output.total }}"}}}`, `"status":"pending"`},
		{`{"dependencies":["ID"],"input":{"tool":"memory.store","arguments":"{{ tasks['ID'].output }}"}}`, `"status":"pending"`},
		{`{"dependencies":["ID"],"workflowId":"deploy","input":{"to":"{{ tasks.first.output.to }}"}}`, `"status":"pending"`},
		{`{"input":{"tool":"memory.store","arguments":{"key":"a","value":"a prompt with {{ input.name }}"}}}`, `"status":"queued"`},

		{`{"input":{"tool":"memory.store","arguments":{"key":"{{ tasks.first.output }}","value":1}}}`,
			`refers to \"first\", which is the name or id of no dependency`},
		{`{"dependencies":["ID"],"input":{"tool":"memory.store","arguments":{"key":"{{ tasks.second.output }}","value":1}}}`,
			`refers to \"second\"`},
		{`{"dependencies":["ID"],"input":{"tool":"memory.store","arguments":{"key":"{{ tasks.first.output","value":1}}}`, `{{ without }}`},
		{`{"dependencies":["ID"],"input":{"tool":"memory.store","arguments":{"key":"{{ tasks['fi'+'rst'] }}","value":1}}}`, `it names no task`},
		{`{"dependencies":["ID"],"input":{"tool":"memory.list","arguments":{"limit":"{{ tasks.first.output }}","ofset":1}}}`, `ofset`},

		{`{"input":{"tool":"memory.store","arguments":{"keey":"a","value":{}}}}`,
			`{"path":"/input/arguments/keey","kind":"unknown","suggest":"key"}`},
		{`{"input":{"tool":"memory.store","arguments":{"keey":"a","value":{}}}}`, `"usage":"memory.store(`},
		{`{"input":{"tool":"memory.store","arguments":"x"}}`, `arguments must be`},
		{`{"input":{"tool":"memory.list","arguments":{"limit":0}}}`, `/input/arguments/limit`},
		{`{"input":{"tool":"memory"}}`, `{"path":"/input/arguments/action","kind":"missing"`},
		{`{"input":{"tool":"memory.export","args":{"namespace":"x"}}}`, `{"path":"/input/args","kind":"unknown","suggest":"arguments"}`},
		{`{"input":{"tool":"memory.list","argumetns":{}}}`, `"suggest":"arguments"`},
		{`{"workflowId":"deploy"}`, `{"path":"/input/to","kind":"missing"}`},
		{`{"workflowId":"deploy","input":{"to":"nowhere"}}`, `"allowed":["here","there"]`},
		// What a placeholder decides is no false alarm.
		{`{"dependencies":["ID"],"workflowId":"deploy","input":{"to":"here","fast":"{{ tasks.first.output.fast }}"}}`, `"status":"pending"`},
		{`{"dependencies":["ID"],"workflowId":"either","input":{"a":"{{ tasks.first.output }}"}}`, `"status":"pending"`},
		{`{"dependencies":["ID"],"workflowId":"deploy","input":{"fast":"{{ tasks.first.output.fast }}"}}`,
			`"path":"/input/to","kind":"missing"`},
		{`{"dependencies":["ID"],"input":{"tool":"workflow.run","arguments":{"workflowId":"deploy","input":"{{ tasks.first.output }}"}}}`,
			`"status":"pending"`},
		// The input of a workflow that a tool runs.
		{`{"input":{"tool":"workflow.run","arguments":{"workflowId":"deploy","input":{"to":"here"}}}}`, `"status":"queued"`},
		{`{"input":{"tool":"workflow.run","arguments":{"workflowId":"deploy","input":{"to":"away"}}}}`,
			`"path":"/input/arguments/input/to","kind":"enum"`},
		{`{"input":{"tool":"workflow","arguments":{"action":"run","params":{"workflowId":"deploy"}}}}`,
			`"path":"/input/arguments/input/to","kind":"missing"`},
		{`{"input":{"tool":"workflow","arguments":{"action":"run","params":{"workflowId":"deploy","input":{"to":1}}}}}`,
			`"path":"/input/arguments/params/input/to"`},
		{`{"input":{"tool":"workflow.run","arguments":{"workflowId":"deploy","input":"{\"to\":\"here\"}"}}}`, `"status":"queued"`},
		{`{"input":{"tool":"workflow.run","arguments":{"workflowId":"deploy","input":"{\"to\":\"away\"}"}}}`,
			`"path":"/input/arguments/input/to","kind":"enum"`},
		{`{"input":{"tool":"workflow.run","arguments":{"workflowId":"deploy","input":null}}}`,
			`"path":"/input/arguments/input/to","kind":"missing"`},
		{`{"input":{"tool":"workflow","arguments":{"action":"run","params":"{\"workflowId\":\"deploy\",\"input\":{\"to\":\"here\"}}"}}}`,
			`"status":"queued"`},
		// All at once.
		{`{"queueId":"nowhere","workflowId":"deploi"}`, `there is no queue \"nowhere\"; there is no workflow \"deploi\"`},
		{`{"queueId":"nowhere","workflowId":"deploy","input":{"to":"away","fast":[]}}`, `"path":"/input/fast","kind":"type"`},
		{`{"queueId":"nowhere","workflowId":"deploy","input":{"to":"away","fast":[]}}`, `there is no queue \"nowhere\"; input/fast must be`},
		{`{"workflowId":"deploy","input":{"to":"{{ tasks.a.output }}","x":"{{ tasks.b.output }}","fast":[]}}`,
			`\"b\", which is the name or id of no dependency; `},
		// As many as about 200 tokens have room for.
		{`{"queueId":"` + strings.Repeat("nowhere", 9) + `","workflowId":"deploy","input":{` + references + `"fast":[]}}`,
			`which is the name or id of no dependency; … and 12 more"`},
		{`{"workflowId":"deploi","input":{}}`, `did you mean \"deploy\"?`},
		{`{"workflowId":"named"}`, `"status":"queued"`},
		{`{"workflowId":"may"}`, `"status":"queued"`},
		{`{"workflowId":"asks"}`,
			`"code":"PROVIDER_NOT_CONFIGURED","message":"workflow asks asks a model, and a task has no client to lend it one`},
		{`{"input":{"tool":"workflow.run","arguments":{"workflowId":"asks"}}}`, `toolfold call config.set`},
		{`{"workflowId":"draft"}`, `WORKFLOW_NOT_ACTIVE`},
		{`{"workflowId":"deploy","agentId":"x","input":{"to":"here"}}`, `one of agentId, workflowId and input.tool`},
		{`{"workflowId":"deploy","input":{"tool":"memory.list"}}`, `one of agentId, workflowId and input.tool`},
	} {
		args := strings.ReplaceAll(strings.Replace(test.args, "{", `{"name":"n",`, 1), "ID", before.TaskID)
		answer := string(s.Runner.Call(t.Context(), "task.submit", json.RawMessage(args)).Content)
		if !strings.Contains(answer, test.want) || len(answer) > 640 {
			t.Errorf("%s answered %s, want %s", args, answer, test.want)
		}
	}
	list := string(s.Runner.Call(t.Context(), "task.list", json.RawMessage(`{}`)).Content)
	if want := fmt.Sprintf(`"total":%d`, 18); !strings.Contains(list, want) {
		t.Errorf("what was refused left tasks behind: %s, want %s", list, want)
	}
}
