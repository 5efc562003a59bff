package served_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// answerFunc calls a tool and answers its question; reply is the user's answer as JSON. question is
// empty if the call asks nothing.
type answerFunc func(name, arguments, reply string) (question, answer string)

// modernUser returns a client of 2026-07-28 with a user, which takes tasks.
func modernUser(t *testing.T, m machine) answerFunc {
	return userOf(t, m, takes(`,"elicitation":{"form":{}}`))
}

// userOf returns a client of 2026-07-28 with a user, and with the metadata of its requests.
func userOf(t *testing.T, m machine, meta string) answerFunc {
	return func(name, arguments, reply string) (question, answer string) {
		t.Helper()
		first := m.call(meta, name, arguments)
		if first["resultType"] != "input_required" {
			return "", stable(first)
		}
		requests := first["inputRequests"].(map[string]any)
		if len(requests) != 1 {
			t.Fatalf("asked %v", requests)
		}
		for key, request := range requests {
			text, _ := json.Marshal(request)
			question = string(text)
			return question, stable(m.ask(meta, "tools/call", name, fmt.Sprintf(
				`"name":%q,"arguments":%s,"requestState":%q,"inputResponses":{%q:%s}`, name, arguments, first["requestState"], key, reply)))
		}
		return
	}
}

// oldUser returns a client of 2025-11-25 with a user, on stdio.
func oldUser(t *testing.T) answerFunc {
	s, _ := newWorkbench(t, surface.Consolidated, serve.Limits{})
	in, write := io.Pipe()
	read, out := io.Pipe()
	go func() { _ = s.Stdio(t.Context(), in, out) }()
	lines := bufio.NewScanner(read)
	next := func() string {
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
		return lines.Text()
	}
	fmt.Fprintln(write, strings.Replace(mcptest.Initialize, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
	next()
	return func(name, arguments, reply string) (question, answer string) {
		t.Helper()
		fmt.Fprintf(write, `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", name, arguments)
		var request struct {
			ID     json.RawMessage
			Method string
		}
		answer = next()
		if err := json.Unmarshal([]byte(answer), &request); err != nil {
			t.Fatal(err)
		}
		if request.Method == "elicitation/create" {
			question = answer
			fmt.Fprintf(write, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", request.ID, reply)
			answer = next()
		}
		return question, answer
	}
}

const (
	agrees   = `{"action":"accept","content":{}}`
	declines = `{"action":"decline"}`
	closes   = `{"action":"cancel"}`
)

// Deleting more than one entry asks the user first, in both eras, and deletes nothing unless the
// user agrees. A confirmation parameter, a single entry and a dry run need no question.
func TestDeletingManyAsks(t *testing.T) {
	t.Run("2025-11-25", func(t *testing.T) {
		t.Parallel()
		deletes(t, oldUser(t))
	})
	t.Run("2026-07-28", func(t *testing.T) {
		eachDurable(t, func(t *testing.T, store string) {
			deletes(t, modernUser(t, newMachine(t, store, permission.Rules{}, 0)))
		})
	})
}

func deletes(t *testing.T, user answerFunc) {
	fill := func() {
		t.Helper()
		for i := range 7 {
			user("memory", fmt.Sprintf(`{"action":"store","key":"k%d","value":{}}`, i), "")
		}
	}
	left := func() string {
		_, answer := user("memory", `{"action":"list","include_fields":["total"]}`, "")
		return answer
	}
	for _, c := range []struct {
		arguments, reply string
		question, answer string // parts of them; an empty question means that there is none
		left             int
	}{
		{`{"action":"bulk_delete","prefix":"k"}`, declines, `of memory in workspace \"`, `the user declined: nothing was deleted`, 7},
		{`{"action":"bulk_delete","prefix":"k"}`, closes, `those that begin with \"k\"`, `the user closed the question: nothing was deleted`, 7},
		{`{"action":"bulk_delete","prefix":"k"}`, agrees, `Delete 7 entries`, `\"deleted\":7`, 0},
		{`{"action":"bulk_delete","keys":["k1","k2","none"]}`, declines, `[\"k1\" \"k2\"]`, `nothing was deleted`, 7},
		{`{"action":"bulk_delete","keys":["k0","k1","k2","k3","k4","k5"]}`, agrees, `and others`, `\"deleted\":6`, 1},
		{`{"action":"bulk_delete","keys":["k1","none"]}`, declines, ``, `\"deleted\":1`, 6},
		{`{"action":"bulk_delete","prefix":"k","dryRun":true}`, declines, ``, `\"wouldDelete\":7`, 7},
		{`{"action":"bulk_delete"}`, declines, ``, `neither keys nor prefix`, 7},
		{`{"action":"clear","namespace":"default","confirm":true}`, declines, ``, `\"cleared\":7`, 0},
		{`{"action":"clear","namespace":"default","confirm":false}`, declines, `all of them`, `nothing was deleted`, 7},
		{`{"action":"clear","namespace":"default","confirm":false}`, agrees, `Delete 7 entries`, `\"cleared\":7`, 0},
		{`{"action":"clear","namespace":"default","confirm":false,"purge":true}`, declines, ` earlier versions from namespace`,
			`nothing was deleted`, 7},
	} {
		fill()
		question, answer := user("memory", c.arguments, c.reply)
		if (question == "") != (c.question == "") || !strings.Contains(plainText(question), strings.ReplaceAll(c.question, `\"`, `"`)) {
			t.Errorf("%s asks %s", c.arguments, question)
		}
		if !strings.Contains(answer, c.answer) {
			t.Errorf("%s %s is answered %s", c.arguments, c.reply, answer)
		}
		if now := left(); !strings.Contains(now, fmt.Sprintf(`\"total\":%d`, c.left)) {
			t.Errorf("%s %s leaves %s, not %d", c.arguments, c.reply, now, c.left)
		}
	}
}

// plainText removes the backslashes of nested strings.
func plainText(text string) string { return strings.ReplaceAll(text, `\`, "") }

// For hosts without a user, the call is done or refused, as in earlier versions.
func TestNoClientToAsk(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "memory:", permission.Rules{}, 0)
	for i := range 3 {
		m.call(mcptest.ModernMeta, "memory", fmt.Sprintf(`{"action":"store","key":"k%d","value":{}}`, i))
	}
	for arguments, want := range map[string]string{
		`{"action":"clear","namespace":"default","confirm":false}`: `CONFIRMATION_REQUIRED`,
		`{"action":"bulk_delete","prefix":"k"}`:                    `\"deleted\":3`,
	} {
		for _, meta := range []string{mcptest.ModernMeta, takes(`,"elicitation":{"url":{}}`)} {
			answer := stable(m.call(meta, "memory", arguments))
			if !strings.Contains(answer, want) && !strings.Contains(answer, `\"deleted\":0`) {
				t.Errorf("%s is answered %s", arguments, answer)
			}
		}
	}
}

// A run of a workflow asks for missing input if a person can type it. Steps do not ask.
func TestMissingInputIsRequested(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "memory:", permission.Rules{}, 0)
	user := modernUser(t, m)
	run := `{"action":"run","workflowId":"note"}`
	question, answer := user("workflow", run, `{"action":"accept","content":{"text":"typed"}}`)
	if !strings.Contains(question, `"properties":{"text":{"type":"string"}}`) || !strings.Contains(question, `"required":["text"]`) {
		t.Errorf("asked %s", question)
	}
	if !strings.Contains(answer, `\"text\":\"typed\"`) || !strings.Contains(answer, `\"success\":true`) {
		t.Errorf("answered %s", answer)
	}
	if _, answer := user("workflow", run, declines); !strings.Contains(answer, "nothing was run") {
		t.Errorf("declined: %s", answer)
	}
	if _, answer := user("workflow", run, `{"action":"accept","content":{"text":7}}`); !strings.Contains(answer, "does not fit") {
		t.Errorf("filled in wrong: %s", answer)
	}
	if question, answer := user("workflow", `{"action":"run","workflowId":"note","input":{"text":7}}`, declines); question != "" ||
		!strings.Contains(answer, "INVALID_INPUT") {
		t.Errorf("what is wrong, not missing, is asked %s and answered %s", question, answer)
	}
	registered := m.call(mcptest.ModernMeta, "agent", `{"action":"register","agentId":"wiper","description":"Wipes.","workflow":[`+
		`{"stepId":"x","name":"Wipe","type":"tool","config":{"tool":"memory.bulk_delete","arguments":{"keys":["note","other"]}}}]}`)
	m.call(mcptest.ModernMeta, "memory", `{"action":"store","key":"other","value":{}}`)
	if question, answer := user("agent", `{"action":"run","agentId":"wiper"}`, declines); question != "" ||
		!strings.Contains(answer, `\"deleted\":2`) {
		t.Errorf("%v: a step asks %s and answers %s", registered["isError"], question, answer)
	}
}
