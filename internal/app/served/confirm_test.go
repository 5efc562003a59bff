package served_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/permission"
)

const asksUser = `const paid = [(await door.pay({id: "1"})).paid]; await scripts.confirm("Pay 2?", {id: "2"});
	paid.push((await door.pay({id: "2"})).paid); return paid`

// waits is the metadata of a client with a user that takes no tasks.
var waits = strings.Replace(mcptest.ModernMeta, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{"form":{}}}`, 1)

// A run asks the user of the client that began it.
func TestScriptAsksUser(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		user := userOf(t, newMachine(t, store, permission.Rules{}, 0, open(t)), waits)
		question, answer := user("script", runs(asksUser), agrees)
		if !strings.Contains(question, "A script asks, at its call 2: Pay 2?") || !strings.Contains(answer, `\"result\":[\"1\",\"2\"]`) {
			t.Errorf("asked %s, answered %s", question, answer)
		}
		question, answer = user("script", runs(asksUser), declines)
		if question == "" || !strings.Contains(answer, "USER_DECLINED") || !strings.Contains(answer, `\"writes\":{\"door.pay\":1}`) {
			t.Errorf("asked %s, answered %s", question, answer)
		}
		m := newHasty(t, store, permission.Rules{}, open(t))
		id, _ := m.call(takes(`,"elicitation":{"form":{}}`), "script", runs(asksUser))["taskId"].(string)
		for key := range m.asks(id, "Pay 2?") {
			m.tells(id, key, "{}")
		}
		if done := fmt.Sprint(m.ended(id)["result"]); !strings.Contains(done, `"result":["1","2"]`) {
			t.Error(done)
		}
		question, answer = user("script", strings.Replace(runs(`return scripts.confirm("Sure?")`), "run", "read", 1), agrees)
		if !strings.Contains(question, "Sure?") || !strings.Contains(answer, `\"result\":true`) {
			t.Errorf("asked %s, answered %s", question, answer)
		}
	})
}

// A run whose client cannot be asked stops at the question, also for another process. It goes on by a client that can
// be asked. No client answers for its user.
func TestScriptAsksNobody(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		for _, c := range []struct{ outcome, reply, want string }{
			{`"yes"`, "", "whom no argument answers for"}, {`"no"`, "", "whom no argument answers for"},
			{"", agrees, `"result":["1","2"]`}, {"", declines, "USER_DECLINED"},
		} {
			one := newHasty(t, store, permission.Rules{}, open(t))
			id := one.begin(asksUser)
			one.ended(id)
			one.stop()
			two := newMachine(t, store, permission.Rules{}, 0, open(t))
			goOn := func(more string) string { return fmt.Sprintf(`{"action":"run","id":%q%s}`, id, more) }
			text := textOf(two.call(mcptest.ModernMeta, "script", goOn("")))
			if !strings.Contains(text, `"unknown":[{"call":2,"action":"scripts.confirm","arguments":{"text":"Pay 2?","details":{"id":"2"}}}]`) ||
				!strings.Contains(text, `"writes":{"door.pay":1}`) {
				t.Fatal(text)
			}
			question := ""
			if c.reply == "" {
				text = textOf(two.call(mcptest.ModernMeta, "script", goOn(`,"outcome":{"2":`+c.outcome+`}`)))
			} else if question, text = userOf(t, two, waits)("script", goOn(""), c.reply); !strings.Contains(question, "Pay 2?") {
				t.Errorf("asked %s", question)
			}
			if text = strings.ReplaceAll(text, `\`, ""); !strings.Contains(text, c.want) {
				t.Errorf("%+v: %s", c, text)
			}
			two.stop()
		}
	})
}

// After the end of its process, a run does not ask again what was answered, and does not take the answer for that of
// a question in the same words.
func TestScriptAsksOnce(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		one := newHasty(t, store, permission.Rules{}, open(t))
		id, _ := one.call(takes(`,"elicitation":{"form":{}}`), "script",
			runs(`await scripts.confirm("Pay?"); await scripts.confirm("Pay?"); return "paid"`))["taskId"].(string)
		for key := range one.asks(id, "at its call 1: Pay?") {
			one.tells(id, key, "{}")
		}
		one.asks(id, "at its call 2: Pay?")
		one.stop()
		two := newHasty(t, store, permission.Rules{}, open(t))
		requests := two.asks(id, "at its call 2: Pay?")
		if len(requests) != 1 {
			t.Errorf("asks %v", requests)
		}
		for key := range requests {
			two.tells(id, key, "{}")
		}
		if done := fmt.Sprint(two.ended(id)["result"]); !strings.Contains(done, `"result":"paid"`) {
			t.Error(done)
		}
	})
}
