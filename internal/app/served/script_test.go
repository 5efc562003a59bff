package served_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// till is a server whose calls must not be made twice. A call waits while it is shut.
type till struct {
	calls atomic.Int64
	shut  chan struct{} // nil = open
}

type payIn struct {
	ID string `json:"id"`
}

type payOut struct {
	Paid string `json:"paid" doc:"ID."`
}

func (l *till) Pay(ctx context.Context, in payIn) (payOut, error) {
	l.calls.Add(1)
	if l.shut == nil {
		return payOut{in.ID}, nil
	}
	<-ctx.Done()
	return payOut{}, ctx.Err()
}

func (l *till) family(t *testing.T) *toolfold.Family { return l.named(t, "till") }

// named is the family of a till by another name.
func (l *till) named(t *testing.T, name string) *toolfold.Family {
	return toolfoldtest.Mount(t, toolfold.Family{Name: name, Summary: "A till", Actions: []*toolfold.Action{{
		Name: "pay", Summary: "Pay.", Required: toolfold.Fields{toolfold.String{Name: "id", Doc: "ID."}}, Effect: toolfold.Adds,
		Example: `{"id": "a"}`, Run: toolfold.Method((*till).Pay),
	}}}, l)
}

func textOf(result map[string]any) string {
	return result["content"].([]any)[0].(map[string]any)["text"].(string)
}

func runs(code string) string {
	text, _ := json.Marshal(map[string]string{"action": "run", "code": code})
	return string(text)
}

// begin calls script.run as a client that takes tasks, and returns the id of the run.
func (m machine) begin(code string) (id string) {
	m.Helper()
	answer := m.call(takes(""), "script", runs(code))
	id, _ = answer["taskId"].(string)
	if id == "" {
		m.Fatal(answer)
	}
	return id
}

func (m machine) until(what string, done func() bool) {
	m.Helper()
	for end := time.Now().Add(patient); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			m.Fatalf("%s did not happen", what)
		}
	}
}

// A client that takes no tasks gets the result in its answer, and so does one that asks for the run.
func TestScriptAnswers(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		m := newMachine(t, store, permission.Rules{}, 0)
		out := m.does("script", runs(`for (const key of ["a", "b"]) await memory.store({key, value: input ?? 1});
			console.log("stored"); const list = await memory.list({}); return {keys: list.keys.map(k => k.key).sort()}`))
		if got := fmt.Sprint(out); got != "map[logs:stored\n result:map[keys:[a b]] success:true]" {
			t.Error(got)
		}
		const fails = "const x = 1;\nawait memory.store({key: 'c', value: x});\nthrow new Error('no')"
		failed := m.call(mcptest.ModernMeta, "script", runs(fails))
		text := textOf(failed)
		for _, want := range []string{
			`"line":3`, `"message":"Error: no"`, `"writes":{"memory.store":1}`, `"at":"throw new Error('no')"`, `"id":"`,
		} {
			if !strings.Contains(text, want) || failed["isError"] != true {
				t.Errorf("%s lacks %s", text, want)
			}
		}
	})
}

// Another process goes on with a run after its last answer. Nothing is called again.
func TestScriptGoesOn(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		till := &till{}
		one := newHasty(t, store, permission.Rules{}, till.family(t))
		id := one.begin(`const paid = [await till.pay({id: "1"}), await till.pay({id: "2"})]; const start = Date.now();
			while (!(await memory.get({key: "go"})).found) await sleep(10);
			paid.push(await till.pay({id: "3"})); return {paid: paid.map(p => p.paid), later: Date.now() >= start}`)
		one.until("paying", func() bool { return till.calls.Load() == 2 })
		one.stop()
		two := newMachine(t, store, permission.Rules{}, 0, till.family(t))
		two.does("memory", `{"action":"store","key":"go","value":1}`)
		out := two.does("script", fmt.Sprintf(`{"action":"run","id":%q}`, id))
		if got := fmt.Sprint(out["result"]); got != "map[later:true paid:[1 2 3]]" || till.calls.Load() != 3 {
			t.Errorf("%d calls, %v", till.calls.Load(), out)
		}
	})
}

// A call that was under way when its process ended is not made again. The run stops, the script
// cannot catch that, and the run goes on once the outcome is stated.
func TestScriptStopsAtUnknown(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		for _, c := range []struct{ outcome, result string }{
			{`"done"`, "[map[paid:1] <nil> map[paid:3]]"},
			{`{"result":{"paid":"by hand"}}`, "[map[paid:1] map[paid:by hand] map[paid:3]]"},
			{`"not done"`, "[map[paid:1] map[paid:2] map[paid:3]]"},
		} {
			shut := &till{shut: make(chan struct{})}
			one := newHasty(t, store, permission.Rules{}, shut.family(t), open(t))
			id := one.begin(`const paid = [await door.pay({id: "1"})]; for (;;) try { paid.push(await till.pay({id: "2"})); break } catch {}
				paid.push(await door.pay({id: "3"})); return paid`)
			one.until("paying", func() bool { return shut.calls.Load() == 1 })
			one.stop()
			till := &till{}
			two := newMachine(t, store, permission.Rules{}, 0, till.family(t), open(t))
			goOn := func(more string) (out map[string]any) {
				text := textOf(two.call(mcptest.ModernMeta, "script", fmt.Sprintf(`{"action":"run","id":%q%s}`, id, more)))
				if err := json.Unmarshal([]byte(text), &out); err != nil {
					t.Fatal(err)
				}
				return out
			}
			out := goOn("")
			if got := fmt.Sprint(out["unknown"]); got != "[map[action:till.pay arguments:map[id:2] call:2]]" || out["id"] != id {
				t.Fatalf("%v", out)
			}
			if again := goOn(""); fmt.Sprint(again) != fmt.Sprint(out) {
				t.Errorf("%v\n%v", again, out)
			}
			for _, wrong := range []string{`{}`, `{"2":"perhaps"}`, `{"1":"done"}`, `{"2":"done","5":"done"}`} {
				if refused := goOn(`,"outcome":` + wrong); wrong != "{}" && refused["success"] != nil {
					t.Errorf("%s: %v", wrong, refused)
				}
			}
			if out = goOn(`,"outcome":{"2":` + c.outcome + `}`); fmt.Sprint(out["result"]) != c.result {
				t.Errorf("%s: %v", c.outcome, out)
			}
			want := int64(0)
			if c.outcome == `"not done"` {
				want = 1
			}
			if till.calls.Load() != want || shut.calls.Load() != 1 {
				t.Errorf("%s: called %d and %d times", c.outcome, shut.calls.Load(), till.calls.Load())
			}
			two.stop()
		}
	})
}

// open returns a till of another name that is open.
func open(t *testing.T) *toolfold.Family {
	return (&till{}).named(t, "door")
}

// A cancelled run makes no further call, and goes on when it is asked to.
func TestScriptCancelled(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		till := &till{}
		m := newHasty(t, store, permission.Rules{}, till.family(t))
		id := m.begin(`await till.pay({id: "1"}); while (!(await memory.get({key: "go"})).found) await sleep(10);
			return await till.pay({id: "2"})`)
		m.until("paying", func() bool { return till.calls.Load() == 1 })
		m.does("task", fmt.Sprintf(`{"action":"cancel","taskId":%q}`, id))
		m.does("memory", `{"action":"store","key":"go","value":1}`)
		if till.calls.Load() != 1 {
			t.Error(till.calls.Load(), "calls after the end")
		}
		out := newMachine(t, store, permission.Rules{}, 0, till.family(t)).does("script", fmt.Sprintf(`{"action":"run","id":%q}`, id))
		if fmt.Sprint(out["result"]) != "map[paid:2]" || till.calls.Load() != 2 {
			t.Errorf("%d calls, %v", till.calls.Load(), out)
		}
	})
}

// A call that is cut off by the cancellation of its run may have been done: the run stops there when
// it is asked to go on.
func TestScriptCancelledDuringWrite(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		shut := &till{shut: make(chan struct{})}
		one := newHasty(t, store, permission.Rules{}, shut.family(t))
		id := one.begin(`return await till.pay({id: "1"})`)
		one.until("paying", func() bool { return shut.calls.Load() == 1 })
		one.does("task", fmt.Sprintf(`{"action":"cancel","taskId":%q}`, id))
		one.ended(id)
		one.stop()
		till := &till{}
		two := newMachine(t, store, permission.Rules{}, 0, till.family(t))
		text := textOf(two.call(mcptest.ModernMeta, "script", fmt.Sprintf(`{"action":"run","id":%q}`, id)))
		if !strings.Contains(text, `"unknown":[{"call":1,"action":"till.pay"`) || till.calls.Load() != 0 {
			t.Fatalf("%d calls, %s", till.calls.Load(), text)
		}
		out := two.does("script", fmt.Sprintf(`{"action":"run","id":%q,"outcome":{"1":"done"}}`, id))
		if out["success"] != true || till.calls.Load() != 0 {
			t.Errorf("%d calls, %v", till.calls.Load(), out)
		}
	})
}
