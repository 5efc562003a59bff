package served_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/run/script"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/permission"
)

// cautious is a host whose scripts wait for the user before each write.
func cautious(h *app.Host) { h.ScriptsConfirm = script.Writes }

const paysTwice = `const paid = await Promise.all(["1", "2"].map(id => till.pay({id}))); paid.push(await till.pay({id: "3"}));
	return paid.map(p => p.paid)`

const allPaid = `"result":["1","2","3"]`

// answering is the reply of a user who chooses an answer.
func answering(choice string) string {
	return fmt.Sprintf(`{"action":"accept","content":{"answer":%q}}`, choice)
}

// A run asks the user of its client before its writes. After the end of its process the question stays, also for
// another process, and its answer is not asked for again. Nothing is paid before it, and nothing twice.
func TestScriptWritesWait(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		till := &till{}
		user := userOf(t, newMachineWith(t, store, patient, permission.Rules{}, 0, cautious, till.family(t)), waits)
		question, answer := user("script", runs(paysTwice), answering(script.All))
		answer = strings.ReplaceAll(answer, `\`, "")
		if !strings.Contains(question, "till.pay ×2: ") || !strings.Contains(answer, allPaid) || till.calls.Load() != 3 {
			t.Errorf("asked %s, answered %s", question, answer)
		}
		question, answer = user("script", runs(paysTwice), answering(script.Stop))
		if question == "" || !strings.Contains(answer, "USER_DECLINED") || till.calls.Load() != 3 {
			t.Errorf("asked %s, answered %s", question, answer)
		}
		one := newMachineWith(t, store, -1, permission.Rules{}, 0, cautious, till.family(t))
		id, _ := one.call(takes(`,"elicitation":{"form":{}}`), "script", runs(paysTwice))["taskId"].(string)
		one.asks(id, "till.pay ×2")
		one.stop()
		two := newMachineWith(t, store, -1, permission.Rules{}, 0, cautious, till.family(t))
		for key := range two.asks(id, "till.pay ×2") {
			two.tells(id, key, fmt.Sprintf(`{"answer":%q}`, script.These))
		}
		requests := two.asks(id, "its call 3")
		if len(requests) != 1 || till.calls.Load() != 5 {
			t.Errorf("asks %v, paid %d", requests, till.calls.Load())
		}
		two.stop()
		three := newMachineWith(t, store, -1, permission.Rules{}, 0, cautious, till.family(t))
		for key := range three.asks(id, "its call 3") {
			three.tells(id, key, fmt.Sprintf(`{"answer":%q}`, script.These))
		}
		if done := fmt.Sprint(three.ended(id)["result"]); !strings.Contains(done, allPaid) || till.calls.Load() != 6 {
			t.Errorf("%s, paid %d", done, till.calls.Load())
		}
	})
}

// A run whose client cannot be asked stops before its writes. It goes on by a client that can be asked, in another
// process. No client agrees for its user, and another run's answer does not count.
func TestScriptWritesWaitForSomebody(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		till := &till{}
		one := newMachineWith(t, store, -1, permission.Rules{}, 0, cautious, till.family(t))
		id, other := one.begin(paysTwice), one.begin(paysTwice)
		one.ended(id)
		one.ended(other)
		one.stop()
		two := newMachineWith(t, store, patient, permission.Rules{}, 0, cautious, till.family(t))
		goOn := func(id, more string) string { return fmt.Sprintf(`{"action":"run","id":%q%s}`, id, more) }
		stops := func(id string) {
			t.Helper()
			text := textOf(two.call(mcptest.ModernMeta, "script", goOn(id, "")))
			if !strings.Contains(text, `"unknown":[{"call":1,"action":"till.pay","arguments":{"id":"1"},"waits":"`) ||
				!strings.Contains(text, "nobody could be asked; and 1 more") {
				t.Error(text)
			}
		}
		stops(id)
		for _, outcome := range []string{`"yes"`, `"all"`, `"done"`, `"not done"`} {
			text := textOf(two.call(mcptest.ModernMeta, "script", goOn(id, `,"outcome":{"1":`+outcome+`,"2":`+outcome+`}`)))
			if !strings.Contains(text, "whom no argument answers for") {
				t.Errorf("%s: %s", outcome, text)
			}
		}
		if text := textOf(two.call(mcptest.ModernMeta, "task", fmt.Sprintf(`{"action":"retry","taskId":%q}`, id))); !strings.Contains(text, id) {
			t.Error(text)
		}
		two.ended(id)
		stops(id)
		if till.calls.Load() != 0 {
			t.Fatalf("paid %d", till.calls.Load())
		}
		question, text := userOf(t, two, waits)("script", goOn(id, ""), answering(script.All))
		if !strings.Contains(question, "till.pay ×2") || !strings.Contains(strings.ReplaceAll(text, `\`, ""), allPaid) || till.calls.Load() != 3 {
			t.Errorf("asked %s, answered %s", question, text)
		}
		stops(other)
	})
}
