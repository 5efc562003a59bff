package script_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/script"
	"github.com/toolfold/toolfold/internal/run/script/js"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// tooMany exceeds the limit of calls that a script issues at once.
const tooMany = `for (let i = 0; i <= 10000; i++) bank.get({id: "g"})`

// bank is a server whose payments take a moment, and whose reads wait for the end of their context.
type bank struct {
	paid    chan string
	stopped chan error
}

// Pay fails only if it is cut off.
func (b *bank) Pay(ctx context.Context, in shopIn) (shopOut, error) {
	select {
	case <-ctx.Done():
		b.stopped <- ctx.Err()
		return shopOut{}, ctx.Err()
	case <-time.After(50 * time.Millisecond):
		b.paid <- in.ID
		return shopOut{1}, nil
	}
}

func (b *bank) Wait(ctx context.Context, _ shopIn) (shopOut, error) {
	<-ctx.Done()
	return shopOut{}, ctx.Err()
}

func (b *bank) Get(context.Context, shopIn) (shopOut, error) { return shopOut{1}, nil }

// Lose pays, and loses the answer.
func (b *bank) Lose(_ context.Context, in shopIn) (shopOut, error) {
	b.paid <- in.ID
	lost := toolfold.Errorf(toolfold.UpstreamError, "the connection was lost")
	lost.Uncertain = true
	return shopOut{}, lost
}

// Half does a part of its work, and says so in its result.
func (b *bank) Half(context.Context, shopIn) (halfOut, error) { return halfOut{}, nil }

// Flow pays in a step that may have been done.
func (b *bank) Flow(_ context.Context, in shopIn) (flowOut, error) {
	b.paid <- in.ID
	return flowOut{Error: flowError{engine.Interrupted, "step pay was cut off"}}, nil
}

type flowError struct {
	Code    string `json:"code" doc:"Code."`
	Message string `json:"message" doc:"Text."`
}

type flowOut struct {
	Error flowError `json:"error" doc:"Why."`
}

func (flowOut) Failed() bool { return true }

type halfOut struct {
	Success bool `json:"success" doc:"No."`
}

func (halfOut) Failed() bool { return true }

func (b *bank) runner(t *testing.T) *script.Runner {
	id := toolfold.Fields{toolfold.String{Name: "id", Doc: "ID."}}
	action := func(name string, effect toolfold.Effect, run toolfold.Handler) *toolfold.Action {
		return &toolfold.Action{Name: name, Summary: "Do.", Required: id, Effect: effect, Example: `{"id": "a"}`, Run: run}
	}
	family := toolfold.Family{Name: "bank", Summary: "A bank", Actions: []*toolfold.Action{
		action("pay", toolfold.Adds, toolfold.Method((*bank).Pay)), action("lose", toolfold.Adds, toolfold.Method((*bank).Lose)),
		action("half", toolfold.Adds, toolfold.Method((*bank).Half)),
		action("flow", toolfold.Runs, toolfold.Method((*bank).Flow)), action("get", toolfold.Reads, toolfold.Method((*bank).Get)),
		action("wait", toolfold.Reads, toolfold.Method((*bank).Wait)),
	}}
	r := toolfoldtest.Runner(toolfoldtest.Mount(t, family, b))
	return &script.Runner{Caller: r, Names: r, Now: time.Now}
}

func newBank() *bank {
	return &bank{paid: make(chan string, 100), stopped: make(chan error, 100)}
}

func newTable() *table { return &table{steps: map[string]json.RawMessage{}, left: -1} }

func run(t *testing.T, r *script.Runner, steps engine.Journal, source string) script.Result {
	t.Helper()
	result, err := r.Run(engine.WithJournal(t.Context(), steps), script.Job{Source: source})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// A limit does not cut off a call that changes something: it ends, and is recorded and reported.
func TestLimitWaitsForWrites(t *testing.T) {
	t.Parallel()
	b, steps := newBank(), newTable()
	out := run(t, b.runner(t), steps, `bank.pay({id: "1"}); await bank.get({id: "g"}); `+tooMany)
	if out.Error == nil || out.Error.Code != script.Exceeded || out.Writes["bank.pay"] != 1 || len(b.stopped) > 0 {
		t.Errorf("%+v", out)
	}
	if record, _ := steps.Lookup("/1"); record == nil {
		t.Error("the payment is not recorded")
	}
}

// A name that a script does not have, as of a module or of another language, says what there is.
func TestUnknownObject(t *testing.T) {
	t.Parallel()
	for _, source := range []string{`return require("fs").readFileSync("x")`, `return await fetch("x")`, `print(1)`} {
		out := run(t, newBank().runner(t), nil, source)
		if out.Error == nil || out.Error.Code != script.Failed || !strings.Contains(out.Error.Hint, "tools are family.action({…})") {
			t.Errorf("%s: %+v", source, out.Error)
		}
	}
}

// A limit that ends a repeated script reports the calls that may have been done.
func TestLimitReportsUnknown(t *testing.T) {
	t.Parallel()
	b, steps := newBank(), newTable()
	const source = `bank.lose({id: "1"}); await sleep(0); ` + tooMany
	if out := run(t, b.runner(t), steps, source); len(out.Unknown) != 1 {
		t.Fatalf("%+v", out)
	}
	if out := run(t, b.runner(t), steps, source); len(out.Unknown) != 1 || len(b.paid) != 1 {
		t.Errorf("%d payments, %+v", len(b.paid), out)
	}
}

// The end of a run waits neither for pauses nor for calls that only read.
func TestEndStopsReading(t *testing.T) {
	t.Parallel()
	for _, idle := range []string{`sleep(86400000)`, `bank.wait({id: "w"})`} {
		for _, end := range []string{`await bank.get({id: "g"}); ` + tooMany, `await bank.lose({id: "1"})`} {
			if out := run(t, newBank().runner(t), newTable(), idle+"; "+end); out.Success {
				t.Errorf("%s; %.20s: %+v", idle, end, out)
			}
		}
	}
}

// A call whose result reports a failure, or is too long, may have changed something.
func TestFailedResultsCount(t *testing.T) {
	t.Parallel()
	steps := newTable()
	const source = `await bank.half({id: "1"})`
	for range 2 { // the second repeats the first
		if out := run(t, newBank().runner(t), steps, source); out.Success || out.Writes["bank.half"] != 1 {
			t.Errorf("%+v", out)
		}
	}
}

// A run within the script, of a workflow or an agent, whose step may have been done ends the script, which
// cannot catch that.
func TestRunInScriptStops(t *testing.T) {
	t.Parallel()
	b, steps := newBank(), newTable()
	const source = `for (;;) try { await bank.flow({id: "1"}); return "caught" } catch {}`
	for range 2 {
		if out := run(t, b.runner(t), steps, source); len(out.Unknown) != 1 || out.Unknown[0].Action != "bank.flow" || len(b.paid) != 1 {
			t.Fatalf("%d payments, %+v", len(b.paid), out)
		}
	}
}

// A script that does not repeat itself under another version of its engine says so.
func TestDivergedEngine(t *testing.T) {
	t.Parallel()
	steps := newTable()
	run(t, newBank().runner(t), steps, `await bank.pay({id: "1"})`)
	steps.steps["/0"] = json.RawMessage(strings.Replace(string(steps.steps["/0"]), js.Version(), "quickjs 0", 1))
	steps.steps["/1"] = json.RawMessage(strings.Replace(string(steps.steps["/1"]), "bank.pay", "bank.get", 1))
	out := run(t, newBank().runner(t), steps, `await bank.pay({id: "1"})`)
	if out.Error == nil || out.Error.Code != script.Diverged || !strings.Contains(out.Error.Message, "begun by quickjs 0") {
		t.Errorf("%+v", out.Error)
	}
}

// A script has the actions that it had when it began, also when they have gone since.
func TestNamesStay(t *testing.T) {
	t.Parallel()
	b, steps := newBank(), newTable()
	const source = `let list = []
		try { list.push(await bank.pay({id: "1"})); list.push(await bank.lose({id: "2"})) } catch { list = "caught" }
		return list`
	if out := run(t, b.runner(t), steps, source); len(out.Unknown) != 1 {
		t.Fatalf("%+v", out)
	}
	steps.steps["/2"] = script.Settled(nil)
	other := (&shop{}).runner(t)
	if out := run(t, other, steps, source); string(out.Result) != `[{"n":1},null]` {
		t.Errorf("%s %+v", out.Result, out.Error)
	}
}

// A run that ends before it repeated the calls of an earlier run has diverged.
func TestDivergedEnd(t *testing.T) {
	t.Parallel()
	steps := newTable()
	if out := run(t, newBank().runner(t), steps, `await bank.pay({id: "1"})`); !out.Success {
		t.Fatalf("%+v", out)
	}
	steps.steps["/3"] = json.RawMessage(strings.Replace(string(steps.steps["/1"]), `"seq":1`, `"seq":2`, 1))
	if out := run(t, newBank().runner(t), steps, `await bank.pay({id: "1"})`); out.Error == nil || out.Error.Code != script.Diverged {
		t.Errorf("%+v", out)
	}
}

// Results and logs have limits, within those of a task's output.
func TestLimitsOfResults(t *testing.T) {
	t.Parallel()
	r := newBank().runner(t)
	if out := run(t, r, newTable(), `return "y".repeat(3 << 20)`); out.Error == nil || !strings.Contains(out.Error.Message, "return less") {
		t.Errorf("%.200v", out)
	}
	out := run(t, r, newTable(), `for (let i = 0; i < 9; i++) console.log("é".repeat(1000)); return 1`)
	if len(out.Logs) > 3000 || !strings.HasSuffix(out.Logs, "… (the rest is left out)\n") {
		t.Errorf("%d bytes: %s", len(out.Logs), out.Logs)
	}
}

// A tool of another server is server.tool, however the server's tools are folded.
func TestServerTool(t *testing.T) {
	t.Parallel()
	id := toolfold.Fields{toolfold.String{Name: "id", Doc: "ID."}}
	family := toolfold.Family{Name: "up_write", Server: "up", Summary: "Up", Actions: []*toolfold.Action{{
		Name: "pay", Summary: "Pay.", Required: id, Effect: toolfold.Adds, Example: `{"id": "a"}`, Run: toolfold.Method((*bank).Pay),
		Aliases: []string{"up.pay", "pay"},
	}}}
	caller := toolfoldtest.Runner(toolfoldtest.Mount(t, family, newBank()))
	r := &script.Runner{Caller: caller, Names: caller, Now: time.Now}
	out := run(t, r, newTable(), `await up.pay({id: "1"}); await tools.call("up.pay", {id: "2"}); await up_write.pay({id: "3"});
		return typeof pay`)
	if string(out.Result) != `"undefined"` {
		t.Errorf("%s %+v", out.Result, out.Error)
	}
	err := r.Check(t.Context(), script.Job{Source: `await up.pay({})`})
	if err == nil || !strings.Contains(err.Error(), "id is missing") {
		t.Error(err)
	}
}
