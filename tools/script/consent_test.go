package script_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/ask"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/script"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/toolfoldtest"
	tool "github.com/toolfold/toolfold/tools/script"
)

// answers is the reply of a user who chooses an answer.
func answers(choice string) string {
	return fmt.Sprintf(`{"action":"accept","content":{"answer":%q}}`, choice)
}

// consenting is a runner whose calls wait for the user.
func (s *shop) consenting(t *testing.T, consent string) *script.Runner {
	r := s.runner(t)
	r.Consent = consent
	return r
}

// writesTwice writes in two turns.
const writesTwice = `await shop.get({id: "g"}); await Promise.all(["1", "2"].map(id => shop.add({id})));
	await shop.add({id: "3"}); await shop.set({id: "s"}); return ["1", "2", "3"]`

// The setting decides which calls wait. All that wait at a time are asked about at once, and calls of the same tools
// later only if the user did not agree to all of them.
func TestConsent(t *testing.T) {
	t.Parallel()
	const two, three, set = "2 calls that change something, from its call 2 on:\nshop.add ×2: {\"id\":\"1\"}, {\"id\":\"2\"}",
		"its call 4:\nshop.add ×1: {\"id\":\"3\"}", "its call 5:\nshop.set ×1: {\"id\":\"s\"}"
	for _, c := range []struct {
		consent, answer string
		asked           []string
		done, sets      int
	}{
		{script.Never, "", nil, 3, 1},
		{script.Destructive, answers(script.These), []string{set}, 3, 1},
		{script.Destructive, answers(script.Stop), []string{set}, 3, 0},
		{script.Writes, answers(script.These), []string{two, three, set}, 3, 1},
		{script.Writes, answers(script.All), []string{two, set}, 3, 1},
		{script.Writes, answers(script.Stop), []string{two}, 0, 0},
		{script.Writes, declines, []string{two}, 0, 0},
	} {
		s, p := newShop(), &person{answer: c.answer}
		result, err := s.consenting(t, c.consent).Run(callctx.WithClient(t.Context(), p), script.Job{Source: writesTwice})
		stopped := c.sets == 0
		if err != nil || result.Success == stopped || stopped && (result.Error.Code != ask.Declined || result.Writes["shop.add"] != c.done) {
			t.Errorf("%+v: %+v %v", c, result, err)
		}
		if len(s.done) != c.done || s.sets["s"] != c.sets {
			t.Errorf("%+v: done %v %v", c, s.done, s.sets)
		}
		if !slices.EqualFunc(p.asked, c.asked, strings.Contains) {
			t.Errorf("%+v: asked %q", c, p.asked)
		}
	}
}

// A script cannot catch that the user stops it. Calls of scripts that it calls wait too, and many calls make one
// short question.
func TestConsentEverywhere(t *testing.T) {
	t.Parallel()
	s, p := newShop(), &person{answer: declines}
	s.library = &versions{source: `await shop.add({id: input.id})`}
	r := s.consenting(t, script.Writes)
	ctx := callctx.WithClient(t.Context(), p)
	for _, source := range []string{
		`for (;;) try { await shop.add({id: "1"}) } catch {}`, `await scripts.sub({id: "1"}).catch(() => 1); return []`,
		`await tools.call("shop.add", {id: "1"}).catch(() => 1); return []`, `shop.add({id: "1"}); return []`,
	} {
		result, err := r.Run(ctx, script.Job{Source: source})
		if err != nil || result.Error == nil || result.Error.Code != ask.Declined || len(s.done) > 0 {
			t.Errorf("%s: %+v %v", source, result, err)
		}
	}
	p.asked = nil
	const many = `await Promise.all(Array.from({length: 50}, (_, i) => shop.add({id: i + "x".repeat(2000)})));`
	if _, err := r.Run(ctx, script.Job{Source: many}); err != nil || len(p.asked) != 1 ||
		!strings.Contains(p.asked[0], "shop.add ×50: ") || !strings.Contains(p.asked[0], ", and 45 more") || len(p.asked[0]) > 1000 {
		t.Errorf("%q %v", p.asked, err)
	}
	p.asked = nil
	result, err := r.Run(ctx, script.Job{Source: `await shop.add({id: "1"})`, ReadsOnly: true})
	if err != nil || result.Error.Code != toolfold.PermissionDenied || len(p.asked) > 0 {
		t.Errorf("%+v %v %q", result, err, p.asked)
	}
}

// An answer that is recorded is not asked for again, wherever the run dies, and no write is made without or twice.
func TestConsentOnce(t *testing.T) {
	t.Parallel()
	for _, choice := range []string{script.These, script.All} {
		for left, lasted := 1, false; !lasted; left++ {
			for _, late := range []bool{false, true} {
				s, p := newShop(), &person{answer: answers(choice)}
				steps := &table{steps: map[string]json.RawMessage{}, left: left, late: late}
				deaths := 0
				for {
					ctx, die := context.WithCancelCause(callctx.WithClient(t.Context(), p))
					steps.die = die
					result, err := s.consenting(t, script.Writes).Run(engine.WithJournal(ctx, steps), script.Job{Source: writesTwice})
					if die(nil); err == nil && len(result.Unknown) == 0 {
						s.check(t, writesTwice, result)
						break
					}
					if s.settle(steps, result.Unknown); err != nil {
						deaths, steps.left = deaths+1, -1
					}
				}
				lasted = deaths == 0
				questions := map[string]int{script.These: 3, script.All: 2}[choice]
				if n := len(p.asked); n < questions || n > questions+deaths {
					t.Errorf("%s, %d %t: asked %d times in %d deaths", choice, left, late, n, deaths)
				}
			}
		}
	}
}

// A run whose client cannot be asked, or does not answer, stops before the calls. It goes on with the answers of the
// user to these calls: not with those to other arguments, and not with those of another run.
func TestConsentNobody(t *testing.T) {
	t.Parallel()
	for _, client := range []*person{nil, {}, {answer: agrees}} { // the last one has no answer in it
		s := newShop()
		steps := &table{steps: map[string]json.RawMessage{}, left: -1}
		ctx := t.Context()
		if client != nil {
			ctx = callctx.WithClient(ctx, client)
		}
		run := func(steps engine.Journal) script.Result {
			t.Helper()
			result, err := s.consenting(t, script.Writes).Run(engine.WithJournal(ctx, steps), script.Job{Source: writesTwice})
			if err != nil {
				t.Fatal(err)
			}
			return result
		}
		first := run(steps)
		if len(first.Unknown) != 2 || first.Unknown[0].Waits == "" || !first.Stopped() || len(s.done) > 0 ||
			!strings.Contains(first.Error.Message, "call 2, shop.add, was not made: it waits for the user, and nobody could be asked; and 1 more") ||
			!strings.Contains(first.Error.Hint, "--outcome 2=yes") {
			t.Fatalf("%+v %v", first, first.Error)
		}
		for path := range steps.steps { // the store only takes outcomes of steps that have begun
			if path != "/0" && path != "/1" && path != script.ConsentPath(2) && path != script.ConsentPath(3) {
				t.Errorf("recorded %s", path)
			}
		}
		other := first.Unknown[0]
		other.Waits = "of another call"
		steps.steps[script.ConsentPath(2)] = script.Consented(other, script.All)
		if again := run(steps); len(again.Unknown) != 2 || len(s.done) > 0 {
			t.Errorf("%+v", again)
		}
		for _, u := range first.Unknown {
			steps.steps[script.ConsentPath(u.Call)] = script.Consented(u, script.All)
		}
		if again := run(&table{steps: map[string]json.RawMessage{}, left: -1}); len(again.Unknown) != 2 || len(s.done) > 0 {
			t.Errorf("%+v", again)
		}
		next := run(steps) // of another tool
		if len(next.Unknown) != 1 || next.Unknown[0].Action != "shop.set" || len(s.done) != 3 {
			t.Fatalf("%+v", next)
		}
		steps.steps[script.ConsentPath(5)] = script.Consented(next.Unknown[0], script.These)
		for range 2 {
			s.check(t, writesTwice, run(steps))
		}
		steps = &table{steps: map[string]json.RawMessage{}, left: -1}
		stopped := run(steps)
		steps.steps[script.ConsentPath(2)] = script.Consented(stopped.Unknown[0], script.Stop)
		if end := run(steps); end.Error.Code != ask.Declined || end.Stopped() {
			t.Errorf("%+v", end)
		}
	}
}

// A run keeps the stricter setting of the process that began it and of the one that goes on.
func TestConsentKept(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{script.Writes, script.Never}, {script.Never, script.Writes}} {
		s := newShop()
		steps := &table{steps: map[string]json.RawMessage{}, left: 1, late: true}
		ctx, die := context.WithCancelCause(t.Context())
		steps.die = die
		const source = `await shop.get({id: "g"}); await shop.add({id: "1"}); return ["1"]`
		for i := range 2 {
			result, err := s.consenting(t, c[i]).Run(engine.WithJournal(ctx, steps), script.Job{Source: source})
			if i == 1 && (err != nil || len(result.Unknown) != 1 || len(s.done) > 0) {
				t.Errorf("%v: %+v %v, done %v", c, result, err, s.done)
			}
			if ctx, steps.left = t.Context(), -1; steps.steps["/2"] == nil {
				delete(steps.steps, "/2") // it has begun, and was not done
			}
		}
	}
}

// A run that is not recorded takes no answer.
func TestConsentUnrecorded(t *testing.T) {
	t.Parallel()
	result, err := newShop().consenting(t, script.Writes).Run(t.Context(), script.Job{Source: writesTwice})
	if err != nil || result.Error.Code != toolfold.ClientLacks || len(result.Unknown) > 0 {
		t.Errorf("%+v %v", result, err)
	}
}

// waits is a keeper of a run that stopped before two calls.
type waits struct{ open }

var held = []script.Unknown{
	{Call: 2, Action: "shop.add", Arguments: json.RawMessage(`{"id":"1"}`), Waits: "abc"},
	{Call: 3, Action: "shop.add", Arguments: json.RawMessage(`{"id":"2"}`), Waits: "def"},
}

func (w *waits) Ended(context.Context, string) (script.Result, bool, error) {
	return script.Result{Error: &script.Failure{Code: engine.Interrupted}, Unknown: held}, true, nil
}

// Only the user agrees to calls that wait: asked by the client, or on the page and at the shell.
func TestConsentOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		client  *person
		user    work.UserOutcome
		outcome string
		want    string // an answer, or part of an error; empty = nothing happens
	}{
		{nil, "", "", ""}, {nil, "x", `"yes"`, script.These}, {nil, "x", `"all"`, script.All}, {nil, "x", `"no"`, script.Stop},
		{nil, "x", `"done"`, `is "yes", "all" or "no"`}, {nil, "x", `{"result":1}`, `is "yes", "all" or "no"`},
		{nil, "", `"yes"`, "whom no argument answers for"}, {nil, "", `"all"`, "whom no argument answers for"},
		{nil, "", `"not done"`, "whom no argument answers for"}, {nil, "y", `"yes"`, "whom no argument answers for"},
		{&person{answer: answers(script.These)}, "", "", script.These}, {&person{answer: answers(script.All)}, "", "", script.All},
		{&person{answer: declines}, "", "", script.Stop}, {&person{}, "", "", "did not answer"},
		{&person{answer: answers(script.Stop)}, "", `"yes"`, "whom no argument answers for"},
	} {
		w := &waits{}
		in := tool.RunIn{ID: "x"}
		if c.outcome != "" {
			in.Outcome = map[string]json.RawMessage{"2": json.RawMessage(c.outcome), "3": json.RawMessage(c.outcome)}
		}
		ctx := callctx.With(t.Context(), c.user)
		if c.client != nil {
			ctx = callctx.WithClient(ctx, c.client)
		}
		_, err := tool.New(newShop().runner(t), w).Run(ctx, in)
		for _, u := range held {
			want := string(script.Consented(u, c.want))
			if got := string(w.outcomes[script.ConsentPath(u.Call)]); got != "" && got != want || err == nil && c.want != "" && got == "" {
				t.Errorf("%+v: %s %v", c, got, err)
			}
		}
		if err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
		if c.client != nil && c.client.answer != "" && c.outcome == "" && len(c.client.asked) != 1 {
			t.Errorf("asked %q", c.client.asked)
		}
	}
}

// A question shows every member of the arguments and every tool, whatever a script puts in front.
func TestConsentShowsAll(t *testing.T) {
	t.Parallel()
	id := toolfold.Fields{toolfold.String{Name: "id", Doc: "ID."}, toolfold.String{Name: "text", Doc: "Text."}}
	family := toolfold.Family{Name: "desk", Summary: "A desk"}
	var code strings.Builder
	for n := range 25 {
		family.Actions = append(family.Actions, &toolfold.Action{
			Name: fmt.Sprint("put", n), Summary: "Put.", Optional: id, Effect: toolfold.Adds, Example: `{"id": "a"}`,
			Run: toolfold.Method((*shop).Add),
		})
		fmt.Fprintf(&code, "desk.put%d({text: 'harmless note ' + 'x'.repeat(1000), id: 'IMPORTANT-%d'});\n", n, n)
	}
	r := toolfoldtest.Runner(toolfoldtest.Mount(t, family, newShop()))
	p := &person{answer: answers(script.Stop)}
	_, err := (&script.Runner{Caller: r, Names: r, Now: time.Now, Consent: script.Writes}).Run(
		callctx.WithClient(t.Context(), p), script.Job{Source: code.String()})
	if err != nil || len(p.asked) != 1 {
		t.Fatalf("%v, asked %v", err, p.asked)
	}
	for n := range 25 {
		if q := p.asked[0]; !strings.Contains(q, fmt.Sprintf("desk.put%d ×1: ", n)) || !strings.Contains(q, fmt.Sprint("IMPORTANT-", n)) {
			t.Errorf("the question lacks call %d: %s", n, q)
		}
	}
}
