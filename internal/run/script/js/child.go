package js

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolfold/toolfold/internal/call/jsapi"
	"github.com/toolfold/toolfold/internal/run/script/js/quickjs"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// processArgument is the only argument of a process that runs a program.
const processArgument = "toolfold: scripts"

// Any program with this package runs programs here, before the rest of the program starts.
func init() {
	if len(os.Args) != 2 || os.Args[1] != processArgument {
		return
	}
	in := json.NewDecoder(os.Stdin)
	waits := time.AfterFunc(idle, func() { os.Exit(0) })
	var t task
	if in.Decode(&t) != nil || !waits.Stop() || confine(t.Limits) != nil {
		os.Exit(1)
	}
	serve(t, in, os.Stdout)
	os.Exit(0)
}

// task is what a process gets first. Answers follow.
type task struct {
	Program
	OnlyCheck bool // the syntax
}

// message is what a process sends: first an empty message when it is ready, then one for each turn.
type message struct {
	Turn
	Used time.Duration // running time of all turns
}

// serve runs a program until it ends or in ends.
func serve(t task, in *json.Decoder, out io.Writer) {
	r := &run{program: t.Program, in: in, out: json.NewEncoder(out), pendingCalls: map[int]pendingCall{}, unseen: map[value]rejection{}}
	r.out.SetEscapeHTML(false)
	r.send(message{})
	r.start()
	r.began = time.Now()
	r.LimitMemory(uint64(r.program.Limits.Memory))
	function, fault := r.compile()
	if fault != nil || t.OnlyCheck {
		r.end(&End{Failure: fault})
	}
	main, ok := r.Call(function)
	if !ok { // a limit
		r.end(&End{Failure: r.failure(r.Exception(), len(opener))})
	}
	r.main = main
	r.advance()
	for {
		a := r.next()
		r.turn, r.began = Turn{}, time.Now()
		r.answer(a)
		r.advance()
	}
}

// next waits for an answer. The end of the input ends this process.
func (r *run) next() (a Answer) {
	if r.answers != nil {
		return <-r.answers
	}
	if r.in.Decode(&a) != nil {
		os.Exit(0)
	}
	return a
}

// watchInput has a goroutine read the input from here on, so that its end ends this process while a
// program runs. Until a turn takes long, the input is read between turns, which is quicker.
func (r *run) watchInput() {
	r.answers = make(chan Answer)
	go func() {
		for {
			var a Answer
			if r.in.Decode(&a) != nil {
				os.Exit(0)
			}
			r.answers <- a
		}
	}()
}

type value = quickjs.Value

// run is the run of a program in this process.
type run struct {
	*quickjs.Engine
	program Program
	in      *json.Decoder
	answers chan Answer // from watchInput; nil before
	out     *json.Encoder

	setNow, fail, encode, describe value // functions of the prelude

	began        time.Time     // of this turn
	used         time.Duration // in turns before
	turn         Turn
	arguments    int // bytes in this turn
	logged       int // bytes
	calls        int
	pendingCalls map[int]pendingCall // by Seq
	unseen       map[value]rejection
	rejected     int // number of rejections so far

	main    value    // the promise of the program
	outcome *End     // once main is settled
	over    *Failure // the limit that was exceeded: the program ends as soon as its place is known
}

// pending is a call without an answer.
type pendingCall struct{ resolve, reject, fault value }

// rejection is the reason of the n-th rejection.
type rejection struct {
	n      int
	reason value
}

//go:embed prelude.js
var prelude string

// start makes the engine and the globals.
func (r *run) start() {
	r.Engine = quickjs.New(r.outOfMemory)
	r.Seed(r.program.Seed)
	r.Track(r.settleSeen)
	host := r.Object()
	r.Set(host, "call", r.Function("call", r.issue))
	r.Set(host, "log", r.Function("log", r.log))
	r.Set(host, "unknown", r.Function("unknown", r.unknown))
	setting, _ := json.Marshal(map[string]any{
		"now": r.program.Now.UnixMilli(), "input": orNull(r.program.Input),
		"names": append([]string{}, r.program.Names...), "spaces": jsapi.Spaces(r.program.Names),
	})
	parsed, ok := r.Parse(string(setting))
	if !ok { // it is JSON
		r.end(&End{Failure: tooMuch("the input is nested too deep")})
	}
	function, _ := r.Eval(prelude, "prelude")
	functions, ok := r.Call(function, host, parsed)
	if !ok {
		panic("the prelude failed")
	}
	r.setNow, r.fail = r.Property(functions, "setNow"), r.Property(functions, "fail")
	r.encode, r.describe = r.Property(functions, "encode"), r.Property(functions, "describe")
	r.Watch(r.exceeded)
}

// advance runs the program until it waits, and sends the turn. It does not return at the end.
func (r *run) advance() {
	r.drain()
	if r.outcome == nil {
		if settled, rejected, result := r.State(r.main); settled {
			r.outcome = r.settle(rejected, result)
			r.drain() // toJSON may have begun something
		}
	}
	if r.turn.Settled = r.outcome != nil; len(r.pendingCalls) > 0 {
		r.used += time.Since(r.began)
		r.send(message{r.turn, r.used})
		return
	}
	if r.outcome == nil {
		r.outcome = &End{Failure: &Failure{Kind: Stuck, Message: "the script waits for something that never comes: no call is outstanding"}}
	}
	r.outcome.Unseen = r.failures()
	r.end(r.outcome)
}

// drain runs all waiting reactions. A program that exceeded a limit may run a few, until the error of that
// arrives in a promise without a handler.
func (r *run) drain() {
	for left := 100; r.Job() && left > 0; {
		if r.exceeded() {
			left--
		}
	}
	if r.over != nil {
		r.stop(r.over, "")
	}
}

// end sends the last turn and ends this process. Calls of the turn were not begun, so that a failed
// program does not begin them.
func (r *run) end(e *End) {
	r.turn.End = e
	r.send(message{r.turn, r.used})
	os.Exit(0)
}

func (r *run) send(m message) {
	if err := r.out.Encode(m); err != nil {
		panic(err)
	}
}

// stop ends a program that exceeded a limit. stack is where it was.
func (r *run) stop(f *Failure, stack string) {
	f.place(r.program.Source, stack, len(opener))
	r.turn.Calls = nil
	r.end(&End{Failure: f})
}

// longTurn is the time after which the input is watched, see [run.watchInput].
const longTurn = 500 * time.Millisecond

// exceeded reports whether the program exceeded a limit.
func (r *run) exceeded() bool {
	turn := time.Since(r.began)
	if turn > longTurn && r.answers == nil {
		r.watchInput()
	}
	if limit := r.program.Limits.Running; r.over == nil && r.used+turn > limit {
		r.over = tooMuch(ranTooLong, limit)
	}
	return r.over != nil
}

const ranTooLong = "it ran longer than %s, without the time that it waited"

// outOfMemory ends the program. Between calls it first gets a little more, and is interrupted at the next
// loop or call, where its place is known.
func (r *run) outOfMemory() {
	if r.over != nil {
		r.stop(r.over, "")
	}
	limit := r.program.Limits.Memory
	r.over = &Failure{Kind: Memory, Message: fmt.Sprintf(usedTooMuch, limit>>20)}
	r.LimitMemory(uint64(limit) + 8<<20)
	if stack := r.Stack(); stack != "undefined" {
		r.stop(r.over, stack)
	}
	r.InterruptSoon()
}

const usedTooMuch = "it needed more than %d MB of memory"

// issue is called with the name, the arguments and the error of a call. It returns the promise of its
// answer.
func (r *run) issue(args []value) value {
	name, _, _ := r.Text(args[0], 1000)
	limit := r.program.Limits.Arguments
	text, length, ok := r.Text(args[1], limit)
	if !ok || length > limit {
		return r.Throw(fmt.Sprintf("the arguments of %s have %d bytes, at most %d are allowed", name, length, limit))
	}
	r.arguments += length
	switch {
	case len(r.turn.Calls) == maxCalls:
		r.stop(tooMuch("it issued more than %d calls at once; await some before others", maxCalls), r.Stack())
	case r.arguments > maxAtOnce*limit:
		r.stop(tooMuch("it issued calls with more than %d bytes of arguments at once; await some before others", maxAtOnce*limit), r.Stack())
	}
	r.calls++
	r.turn.Calls = append(r.turn.Calls, Call{r.calls, name, json.RawMessage(text)})
	promise, resolve, reject := r.Promise()
	r.pendingCalls[r.calls] = pendingCall{resolve, reject, r.Dup(args[2])}
	return promise
}

// answer settles the promise of a call.
func (r *run) answer(a Answer) {
	r.arguments = 0
	if now, ok := r.Parse(strconv.FormatInt(a.Now.UnixMilli(), 10)); ok && !a.Now.IsZero() {
		_, _ = r.Call(r.setNow, now)
	}
	p := r.pendingCalls[a.Seq]
	delete(r.pendingCalls, a.Seq)
	settle, text := p.resolve, orNull(a.Value)
	if a.Error != nil {
		settle, text = p.reject, a.Error.fields()
	}
	v, ok := r.Parse(string(text))
	if ok && a.Error != nil {
		v, ok = r.Call(r.fail, r.Dup(p.fault), v)
	}
	if !ok { // it is JSON, but too deep
		settle, v = p.reject, r.Exception()
	}
	_, _ = r.Call(settle, v)
	for _, done := range []value{p.resolve, p.reject, p.fault} {
		r.Free(done)
	}
}

// fields returns the properties of the error in a program.
func (e *ToolError) fields() []byte {
	fields, _ := json.Marshal(struct {
		Code     string          `json:"code"`
		Message  string          `json:"message"`
		Tool     string          `json:"tool"`
		Problems json.RawMessage `json:"problems,omitempty"`
		Usage    string          `json:"usage,omitempty"`
	}{e.Code, e.Message, e.Tool, e.Problems, e.Usage})
	return fields
}

func orNull(text json.RawMessage) json.RawMessage {
	if len(text) == 0 {
		return json.RawMessage("null")
	}
	return text
}

// settleSeen keeps the reasons of rejections that nothing handled.
func (r *run) settleSeen(promise, reason value, handled bool) {
	if r.over != nil {
		if stack, ok := r.Interrupted(reason); ok {
			r.stop(r.over, stack)
		}
	}
	if !handled {
		r.rejected++
		r.unseen[r.Dup(promise)] = rejection{r.rejected, r.Dup(reason)}
		return
	}
	if seen, ok := r.unseen[promise]; ok {
		delete(r.unseen, promise)
		r.Free(promise)
		r.Free(seen.reason)
	}
}

// failures returns the failures that nothing handled.
func (r *run) failures() (list []Failure) {
	delete(r.unseen, r.main) // it is the outcome
	var reasons []rejection
	for _, seen := range r.unseen {
		reasons = append(reasons, seen)
	}
	slices.SortFunc(reasons, func(a, b rejection) int { return a.n - b.n })
	for _, seen := range reasons[:min(len(reasons), maxUnseen)] {
		list = append(list, *r.failure(seen.reason, len(opener)))
	}
	return list
}

// log keeps a line of a program's log.
func (r *run) log(args []value) value {
	room := r.program.Limits.Logs - r.logged
	if room < 0 {
		return r.Undefined
	}
	line, length, _ := r.Text(args[0], room)
	if r.logged += length + 1; length > room {
		line += "… (later logs are left out)"
	}
	r.turn.Logs = append(r.turn.Logs, line)
	return r.Undefined
}

// unknown returns the message for an unknown name.
func (r *run) unknown(args []value) value {
	name, _, _ := r.Text(args[0], 200)
	text := fmt.Sprintf("there is no action %q", name)
	if near := nearest(name, r.program.Names, 3); len(near) > 0 {
		text += "; the nearest are " + strings.Join(near, ", ")
	}
	return r.String(text)
}

// nearest returns at most n names near to one.
func nearest(name string, names []string, n int) (near []string) {
	names = slices.Clone(names)
	for len(near) < n {
		next := suggest.Nearest(name, names)
		if next == "" {
			return near
		}
		near = append(near, next)
		names = slices.DeleteFunc(names, func(other string) bool { return other == next })
	}
	return near
}

// settle returns the end of a settled program.
func (r *run) settle(rejected bool, result value) *End {
	if rejected {
		return &End{Failure: r.failure(result, len(opener))}
	}
	text, ok := r.Call(r.encode, result)
	if !ok {
		f := r.failure(r.Exception(), len(opener))
		f.Kind, f.Message = NoResult, "the result is not JSON: "+f.Message
		return &End{Failure: f}
	}
	if text == r.Undefined {
		return &End{Failure: &Failure{Kind: NoResult, Message: "the result is a function or a symbol, which is not JSON"}}
	}
	limit := r.program.Limits.Result
	encoded, length, ok := r.Text(text, limit)
	if !ok || length > limit {
		message := fmt.Sprintf("the result has %d bytes, at most %d are allowed; return less", length, limit)
		return &End{Failure: &Failure{Kind: NoResult, Message: message}}
	}
	return &End{Result: json.RawMessage(encoded)}
}
