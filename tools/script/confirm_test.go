package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/ask"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/script"
	"github.com/toolfold/toolfold/internal/run/work"
	tool "github.com/toolfold/toolfold/tools/script"
)

// person is a client whose user answers all questions alike.
type person struct {
	answer string // JSON

	mu    sync.Mutex
	asked []string
}

func (p *person) Offers(method string) bool { return method == callctx.MethodElicit }

func (p *person) Declared() json.RawMessage { return json.RawMessage(`{"elicitation":{}}`) }

func (p *person) Seen() time.Time { return time.Time{} }

func (p *person) Ask(_ context.Context, q callctx.Question) (json.RawMessage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	params, _ := json.Marshal(q.Params)
	var form struct{ Message string }
	_ = json.Unmarshal(params, &form)
	if p.asked = append(p.asked, form.Message); p.answer == "" {
		return nil, errors.New("the client did not answer")
	}
	return json.RawMessage(p.answer), nil
}

const (
	agrees   = `{"action":"accept","content":{}}`
	declines = `{"action":"decline"}`
)

func newShop() *shop {
	return &shop{random: rand.New(rand.NewPCG(1, 3)), done: map[string]int{}, sets: map[string]int{}}
}

// asksTwice writes if the user agrees to two questions in the same words.
const asksTwice = `await scripts.confirm("Pay?", {id: "1"}); await shop.add({id: "1"});
	await scripts.confirm("Pay?", {id: "1"}); await shop.add({id: "2"}); return ["1", "2"]`

// A script asks the user at each call, and goes on only if the user agrees.
func TestConfirm(t *testing.T) {
	t.Parallel()
	s, p := newShop(), &person{answer: agrees}
	ctx := callctx.WithClient(t.Context(), p)
	result, err := s.runner(t).Run(ctx, script.Job{Source: asksTwice})
	if err != nil || !result.Success || len(s.done) != 2 {
		t.Errorf("%+v %v", result, err)
	}
	want := "[A script asks, at its call 1: Pay?\n{\n \"id\": \"1\"\n} A script asks, at its call 3: Pay?\n{\n \"id\": \"1\"\n}]"
	if fmt.Sprint(p.asked) != want {
		t.Errorf("asked %q", p.asked)
	}
	s, p.answer = newShop(), declines
	result, err = s.runner(t).Run(ctx, script.Job{Source: asksTwice})
	if err != nil || result.Error == nil || result.Error.Code != ask.Declined || len(s.done) > 0 || len(result.Writes) > 0 {
		t.Errorf("%+v %v", result, err)
	}
	result, err = s.runner(t).Run(ctx, script.Job{Source: `return scripts.confirm("Pay?").catch(e => e.code)`, ReadsOnly: true})
	if err != nil || string(result.Result) != `"`+ask.Declined+`"` {
		t.Errorf("%+v %v", result, err)
	}
	for _, wrong := range []string{`scripts.confirm()`, `scripts.confirm({text: "x"})`, `scripts.confirm("")`} {
		if result, err = s.runner(t).Run(ctx, script.Job{Source: "await " + wrong}); err != nil ||
			!strings.Contains(result.Error.Message, "takes the question as a text") {
			t.Errorf("%s: %+v %v", wrong, result, err)
		}
	}
}

// An answer that is recorded is not asked for again, wherever the run dies. Each question is asked.
func TestConfirmOnce(t *testing.T) {
	t.Parallel()
	for left := 1; left <= 10; left++ {
		for _, late := range []bool{false, true} {
			s, p := newShop(), &person{answer: agrees}
			steps := &table{steps: map[string]json.RawMessage{}, left: left, late: late}
			lost := 0
			for {
				ctx, die := context.WithCancelCause(callctx.WithClient(t.Context(), p))
				steps.die = die
				result, err := s.runner(t).Run(engine.WithJournal(ctx, steps), script.Job{Source: asksTwice})
				if die(nil); err == nil && len(result.Unknown) == 0 {
					s.check(t, asksTwice, result)
					break
				}
				if s.settle(steps, result.Unknown); err != nil {
					lost, steps.left = lost+1, -1
				}
			}
			if n := len(p.asked); n < 2 || n > 2+lost || lost > 1 {
				t.Errorf("%d %t: asked %d times in %d deaths", left, late, n, lost)
			}
			if record := steps.steps["/1"]; !strings.Contains(string(record), `"value":true`) {
				t.Errorf("%s", record)
			}
		}
	}
}

// A run whose client cannot be asked, or does not answer, stops at the question. The script cannot catch that. The
// run goes on with the answer that is stated.
func TestConfirmNobody(t *testing.T) {
	t.Parallel()
	const source = `for (;;) try { await scripts.confirm("Pay?", {id: "1"}); break } catch (e) { return e.code }
		await shop.add({id: "1"}); return ["1"]`
	for _, c := range []struct {
		client *person
		yes    bool
		want   string
	}{{nil, true, `["1"]`}, {nil, false, `"USER_DECLINED"`}, {&person{}, true, `["1"]`}} {
		s := newShop()
		steps := &table{steps: map[string]json.RawMessage{}, left: -1}
		ctx := engine.WithJournal(t.Context(), steps)
		if c.client != nil {
			ctx = callctx.WithClient(ctx, c.client)
		}
		result, err := s.runner(t).Run(ctx, script.Job{Source: source})
		if err != nil || len(result.Unknown) != 1 || result.Unknown[0].Action != script.Confirm || result.Error.Code != engine.Interrupted ||
			!strings.Contains(result.Error.Message, "Pay?") || len(s.done) > 0 {
			t.Fatalf("%+v %v", result, err)
		}
		if record, begun := steps.Lookup("/1"); record != nil || !begun {
			t.Errorf("%s %t", record, begun)
		}
		steps.steps["/1"] = script.Confirmed(c.yes)
		for range 2 {
			if result, err = s.runner(t).Run(ctx, script.Job{Source: source}); err != nil || string(result.Result) != c.want {
				t.Errorf("%+v %v, want %s", result, err, c.want)
			}
		}
		if yes := len(s.done) == 1; yes != c.yes || s.done["1"] > 1 {
			t.Error(s.done)
		}
	}
	for _, readsOnly := range []bool{false, true} { // neither takes an answer
		s := newShop()
		result, err := s.runner(t).Run(t.Context(), script.Job{Source: source, ReadsOnly: readsOnly})
		if err != nil || result.Error == nil || result.Error.Code != toolfold.ClientLacks || len(result.Unknown) > 0 || len(s.done) > 0 {
			t.Errorf("%+v %v", result, err)
		}
	}
}

// open is a keeper of a run that stopped at questions. It notes the outcomes.
type open struct {
	keep
	outcomes map[string]json.RawMessage
}

func (o *open) Ended(context.Context, string) (script.Result, bool, error) {
	return script.Result{Error: &script.Failure{Code: engine.Interrupted}, Unknown: []script.Unknown{
		{Call: 2, Action: script.Confirm, Arguments: json.RawMessage(`{"text":"Pay?"}`)}}}, true, nil
}

func (o *open) Resume(_ context.Context, _ string, outcomes map[string]json.RawMessage) error {
	o.outcomes = outcomes
	return nil
}

// Only the user answers a question: asked by the client, or on the page and at the shell.
func TestConfirmOutcome(t *testing.T) {
	t.Parallel()
	yes, no := string(script.Confirmed(true)), string(script.Confirmed(false))
	for _, c := range []struct {
		client        *person
		user          work.UserOutcome
		outcome, want string // a want without braces is part of an error
	}{
		{nil, "", "", ""}, {nil, "x", `"yes"`, yes}, {nil, "x", `"no"`, no}, {nil, "x", `"done"`, `is "yes" or "no"`},
		{nil, "x", `{"result":true}`, `is "yes" or "no"`}, {nil, "", `"yes"`, "whom no argument answers for"},
		{nil, "y", `"yes"`, "whom no argument answers for"},
		{&person{answer: agrees}, "", "", yes}, {&person{answer: declines}, "", "", no},
		{&person{answer: declines}, "", `"yes"`, "whom no argument answers for"}, {&person{}, "", "", "did not answer"},
	} {
		o := &open{}
		in := tool.RunIn{ID: "x"}
		if c.outcome != "" {
			in.Outcome = map[string]json.RawMessage{"2": json.RawMessage(c.outcome)}
		}
		ctx := callctx.With(t.Context(), c.user)
		if c.client != nil {
			ctx = callctx.WithClient(ctx, c.client)
		}
		_, err := tool.New(newShop().runner(t), o).Run(ctx, in)
		if got := string(o.outcomes["/2"]); strings.HasPrefix(c.want, "{") && got != c.want || !strings.HasPrefix(c.want, "{") && got != "" {
			t.Errorf("%+v: %s %v", c, got, err)
		}
		if failed := err != nil; failed != (c.want != "" && !strings.HasPrefix(c.want, "{")) || failed && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
