// Package script runs scripts: JavaScript programs that call actions, in a
// process of their own. Only what a script returns comes back.
//
// A script runs in turns. It runs until it can only wait, then its calls start,
// and it gets one answer at a time. The order of the answers is recorded in the
// journal of the run, so that a script repeats itself exactly: after the end of
// its process another one starts it again, hands it the recorded answers in the
// same order, and goes on where the journal ends.
//
// A call that changes something is recorded before it starts and once it has
// ended. If it is unknown whether such a call was done, because its process or
// its server ended in between, the run ends: the script cannot catch that, and
// so cannot repeat the call. Reading and idempotent calls are made again.
package script

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/jsapi"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/script/js"
	"github.com/toolfold/toolfold/internal/run/work"
)

// Limits of a run.
const (
	MaxSource  = 64 << 10 // bytes of a script
	MaxCalls   = 10_000   // of a run
	MaxReads   = 1_000    // calls of a run without a journal
	atOnce     = 16       // calls under way; pauses do not count
	maxValue   = 8 << 20  // bytes of an answer to a call
	maxJournal = 64 << 20 // bytes of the answers of a run
	maxResult  = 3 << 20  // bytes of what a script returns; tasks keep 4 MiB
	maxLogs    = 2 << 10  // bytes of the log in a result
)

// The codes of failures of a run, beside [engine.Interrupted] and those of actions.
const (
	Failed   = js.Failed         // it threw, or its result is not JSON
	Invalid  = "SCRIPT_INVALID"  // it cannot be parsed
	Exceeded = "SCRIPT_LIMIT"    // of time, memory, calls or bytes
	Diverged = "SCRIPT_DIVERGED" // a repeated run made other calls than recorded
)

// Names resolves the actions that scripts may call. *call.Runner implements it.
type Names interface {
	entry.Names
	Actions() []*toolfold.Action

	// Refusal returns the error with which a call would fail before its action runs, or nil. Problems
	// at paths for which open is true are omitted, because the value there is not known.
	Refusal(ctx context.Context, name string, args json.RawMessage, at string, open func(path string) bool) *toolfold.Error
}

// Runner runs scripts. It is safe for concurrent use.
type Runner struct {
	Caller toolfold.Caller // its answers are complete
	Names  Names
	Now    func() time.Time

	// Library has the scripts that scripts call; nil = they call none.
	Library Library

	// Consent is which calls wait for the user: [Never], also if empty, [Destructive] or [Writes].
	Consent string
}

// Job is a script with its input.
type Job struct {
	Source string
	Input  json.RawMessage // nil = null

	// Name is the name under which the script is about to be stored: it may call itself.
	Name string

	// ReadsOnly rejects calls of actions that do more than read.
	ReadsOnly bool
}

// run is the state of one call of Run.
type run struct {
	*Runner
	job     Job
	journal engine.Journal
	base    string // path of the run in the journal
	engine  string // that the run began with, see [js.Version]
	stored  []string
	main    *scope
	scopes  map[int]*scope // by the call that began their script
	limit   int            // of calls

	consent  string             // the stricter one of the runner and of the run's beginning
	granted  map[string]bool    // actions of which all calls have consent
	held     []*call            // that wait for the user
	asking   bool               // a question about some of them is under way
	verdicts chan consentAnswer // its end

	replaying bool          // the journal may have answers
	recorded  map[int]*call // with an answer in the journal, by its number there
	queue     []*call       // not started
	pending   map[int]*call // issued and not answered, by number
	arrived   chan *call    // that ended, in the order of their records
	active    int           // calls under way
	slots     int           // those of them that are no pauses
	issued    int           // calls of the script
	settled   chan struct{} // closed once the outcome is fixed: pauses that nobody awaits end
	isSettled bool

	calls       context.Context // of calls; ends with the run
	reading     context.Context // of calls that only read and of pauses; ends once nobody awaits them
	stopReading context.CancelFunc

	bytes    int            // of all answers
	counts   map[string]int // ended calls by action
	writes   map[string]int // those that may have changed something
	logs     strings.Builder
	reported time.Time

	pinning sync.Mutex
	pins    map[string]*pin // by the name of calls; guarded by pinning

	mu      sync.Mutex
	seq     int              // of the last recorded answer
	now     time.Time        // of that answer
	unsaved []engine.StepEnd // records that are not in the journal yet
}

// call is a call of a script.
type call struct {
	js.Call
	from   *scope
	record *record // of an earlier run
	begun  bool    // by an earlier run, which may have no record of its end
	reads  bool    // changes nothing
	safe   bool    // may be repeated

	inner   *innerCall // what a call of a stored script begins
	answer  js.Answer
	waits   bool  // for the user, who could not be asked
	did     bool  // its action gave a result, also one that reports a failure or is too long
	unknown bool  // it may have been done
	unsaved error // why the journal does not have it
}

// maxDeaths is how often the process of a script may end before the run fails.
const maxDeaths = 3

// Run runs a script until it ends, and records its calls in the journal of ctx,
// see [engine.JournalOf]. A script that fails is a result. An error means that
// the run stopped before its end, for example with its context. If only the
// process of the script ends, another one goes on.
func (r *Runner) Run(ctx context.Context, job Job) (Result, error) {
	journal, base, _ := engine.JournalOf(ctx)
	limit := MaxCalls
	if journal == nil {
		journal, base, limit = &memory{}, "", MaxReads
	}
	for deaths := 1; ; deaths++ {
		s := &run{
			Runner: r, job: job, journal: journal, base: base, limit: limit,
			settled: make(chan struct{}), recorded: map[int]*call{}, pending: map[int]*call{}, arrived: make(chan *call, MaxCalls),
			counts: map[string]int{}, writes: map[string]int{}, scopes: map[int]*scope{}, pins: map[string]*pin{},
			granted: map[string]bool{}, verdicts: make(chan consentAnswer, 1),
		}
		end, err := s.run(ctx)
		failure, failed := errors.AsType[*Failure](err)
		switch {
		case err == nil:
			return s.result(end), nil
		case failed:
			return s.stopped(failure), nil
		case ctx.Err() != nil:
			return Result{}, errors.Join(ctx.Err(), context.Cause(ctx)) // the first is not logged as a failure
		case !errors.Is(err, js.ErrEnded):
			return Result{}, err
		case len(s.unknown()) > 0:
			return s.stopped(errUnknown), nil
		case deaths == maxDeaths:
			return s.stopped(fail(Exceeded, "%v, %d times", err, deaths).hint("let it hold less at once")), nil
		}
		if err := s.save(ctx); err != nil {
			return Result{}, err
		}
	}
}

// run runs the process of a script to the script's end. When it returns, no call
// is under way.
func (r *run) run(ctx context.Context) (js.End, error) {
	h, err := r.readHeader(ctx)
	if err != nil {
		return js.End{}, err
	}
	r.engine, r.stored, r.main = h.Engine, h.Stored, &scope{depth: 1, names: h.Names}
	r.consent = stricter(h.Consent, r.Consent)
	r.scopes[0] = r.main
	process, turn, err := js.Start(ctx, js.Program{
		Source: r.job.Source, Input: r.job.Input, Seed: h.Seed, Now: time.UnixMilli(h.Now).UTC(), Names: h.Names, Stored: h.Stored,
		Limits: js.Limits{Result: maxResult},
	})
	if err != nil {
		return js.End{}, fmt.Errorf("starting a script: %w", err)
	}
	defer process.Close()
	var stop context.CancelFunc
	r.calls, stop = context.WithCancel(ctx)
	defer stop()
	r.reading, r.stopReading = context.WithCancel(r.calls)
	for err == nil {
		r.log(turn.Logs)
		if turn.End != nil {
			return r.end(*turn.End)
		}
		if turn.Settled && !r.isSettled {
			r.isSettled = true
			close(r.settled)
		}
		var next *call
		if next, err = r.turn(ctx, turn.Calls); err == nil {
			turn, err = process.Resume(ctx, next.answer)
		}
	}
	process.Close()
	r.drain()
	return js.End{}, err
}

// end returns the end of a script. A limit may end it before its calls. The error
// is a [*Failure] if a call may have been done, or if the script did not repeat the
// calls of an earlier run.
func (r *run) end(end js.End) (js.End, error) {
	r.drain()
	limited := end.Failure != nil && (end.Failure.Kind == js.Limit || end.Failure.Kind == js.Memory)
	if r.replaying && !limited && r.hasMore() {
		return js.End{}, r.diverged(lacksCalls)
	}
	if r.replaying {
		return end, r.interrupted()
	}
	if len(r.unknown()) > 0 {
		return js.End{}, errUnknown
	}
	return end, nil
}

// hasMore reports whether an earlier run made calls that this one did not issue.
func (r *run) hasMore() bool {
	for number := r.issued + 1; number <= r.limit; number++ {
		if rec, begun := r.journal.Lookup(r.pathOf(number)); rec != nil || begun {
			return true
		}
	}
	return false
}

// turn starts the calls of a turn, and returns the call that ended next. Its
// error is a [*Failure] if the script has to end.
func (r *run) turn(ctx context.Context, issued []js.Call) (*call, error) {
	if err := r.issue(issued); err != nil {
		return nil, err
	}
	return r.next(ctx)
}

// newSeed returns the seed of a new run.
func newSeed() uint64 {
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // never fails
	return binary.LittleEndian.Uint64(seed[:])
}

// names lists the names of the actions that the caller may run. If the source may call stored scripts, stored
// lists these and [js.Confirm], which go before actions of the same names.
func (r *Runner) names(ctx context.Context, source string) (names, stored []string, err error) {
	names = jsapi.Names(r.Names.Actions(), toolfold.OriginOf(ctx).Rights.Allow)
	if !strings.Contains(source, js.Stored) {
		return names, nil, nil
	}
	stored = []string{js.Confirm}
	if r.Library != nil {
		list, err := r.Library.Names(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range list {
			if full := js.Stored + "." + name; full != js.Confirm {
				stored = append(stored, full)
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(stored, name) }), stored, nil
}

// issue accepts the calls of a turn. It fails if they differ from those of an
// earlier run.
func (r *run) issue(issued []js.Call) error {
	for _, i := range issued {
		if i.Seq > r.limit {
			return fail(Exceeded, "the script made more than %d calls", r.limit).hint("split the work into several scripts")
		}
		r.issued = i.Seq
		rec, begun, err := r.earlier(i.Seq)
		if err != nil {
			return err
		}
		c := &call{Call: i, from: r.scopes[i.Scope], record: rec, begun: begun}
		c.reads = i.Name == js.Sleep || slices.Contains(r.stored, i.Name) || r.reads(i.Name)
		c.safe = c.reads || work.Repeatable(r.Names, i.Name, i.Args)
		r.pending[i.Seq] = c
		switch {
		case rec == nil || rec.Settled:
			r.queue = append(r.queue, c)
		case rec.Name != i.Name || rec.Digest != digestOf(i.Args):
			return r.diverged("call %d is %s, and before the run was interrupted it was %s, or had other arguments", i.Seq, i.Name, rec.Name)
		default:
			r.recorded[rec.Seq] = c
		}
	}
	return nil
}

// next returns the call that ended next, as the journal has it, or else in fact.
func (r *run) next(ctx context.Context) (*call, error) {
	if r.replaying {
		if c := r.recorded[r.seq+1]; c != nil {
			delete(r.recorded, c.record.Seq)
			r.seq, r.now = c.record.Seq, time.UnixMilli(c.record.Now)
			c.answer, c.did = c.record.answer(c.Seq), c.record.Error == nil || c.record.Did
			if c.inner = c.record.Inner; c.inner != nil {
				if err := r.enter(c); err != nil {
					return nil, err
				}
			}
			r.answered(ctx, c)
			return c, nil
		}
		if len(r.recorded) > 0 {
			return nil, r.diverged(lacksCalls)
		}
		r.replaying = false
		if err := r.interrupted(); err != nil {
			return nil, err
		}
	}
	for {
		if err := r.start(ctx); err != nil {
			return nil, err
		}
		if r.active == 0 && !r.asking {
			return nil, fmt.Errorf("a script waits for an answer and made no call")
		}
		select {
		case c := <-r.arrived:
			return c, r.accept(ctx, c)
		case v := <-r.verdicts:
			if err := r.consented(ctx, v); err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// accept takes in a call that has ended. Its error is that of next.
func (r *run) accept(ctx context.Context, c *call) error {
	r.leave(c)
	if c.unsaved != nil {
		return c.unsaved
	}
	if c.unknown {
		return errUnknown
	}
	if c.inner != nil {
		if err := r.enter(c); err != nil {
			return err
		}
	}
	r.answered(ctx, c)
	if r.bytes > maxJournal {
		return fail(Exceeded, "the answers have more than %d MiB", maxJournal>>20).hint("ask for less, by limit or include_fields")
	}
	return nil
}

// errUnknown ends a run with a call that may have been done, or that waits for the user. [run.stopped] has its text.
var errUnknown = fail(engine.Interrupted, "")

const lacksCalls = "the run does not repeat the calls that it made before it was interrupted"

// diverged returns the failure of a run whose script does not repeat itself.
func (r *run) diverged(format string, args ...any) *Failure {
	f := fail(Diverged, format, args...).hint("nothing was called since; see which writes were done, then run the script again")
	if r.engine != js.Version() {
		f.Message += fmt.Sprintf("; it was begun by %s, and this is %s", r.engine, js.Version())
	}
	return f
}

// interrupted fails if an earlier run began calls that may have been done.
func (r *run) interrupted() error {
	for _, c := range r.pending {
		c.unknown = c.begun && c.record == nil && !c.safe
	}
	if len(r.unknown()) > 0 {
		return errUnknown
	}
	return nil
}

// unknown returns the calls that may have been done, and those that wait for the user, in their order.
func (r *run) unknown() (list []*call) {
	for _, number := range slices.Sorted(maps.Keys(r.pending)) {
		if c := r.pending[number]; c.unknown || c.waits {
			list = append(list, c)
		}
	}
	return list
}

// leave ends the part of a call that has ended.
func (r *run) leave(c *call) {
	r.active--
	if c.Name != js.Sleep {
		r.slots--
	}
}

// answered counts a call that has ended, and reports the progress.
func (r *run) answered(ctx context.Context, c *call) {
	r.count(c)
	now := r.Now()
	if c.Name == js.Sleep || now.Sub(r.reported) < 250*time.Millisecond && !now.Before(r.reported) {
		return
	}
	r.reported = now
	done := 0
	for _, n := range r.counts {
		done += n
	}
	all := done + len(r.pending)
	toolfold.Report(ctx, toolfold.Progress{Done: float64(done), Total: float64(all), Message: fmt.Sprintf("%d of %d calls done", done, all)})
}

// count counts a call that has ended.
func (r *run) count(c *call) {
	delete(r.pending, c.Seq)
	r.bytes += len(c.answer.Value)
	if c.answer.Run != nil {
		r.bytes += len(c.answer.Run.Source) + len(c.answer.Run.Input)
	}
	if c.Name == js.Sleep {
		return
	}
	r.counts[c.Name]++
	if !c.reads && c.did {
		r.writes[c.Name]++
	}
}

// reads reports whether all actions of a name only read.
func (r *Runner) reads(name string) bool {
	return r.all(name, func(h toolfold.Hints) bool { return h.ReadOnly })
}

// all reports whether there are actions of a name, and all have certain hints.
func (r *Runner) all(name string, have func(toolfold.Hints) bool) bool {
	entries := r.Names.Lookup(name)
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(e *entry.Entry) bool {
		return e.Action == nil || !have(e.Action.Hints())
	})
}

// drain waits for the calls under way that may change something, and records
// their ends. It stops the others, and takes back a question about held calls.
func (r *run) drain() {
	r.stopReading()
	if r.asking {
		<-r.verdicts
		r.asking = false
	}
	for r.active > 0 {
		c := <-r.arrived
		r.leave(c)
		if !c.unknown && c.unsaved == nil {
			r.count(c)
		}
	}
}

// log appends lines to the log, up to its limit.
func (r *run) log(lines []string) {
	for _, line := range lines {
		room := maxLogs - r.logs.Len()
		if room <= 0 {
			return
		}
		if len(line) >= room {
			line = strings.ToValidUTF8(line[:room], "") + "… (the rest is left out)"
		}
		r.logs.WriteString(line + "\n")
	}
}
