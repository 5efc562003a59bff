package served_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/permission"
)

// paysOnce has a script in a step, which pays twice, and a step that reads what it returned.
const paysOnce = `{name: Pays, inputSchema: {type: object, properties: {id: {type: string}}, required: [id]}, steps: [
	{stepId: pay, type: script, continueOnError: true, config: {input: {first: "{{ input.id }}"}, code: "
		const braces = '{{ input.id }}'; const paid = [(await till.pay({id: input.first})).paid];
		while (!(await memory.get({key: 'go'})).found) await sleep(10);
		paid.push((await door.pay({id: '2'})).paid); return {paid, braces}"}},
	{stepId: keep, type: tool, config: {tool: memory.store, arguments: {key: kept,
		value: {paid: "{{ steps.pay.paid }}", braces: "{{ steps.pay.braces }}"}}}}]}`

// submit begins a workflow as a task.
func (m machine) submit(workflow string) (id string) {
	m.Helper()
	id, _ = m.does("task", fmt.Sprintf(`{"action":"submit","name":"w","workflowId":%q,"input":{"id":"1"}}`, workflow))["taskId"].(string)
	return id
}

// finished returns the task of a workflow when it has ended.
func (m machine) finished(id string) map[string]any {
	m.Helper()
	m.does("task", fmt.Sprintf(`{"action":"wait","taskId":%q,"timeoutMs":50000}`, id))
	return m.does("task", fmt.Sprintf(`{"action":"status","taskId":%q}`, id))
}

// A script in a step of a workflow goes on in another process after its last answer. Its result is the output of
// the step, and its code has no placeholders.
func TestScriptStepGoesOn(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		till := &till{}
		one := newHasty(t, store, permission.Rules{}, till.family(t), open(t))
		one.write("workflows/pays.yaml", paysOnce)
		id := one.submit("pays")
		one.until("paying", func() bool { return till.calls.Load() == 1 })
		one.stop()
		two := newMachine(t, store, permission.Rules{}, 0, till.family(t), open(t))
		two.write("workflows/pays.yaml", paysOnce)
		two.does("memory", `{"action":"store","key":"go","value":1}`)
		if task := two.finished(id); task["status"] != "completed" || till.calls.Load() != 1 {
			t.Errorf("%v, %d calls", task, till.calls.Load())
		}
		kept := fmt.Sprint(two.does("memory", `{"action":"get","key":"kept"}`)["value"])
		if kept != "map[braces:{{ input.id }} paid:[1 2]]" {
			t.Error(kept)
		}
	})
}

// A call of a script that may have been done ends the workflow, also past continueOnError, and is named. task.retry
// makes it again, and no other call.
func TestScriptStepStopsAtUnknown(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		const pays = `{name: Pays, steps: [{stepId: pay, type: script, continueOnError: true, config: {code:
			"for (;;) try { await door.pay({id: '0'}); await till.pay({id: '1'}); return 'paid' } catch {}"}},
			{stepId: keep, type: tool, config: {tool: memory.store, arguments: {key: kept, value: {paid: "{{ steps.pay }}"}}}}]}`
		shut, door := &till{shut: make(chan struct{})}, &till{}
		one := newHasty(t, store, permission.Rules{}, shut.family(t), door.named(t, "door"))
		one.write("workflows/pays.yaml", pays)
		id := one.submit("pays")
		one.until("paying", func() bool { return shut.calls.Load() == 1 })
		one.stop()
		till := &till{}
		two := newMachine(t, store, permission.Rules{}, 0, till.family(t), door.named(t, "door"))
		two.write("workflows/pays.yaml", pays)
		text, _ := json.Marshal(two.finished(id))
		for _, want := range []string{
			`"status":"failed"`, `"unknown":[{"action":"till.pay","arguments":{"id":"1"},"call":2}]`, `"writes":{"door.pay":1}`,
			`INTERRUPTED: call 2, till.pay, was under way`, `task.retry of the task makes them again`,
		} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %s", text, want)
			}
		}
		if found := two.does("memory", `{"action":"get","key":"kept"}`)["found"]; found != false || till.calls.Load() != 0 {
			t.Errorf("%v, %d calls", found, till.calls.Load())
		}
		two.does("task", fmt.Sprintf(`{"action":"retry","taskId":%q}`, id))
		if task := two.finished(id); task["status"] != "completed" || till.calls.Load() != 1 || door.calls.Load() != 1 {
			t.Errorf("%v, %d and %d calls", task, till.calls.Load(), door.calls.Load())
		}
	})
}

// workflow.check finds what is wrong with a script of a step: its text, its name, its input, and retry.
func TestScriptStepIsChecked(t *testing.T) {
	m := newMachine(t, "memory:", permission.Rules{}, 0)
	m.does("script", `{"action":"save","name":"greet","code":"return input.who","inputSchema":{"type":"object",`+
		`"properties":{"who":{"type":"string"}},"required":["who"]}}`)
	for _, c := range [][2]string{
		{`config: {code: "return memory.stats({})"}`, ""},
		{`config: {name: greet, input: {who: "{{ input.x }}"}}`, ""},
		{`config: {name: "{{ input.x }}"}`, ""},
		{`config: {code: "return '{{ input.x }}'"}`, ""},
		{`config: {code: "const a = 1;\nawait memory.gett({})"}`, "code format script that can run: line 2, column 7: memory.gett is no"},
		{`config: {code: "let x: number = 1"}`, "code format script that can run: line 1"},
		{`config: {name: gret}`, "name format known script"},
		{`config: {name: greet, input: {whom: a}}`, "input/who missing"},
		{`config: {name: greet, code: return 1}`, "name format code or name"},
		{`config: {input: 1}`, "code missing"},
		{`config: {code: return 1, tool: x}`, "tool unknown"},
		{`config: {code: return 1}, retry: {maxAttempts: 2}`, "retry format script that tries again itself"},
		{`config: {code: return 1}}, {stepId: b, type: prompt, config: {prompt: "{{ steps.a.x.y }}"}`, ""},
	} {
		step, want := c[0], c[1]
		text := "{name: A, steps: [{stepId: a, type: script, " + strings.ReplaceAll(step, "\n", `\n`) + "}]}"
		definition, _ := json.Marshal(text)
		checked := m.does("workflow", fmt.Sprintf(`{"action":"check","definition":%s}`, definition))
		var got []string
		problems, _ := checked["problems"].([]any)
		for _, one := range problems {
			p := one.(map[string]any)
			got = append(got, fmt.Sprint(p["path"], " ", p["kind"], " ", p["want"]))
		}
		if all := strings.Join(got, "; "); (want == "") != (checked["valid"] == true) || !strings.Contains(all, want) {
			t.Errorf("%s: %s", text, all)
		}
	}
}

// A step has the rights that its caller and the caller that saved the script have in common.
func TestScriptStepRights(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		const flow = `{name: Sneaks, steps: [{stepId: a, type: script, config: {name: sneak}}]}`
		all := newMachine(t, store, permission.Rules{}, 0)
		all.write("workflows/sneaks.yaml", flow)
		denied := newMachine(t, store, permission.Rules{Deny: []string{"memory.store"}}, 0)
		denied.write("workflows/sneaks.yaml", flow)
		denied.rest() // its worker lacks the action
		for _, c := range []struct {
			saver, caller machine
			want          float64
		}{{all, all, 1}, {denied, all, 0}, {all, denied, 0}} {
			all.does("script", `{"action":"delete","name":"sneak"}`)
			c.saver.does("script", `{"action":"save","name":"sneak",`+
				`"code":"const store = 'store'; await memory[store]({key: 'a', value: 1}).catch(() => 0)"}`)
			out := c.caller.call(waits, "workflow", `{"action":"run","workflowId":"sneaks"}`)
			if total := all.does("memory", `{"action":"list"}`)["total"]; total != c.want {
				t.Errorf("%v wrote %v, want %v", out, total, c.want)
			}
			all.does("memory", `{"action":"clear","namespace":"default","confirm":true}`)
		}
	})
}

// A script in a step of a workflow that is no task is not recorded either: it leaves no run that outlives the
// workflow, and none that somebody could go on with.
func TestScriptStepOfDirectRun(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		m := newMachine(t, store, permission.Rules{}, 0)
		m.write("workflows/asks.yaml", `{name: Asks, steps: [
			{stepId: first, type: script, config: {code: "return await memory.store({key: 'a', value: 1})"}},
			{stepId: ask, type: script, config: {code: "await scripts.confirm('Go on?'); await memory.store({key: 'b', value: 1})"}}]}`)
		text, _ := json.Marshal(m.does("workflow", `{"action":"run","workflowId":"asks"}`))
		if !strings.Contains(string(text), "nobody could be asked") || strings.Contains(string(text), "outcome") {
			t.Errorf("%s", text)
		}
		if tasks, _ := m.does("task", `{"action":"list"}`)["tasks"].([]any); len(tasks) > 0 {
			t.Errorf("it left the tasks %v", tasks)
		}
	})
}
