package served_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/permission"
)

// write writes a file of the workspace below its folder .toolfold.
func (m machine) write(name, text string) {
	m.Helper()
	path := filepath.Join(m.dir, ".toolfold", filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		m.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.Fatal(err)
	}
}

// refused calls an action and returns the text of its refusal.
func (m machine) refused(name, arguments string) string {
	m.Helper()
	result := m.call(mcptest.ModernMeta, name, arguments)
	if result["isError"] != true {
		m.Fatalf("%s %s: %v", name, arguments, result)
	}
	return textOf(result)
}

// greets is a script with a schema.
const greets = `{"action":"save","name":"greet","code":"return 'hello ' + input.who","overwrite":true,"inputSchema":
	{"type":"object","properties":{"who":{"type":"string"}},"required":["who"]}}`

// A script that one process saves runs by its name in another one. What ran can be saved by the id of its run.
func TestStoredScript(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		one, two := newMachine(t, store, permission.Rules{}, 0), newMachine(t, store, permission.Rules{}, 0)
		one.does("script", greets)
		for _, action := range []string{"run", "read"} {
			if out := two.does("script", `{"action":"`+action+`","name":"greet","input":{"who":"Ada"}}`); out["result"] != "hello Ada" {
				t.Error(out)
			}
		}
		text := two.refused("script", `{"action":"run","name":"greet","input":{}}`)
		if !strings.Contains(text, `"path":"/input/who","kind":"missing"`) {
			t.Error(text)
		}
		if text := two.refused("script", `{"action":"run","name":"gret"}`); !strings.Contains(text, `did you mean \"greet\"?`) {
			t.Error(text)
		}
		for i, begin := range []string{runs("return 'this ran'"), `{"action":"run","name":"greet","input":{"who":"Bob"}}`} {
			id, _ := newHasty(t, store, permission.Rules{}).call(takes(""), "script", begin)["taskId"].(string)
			two.ended(id)
			saved := two.does("script", fmt.Sprintf(`{"action":"save","name":"again%d","id":%q}`, i, id))
			shown := two.does("script", fmt.Sprintf(`{"action":"show","name":"again%d"}`, i))
			want := []string{"return 'this ran'", "return 'hello ' + input.who"}[i]
			if saved["saved"] != true || shown["code"] != want || shown["source"] != "registered" {
				t.Errorf("%v %v", saved, shown)
			}
		}
		text = two.refused("script", `{"action":"save","name":"x","id":"00000000-0000-4000-8000-000000000009"}`)
		if !strings.Contains(text, "there is no run") {
			t.Error(text)
		}
	})
}

// script.save without code and id saves the last run of its session that ended well, and of its caller if there
// is no session.
func TestSaveLastRun(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		m := newMachine(t, store, permission.Rules{}, 0)
		save := func(meta string) string {
			return textOf(m.call(meta, "script", `{"action":"save","name":"last","overwrite":true}`))
		}
		if got := save(mcptest.ModernMeta); !strings.Contains(got, "you have run no script that ended well") {
			t.Error(got)
		}
		m.does("script", runs("return 'first'"))
		m.does("script", runs("/*---\ninputSchema: {type: object}\n---*/\nreturn 'second'\n// more"))
		m.call(mcptest.ModernMeta, "script", runs("throw new Error('not this')"))
		m.does("script", `{"action":"read","code":"return 'read'"}`)
		m.does("memory", `{"action":"list"}`)
		if got := save(mcptest.ModernMeta); !strings.Contains(got, `saved last, from your last run: return 'second'"`) {
			t.Error(got)
		}
		if out := m.does("script", `{"action":"run","name":"last"}`); out["result"] != "second" {
			t.Error(out)
		}
		other := newMachine(t, store, permission.Rules{}, 0)
		other.does("script", runs("return 'of another process'"))
		if got := save(mcptest.ModernMeta); !strings.Contains(got, "of another process") {
			t.Error(got)
		}
		id := newHasty(t, store, permission.Rules{}).begin("/*---\ndescription: Fourth.\n---*/\nreturn 4")
		m.ended(id)
		if got := save(mcptest.ModernMeta); !strings.Contains(got, `from your last run: Fourth."`) {
			t.Error(got)
		}
	})
}

// Sessions do not save the runs of one another.
func TestSaveLastRunOfSession(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "memory:", permission.Rules{}, 0)
	begin := func() func(arguments string) string {
		h := mcptest.To(t, m.http.URL)
		h.Post(mcptest.Initialize)
		return func(arguments string) string {
			t.Helper()
			answer, status := h.Post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"script","arguments":` + arguments + `}}`)
			if status != http.StatusOK {
				t.Fatal(status, answer)
			}
			return answer
		}
	}
	one, two := begin(), begin()
	one(runs("return 'one'"))
	const save = `{"action":"save","name":"last"}`
	if got := two(save); !strings.Contains(got, "you have run no script that ended well") {
		t.Error(got)
	}
	m.does("script", runs("return 'no session'"))
	if got := one(save); !strings.Contains(got, "from your last run: return 'one'") {
		t.Error(got)
	}
}

// A run goes on with the script that it was begun with, although its file or the saved script changed.
func TestStoredScriptGoesOn(t *testing.T) {
	const source = `const paid = [(await till.pay({id: "1"})).paid];
		while (!(await memory.get({key: "go"})).found) await sleep(10); paid.push((await till.pay({id: "2"})).paid); return paid`
	eachDurable(t, func(t *testing.T, store string) {
		for _, kind := range []string{"file", "saved"} {
			t.Run(kind, func(t *testing.T) {
				till := &till{}
				one := newHasty(t, store, permission.Rules{}, till.family(t))
				change := func(m machine, code string) {
					if kind == "file" {
						m.write("scripts/pays.js", code)
						return
					}
					text, _ := json.Marshal(code)
					m.does("script", fmt.Sprintf(`{"action":"save","name":"pays","overwrite":true,"code":%s}`, text))
				}
				change(one, source)
				id, _ := one.call(takes(""), "script", `{"action":"run","name":"pays"}`)["taskId"].(string)
				one.until("paying", func() bool { return till.calls.Load() == 1 })
				one.stop()
				two := newMachine(t, store, permission.Rules{}, 0, till.family(t))
				change(two, "return 'changed'")
				two.does("memory", `{"action":"store","key":"go","value":1}`)
				out := two.does("script", fmt.Sprintf(`{"action":"run","id":%q}`, id))
				if fmt.Sprint(out["result"]) != "[1 2]" || till.calls.Load() != 2 {
					t.Errorf("%d calls, %v", till.calls.Load(), out)
				}
				if out := two.does("script", `{"action":"run","name":"pays"}`); out["result"] != "changed" {
					t.Error(out)
				}
				two.does("memory", `{"action":"delete","key":"go"}`)
				two.stop()
			})
		}
	})
}

// Tasks, schedules and steps of workflows run stored scripts. A task runs the script as it was when the
// task was submitted, a schedule the present one.
func TestStoredScriptAsTask(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		m := newMachine(t, store, permission.Rules{}, 0)
		m.does("script", greets)
		submit := func(more string) string {
			const input = `{"tool":"script.run","arguments":{"name":"greet","input":{"who":"Ada"}}}`
			return m.does("task", `{"action":"submit","name":"greets","input":`+input+more+`}`)["taskId"].(string)
		}
		output := func(id string) any {
			done := m.does("task", fmt.Sprintf(`{"action":"wait","taskId":%q}`, id))
			return fmt.Sprint(done["status"], " ", done["output"].(map[string]any)["result"])
		}
		if got := output(submit("")); got != "completed hello Ada" {
			t.Error(got)
		}
		later, schedule := submit(`,"delayMs":86400000`), submit(`,"schedule":"0 0 1 1 *"`)
		m.does("script", strings.Replace(greets, "hello", "good day", 1))
		m.does("task", fmt.Sprintf(`{"action":"trigger","taskId":%q}`, later))
		if got := output(later); got != "completed hello Ada" {
			t.Error(got)
		}
		made := m.does("task", fmt.Sprintf(`{"action":"trigger","taskId":%q}`, schedule))["taskId"].(string)
		if got := output(made); got != "completed good day Ada" {
			t.Error(got)
		}
		for arguments, want := range map[string]string{
			`{"name":"gret"}`:                          `did you mean \"greet\"?`,
			`{"name":"greet"}`:                         `"path":"/input/arguments/input/who","kind":"missing"`,
			`{"name":"greet","input":{"who":["Ada"]}}`: `"path":"/input/arguments/input/who","kind":"type"`,
		} {
			text := m.refused("task", `{"action":"submit","name":"x","input":{"tool":"script.run","arguments":`+arguments+`}}`)
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s", arguments, text)
			}
		}
		const steps = `{name: Greets, steps: [{stepId: greet, type: tool,
			config: {tool: script.run, arguments: {name: %s, input: {who: "{{ input.who }}"}}}}]}`
		m.write("workflows/greets.yaml", fmt.Sprintf(steps, "greet"))
		out := m.does("workflow", `{"action":"run","workflowId":"greets","input":{"who":"Bob"}}`)
		if got := fmt.Sprint(out["output"]); !strings.Contains(got, "good day Bob") {
			t.Error(out)
		}
		out = m.does("workflow", `{"action":"run","workflowId":"greets","input":{"who":"Bob"},"dryRun":true}`)
		if got := fmt.Sprint(out["dryRun"]); !strings.Contains(got, `step greet: its script may run agents, which call models`) {
			t.Error(out)
		}
		wrong := strings.NewReplacer("script.run", "script.read", `"{{ input.who }}"`, "[1]").Replace(steps)
		for text, want := range map[string]string{
			fmt.Sprintf(steps, "gret"):  "known script",
			fmt.Sprintf(wrong, "greet"): "/steps/0/config/arguments/input/who",
		} {
			definition, _ := json.Marshal(text)
			checked := m.does("workflow", fmt.Sprintf(`{"action":"check","definition":%s}`, definition))
			if got := fmt.Sprint(checked["problems"]); checked["valid"] != false || !strings.Contains(got, want) {
				t.Error(checked)
			}
		}
	})
}

// A caller who only reads saves and deletes nothing, and a script gives it no further rights.
func TestStoredScriptRights(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		all, reads := newMachine(t, store, permission.Rules{}, 0), newMachine(t, store, permission.Rules{ReadOnly: true}, 0)
		all.does("script", `{"action":"save","name":"writes","code":"await memory.store({key: 'k', value: 1})"}`)
		all.does("script", `{"action":"save","name":"hides","code":"const store = 'store'; await memory[store]({key: 'k', value: 1})"}`)
		for _, call := range []string{
			`{"action":"save","name":"x","code":"return 1"}`, `{"action":"delete","name":"writes"}`, `{"action":"run","name":"writes"}`,
			`{"action":"read","name":"writes"}`, `{"action":"read","name":"hides"}`,
		} {
			reads.refused("script", call)
		}
		if out := all.does("script", `{"action":"list"}`); out["total"] != 2.0 {
			t.Error(out)
		}
		if out := all.does("memory", `{"action":"list"}`); out["total"] != 0.0 {
			t.Error(out)
		}
	})
}

// The calls of a script that another one calls have the rights that the caller and whoever saved it have in
// common, also those of a workflow that it runs.
func TestInnerScriptRights(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		all := newMachine(t, store, permission.Rules{}, 0)
		denied := newMachine(t, store, permission.Rules{Deny: []string{"memory.store"}}, 0)
		denied.rest() // its worker lacks the action
		for _, c := range []struct {
			saver, caller machine
			want          float64
		}{{all, all, 2}, {denied, all, 0}, {all, denied, 0}} {
			text, _ := json.Marshal(`const tried = [];
				for (const [name, args] of [["memory.store", {key: "a", value: 1}], ["workflow.run", {workflowId: "note", input: {text: "b"}}]])
					try { await tools.call(name, args); tried.push(name) } catch (e) { tried.push(e.message) }
				return tried`)
			all.does("script", `{"action":"delete","name":"sneak"}`)
			c.saver.does("script", fmt.Sprintf(`{"action":"save","name":"sneak","code":%s}`, text))
			out := c.caller.does("script", runs(`return scripts.sneak()`))
			if total := all.does("memory", `{"action":"list"}`)["total"]; total != c.want {
				t.Errorf("%v wrote %v, want %v", out, total, c.want)
			}
			all.does("memory", `{"action":"clear","namespace":"default","confirm":true}`)
		}
	})
}
