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
	r := &run{
		program: t.Program, in: in, out: json.NewEncoder(out), sources: map[string]string{file: t.Source},
		realms: map[*quickjs.Engine]*realm{}, pendingCalls: map[int]pendingCall{}, unseen: map[value]rejection{},
	}
	r.out.SetEscapeHTML(false)
	r.send(message{})
	r.start()
	r.began = time.Now()
	r.LimitMemory(uint64(r.program.Limits.Memory))
	function, fault := r.compile()
	if fault != nil || t.OnlyCheck {
		r.end(&End{Failure: fault})
	}
	if fault := r.begin(function); fault != nil {
		r.end(&End{Failure: fault})
	}
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
	*realm  // of the program
	program Program
	in      *json.Decoder
	answers chan Answer // from watchInput; nil before
	out     *json.Encoder

	host    map[string]quickjs.Callback // functions that preludes get
	clock   value                       // an object with the time, of all preludes
	sources map[string]string           // by file
	realms  map[*quickjs.Engine]*realm
	inner   []*realm // of programs that others called and that have not ended, in the order of the calls

	began        time.Time     // of this turn
	used         time.Duration // in turns before
	turn         Turn
	arguments    int // bytes in this turn
	logged       int // bytes
	calls        int
	pendingCalls map[int]pendingCall // by Seq
	unseen       map[value]rejection
	rejected     int // number of rejections so far

	outcome *End     // once the program has ended
	over    *Failure // the limit that was exceeded: the program ends as soon as its place is known
}

// realm has the objects of a program, and the program.
type realm struct {
	*quickjs.Engine
	run     *run
	file    string // in stacks
	names   []string
	scope   int         // the call that began the program; 0 = none
	caller  pendingCall // that call
	promise value       // of the program

	fail, encode, describe value // functions of the prelude
}

// pendingCall is a call without an answer.
type pendingCall struct {
	*realm                 // whose program issued it
	name                   string
	resolve, reject, fault value
}

// rejection is the reason of the n-th rejection.
type rejection struct {
	*realm
	n      int
	reason value
}

//go:embed prelude.js
var prelude string

// start makes the engine and the globals.
func (r *run) start() {
	engine := quickjs.New(r.outOfMemory)
	r.host = map[string]quickjs.Callback{
		"call": engine.Callback(r.issue), "log": engine.Callback(r.log), "unknown": engine.Callback(r.unknown),
	}
	r.clock = engine.Object()
	r.realm = &realm{Engine: engine, run: r, file: file, names: r.program.Names}
	r.setNow(r.program.Now)
	engine.Track(r.settleSeen)
	if !r.equip(r.program.Seed, r.program.Input) {
		r.end(&End{Failure: tooMuch(nestedTooDeep)})
	}
	engine.Watch(r.exceeded)
}

const nestedTooDeep = "the input is nested too deep"

// setNow sets the time of all programs.
func (r *run) setNow(now time.Time) {
	if v, ok := r.Parse(strconv.FormatInt(now.UnixMilli(), 10)); ok {
		r.Set(r.clock, "now", v)
	}
}

// equip makes the globals of a realm. It is false if the input is nested too deep.
func (m *realm) equip(seed uint64, input json.RawMessage) bool {
	m.run.realms[m.Engine] = m
	m.Seed(seed)
	setting, _ := json.Marshal(map[string]any{
		"input": orNull(input), "names": append([]string{}, m.names...), "stored": append([]string{}, m.run.program.Stored...),
		"spaces": jsapi.Spaces(m.callable()),
	})
	parsed, ok := m.Parse(string(setting))
	if !ok { // it is JSON
		m.Free(m.Exception())
		return false
	}
	host := m.Object()
	for name, function := range m.run.host {
		m.Set(host, name, m.Function(name, function))
	}
	function, _ := m.Eval(prelude, "prelude")
	functions, ok := m.Call(function, host, parsed, m.Dup(m.run.clock))
	if !ok {
		panic("the prelude failed")
	}
	m.fail, m.encode, m.describe = m.Property(functions, "fail"), m.Property(functions, "encode"), m.Property(functions, "describe")
	m.Free(functions)
	m.Free(function)
	return true
}

// begin starts the function of a program. A failure is that of a limit.
func (m *realm) begin(function value) *Failure {
	promise, ok := m.Call(function)
	if !ok {
		return m.failure(m.Exception(), len(opener))
	}
	m.promise = promise
	return nil
}

// advance runs the program until it waits, and sends the turn. It does not return at the end.
func (r *run) advance() {
	r.drain()
	for r.endInner() {
		r.drain()
	}
	if r.outcome == nil {
		if settled, rejected, result := r.State(r.promise); settled {
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
	r.place(f, stack, len(opener))
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
func (r *run) issue(engine *quickjs.Engine, args []value) value {
	m := r.realms[engine]
	name, _, _ := m.Text(args[0], 1000)
	limit := r.program.Limits.Arguments
	text, length, ok := m.Text(args[1], limit)
	if !ok || length > limit {
		return m.Throw(fmt.Sprintf("the arguments of %s have %d bytes, at most %d are allowed", name, length, limit))
	}
	r.arguments += length
	switch {
	case len(r.turn.Calls) == maxCalls:
		r.stop(tooMuch("it issued more than %d calls at once; await some before others", maxCalls), r.Stack())
	case r.arguments > maxAtOnce*limit:
		r.stop(tooMuch("it issued calls with more than %d bytes of arguments at once; await some before others", maxAtOnce*limit), r.Stack())
	}
	r.calls++
	r.turn.Calls = append(r.turn.Calls, Call{Seq: r.calls, Scope: m.scope, Name: name, Args: json.RawMessage(text)})
	promise, resolve, reject := m.Promise()
	r.pendingCalls[r.calls] = pendingCall{m, name, resolve, reject, m.Dup(args[2])}
	return promise
}

// answer settles the promise of a call, or begins the program that does.
func (r *run) answer(a Answer) {
	r.arguments = 0
	if !a.Now.IsZero() {
		r.setNow(a.Now)
	}
	p := r.pendingCalls[a.Seq]
	delete(r.pendingCalls, a.Seq)
	if a.Run == nil {
		p.settle(a.Value, a.Error)
		r.release(p.realm)
		return
	}
	m := &realm{Engine: p.Realm(), run: r, file: p.name, names: p.names, scope: a.Seq, caller: p}
	if a.Run.Source != "" {
		r.sources[m.file] = a.Run.Source
	}
	if a.Run.Names != nil {
		m.names = a.Run.Names
	}
	var fault *Failure
	if !m.equip(r.program.Seed+uint64(a.Seq), a.Run.Input) {
		fault = tooMuch(nestedTooDeep)
	} else if function, wrong := m.compile(); wrong != nil {
		fault = wrong
	} else {
		fault = m.begin(function)
		m.Free(function)
	}
	if fault != nil {
		p.settle(nil, m.thrown(fault))
		return
	}
	r.inner = append(r.inner, m)
}

// settle settles the promise of a call with JSON, or with an error if it is not nil.
func (p pendingCall) settle(result json.RawMessage, failed *ToolError) {
	settle, text := p.resolve, orNull(result)
	if failed != nil {
		settle, text = p.reject, failed.fields()
	}
	v, ok := p.Parse(string(text))
	if ok && failed != nil {
		v, ok = p.Call(p.fail, p.Dup(p.fault), v)
	}
	if !ok { // it is JSON, but too deep
		settle, v = p.reject, p.Exception()
	}
	_, _ = p.Call(settle, v)
	for _, done := range []value{p.resolve, p.reject, p.fault} {
		p.Free(done)
	}
}

// endInner answers the calls whose programs have ended, and reports whether there was one.
func (r *run) endInner() (some bool) {
	for _, m := range slices.Clone(r.inner) {
		settled, rejected, result := m.State(m.promise)
		if !settled {
			continue
		}
		some = true
		r.inner = slices.DeleteFunc(r.inner, func(other *realm) bool { return other == m })
		end := m.settle(rejected, result)
		if seen, ok := r.unseen[m.promise]; ok { // it is the answer
			m.Free(m.promise)
			m.Free(seen.reason)
			delete(r.unseen, m.promise)
		}
		var failed *ToolError
		if end.Failure != nil {
			failed = m.thrown(end.Failure)
		}
		m.caller.settle(end.Result, failed)
		m.Free(m.promise)
		r.release(m)
	}
	return some
}

// release closes a realm whose program has ended, and of which nothing is left.
func (r *run) release(m *realm) {
	if m == r.realm {
		return
	}
	used := slices.Contains(r.inner, m)
	for _, p := range r.pendingCalls {
		used = used || p.realm == m
	}
	for _, seen := range r.unseen {
		used = used || seen.realm == m
	}
	if used {
		return
	}
	delete(r.realms, m.Engine)
	for _, function := range []value{m.fail, m.encode, m.describe} {
		m.Free(function)
	}
	m.Close()
}

// thrown returns the error that the call of a failed program throws.
func (m *realm) thrown(f *Failure) *ToolError {
	e := &ToolError{Code: Failed, Message: f.Message, Tool: m.file}
	switch {
	case f.Tool != "":
		e.Code, e.Message = f.Name, f.Tool+": "+f.Message
	case f.Name != "":
		e.Message = f.Name + ": " + f.Message
	}
	if f.Line > 0 {
		e.Message = fmt.Sprintf("line %d, column %d: %s: %s", f.Line, f.Column, e.Message, f.Code)
	}
	return e
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
func (r *run) settleSeen(engine *quickjs.Engine, promise, reason value, handled bool) {
	if r.over != nil {
		if stack, ok := r.Interrupted(reason); ok {
			r.stop(r.over, stack)
		}
	}
	if !handled {
		r.rejected++
		r.unseen[r.Dup(promise)] = rejection{r.realms[engine], r.rejected, r.Dup(reason)}
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
	delete(r.unseen, r.promise) // it is the outcome
	var reasons []rejection
	for _, seen := range r.unseen {
		reasons = append(reasons, seen)
	}
	slices.SortFunc(reasons, func(a, b rejection) int { return a.n - b.n })
	for _, seen := range reasons[:min(len(reasons), maxUnseen)] {
		f := seen.failure(seen.reason, len(opener))
		if seen.scope > 0 { // lines are those of the main program
			f = &Failure{Kind: Thrown, Message: seen.file + ": " + seen.thrown(f).Message}
		}
		list = append(list, *f)
	}
	return list
}

// log keeps a line of a program's log.
func (r *run) log(_ *quickjs.Engine, args []value) value {
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
func (r *run) unknown(engine *quickjs.Engine, args []value) value {
	m := r.realms[engine]
	name, _, _ := m.Text(args[0], 200)
	text := fmt.Sprintf("there is no action %q", name)
	if near := nearest(name, m.callable(), 3); len(near) > 0 {
		text += "; the nearest are " + strings.Join(near, ", ")
	}
	return m.String(text)
}

// callable returns the full names of all that the program may call.
func (m *realm) callable() []string { return slices.Concat(m.names, m.run.program.Stored) }

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
func (m *realm) settle(rejected bool, result value) *End {
	if rejected {
		return &End{Failure: m.failure(result, len(opener))}
	}
	text, ok := m.Call(m.encode, result)
	if !ok {
		f := m.failure(m.Exception(), len(opener))
		f.Kind, f.Message = NoResult, "the result is not JSON: "+f.Message
		return &End{Failure: f}
	}
	if text == m.Undefined {
		return &End{Failure: &Failure{Kind: NoResult, Message: "the result is a function or a symbol, which is not JSON"}}
	}
	limit := m.run.program.Limits.Result
	encoded, length, ok := m.Text(text, limit)
	if !ok || length > limit {
		message := fmt.Sprintf("the result has %d bytes, at most %d are allowed; return less", length, limit)
		return &End{Failure: &Failure{Kind: NoResult, Message: message}}
	}
	return &End{Result: json.RawMessage(encoded)}
}
