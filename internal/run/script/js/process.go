package js

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/turns"
	"github.com/toolfold/toolfold/internal/system/child"
)

const (
	maxRunning   = 2                      // programs that run at a time; others wait until their context ends
	maxProcesses = 8                      // with those of programs that wait for answers
	maxOfCaller  = 6                      // of them for the programs of one caller
	grace        = 100 * time.Millisecond // for a process to end a program by itself
)

var (
	running   = turns.New(maxRunning)
	processes = turns.New(maxProcesses)
	checks    = turns.New(maxRunning) // do not wait for programs, which may wait long
)

// Process is a program that runs in a process of its own. It is used by one goroutine at a time;
// Close may be called at any time.
type Process struct {
	limits  Limits
	caller  string // whose turn it is, see [turns.Turns.Take]
	worker  *child.Worker
	errs    *child.BoundedBuffer // first bytes of the process's errors
	in      *json.Encoder
	bounded *io.LimitedReader
	out     *json.Decoder
	pending map[int]bool // by Seq, calls without an answer
	used    time.Duration

	close     func()
	unwatch   func() bool // of the context of Start
	watchdogs sync.Mutex
	late      bool // killed because a limit was exceeded
}

// Start runs a program until its first turn. At its end the process is gone; until then, it must be
// closed. The end of ctx, also later, ends the process. A program that fails is no error: see
// [End]. The error is ctx's, [ErrEnded], or that of starting a process.
func Start(ctx context.Context, p Program) (*Process, Turn, error) {
	if !json.Valid(orNull(p.Input)) {
		return nil, Turn{}, errors.New("the input of the script is not JSON")
	}
	return start(ctx, task{Program: p})
}

func start(ctx context.Context, t task) (*Process, Turn, error) {
	t.Limits = t.Limits.withDefaults()
	places, count := processes, maxOfCaller
	if t.OnlyCheck {
		places, count = checks, maxRunning
	}
	caller := turns.Of(toolfold.OriginOf(ctx), count).Caller
	release, err := places.Take(ctx, turns.Work{Caller: caller, Most: count})
	if err != nil {
		return nil, Turn{}, fmt.Errorf("waiting for one of %d places for scripts: %w", count, err)
	}
	if !t.OnlyCheck {
		leave, err := running.Take(ctx, turns.Work{Caller: caller, Most: maxRunning})
		if err != nil {
			release()
			return nil, Turn{}, fmt.Errorf("waiting for other scripts: %w", err)
		}
		defer leave()
	}
	p := &Process{limits: t.Limits, caller: caller, pending: map[int]bool{}}
	for started := false; ; {
		spare := takeSpare()
		if started = spare == nil; started {
			if spare, err = newWorker(); err != nil {
				release()
				return nil, Turn{}, fmt.Errorf("starting a process for a script: %w", err)
			}
		}
		if err = p.begin(ctx, spare, t); err == nil || started || ctx.Err() != nil {
			break
		}
		p.unwatch() // the spare process ended at this moment
		spare.End()
	}
	p.close = sync.OnceFunc(func() {
		p.worker.End()
		release()
		refills.Go(refill)
	})
	if err != nil {
		return nil, Turn{}, p.ended(ctx, err)
	}
	turn, err := p.turn(ctx)
	if err != nil {
		return nil, Turn{}, err
	}
	return p, turn, nil
}

// begin hands a program to a process, and waits until the process is ready: the time of the program
// does not include that of starting a process.
func (p *Process) begin(ctx context.Context, w *worker, t task) error {
	p.worker, p.errs = w.Worker, w.errs
	p.unwatch = context.AfterFunc(ctx, w.Kill)
	p.in = json.NewEncoder(w.In)
	p.in.SetEscapeHTML(false)
	p.bounded = &io.LimitedReader{R: w.Out}
	p.out = json.NewDecoder(p.bounded)
	if err := p.in.Encode(t); err != nil {
		return err
	}
	return p.read(new(message))
}

// Resume hands one answer to the program, and runs it until its next turn. After an error the process
// is gone.
func (p *Process) Resume(ctx context.Context, a Answer) (Turn, error) {
	if !p.pending[a.Seq] {
		return Turn{}, fmt.Errorf("the script waits for no answer to call %d", a.Seq)
	}
	if !json.Valid(orNull(a.Value)) || a.Error != nil && !json.Valid(orNull(a.Error.Problems)) {
		return Turn{}, fmt.Errorf("the answer to call %d is not JSON", a.Seq)
	}
	leave, err := running.Take(ctx, turns.Work{Caller: p.caller, Most: maxRunning})
	if err != nil {
		return Turn{}, p.ended(ctx, err)
	}
	defer leave()
	delete(p.pending, a.Seq)
	defer context.AfterFunc(ctx, p.worker.Kill)()
	if err := p.in.Encode(a); err != nil {
		return Turn{}, p.ended(ctx, err)
	}
	return p.turn(ctx)
}

// Close ends the process, if it has not ended.
func (p *Process) Close() {
	p.unwatch()
	p.close()
}

// turn waits for the next turn. It kills a process that exceeds the time of its program.
func (p *Process) turn(ctx context.Context) (Turn, error) {
	watchdog := time.AfterFunc(p.limits.Running-p.used+grace, func() {
		p.watchdogs.Lock()
		defer p.watchdogs.Unlock()
		p.late = true
		p.worker.Kill()
	})
	defer watchdog.Stop()
	var m message
	if err := p.read(&m); err != nil {
		return p.lastTurn(ctx, err)
	}
	p.used = m.Used
	for _, c := range m.Calls {
		p.pending[c.Seq] = true
	}
	if m.End != nil {
		p.Close()
		clear(p.pending)
	}
	return m.Turn, nil
}

// read reads a message. It never reads more than a program may send.
func (p *Process) read(m *message) error {
	p.bounded.N = int64(p.limits.Result) + maxAtOnce*int64(p.limits.Arguments) + 6*int64(p.limits.Logs) + maxCalls*200 + 1<<20
	return p.out.Decode(m)
}

// lastTurn returns the end of a program whose process did not report it.
func (p *Process) lastTurn(ctx context.Context, err error) (Turn, error) {
	ended := p.ended(ctx, err)
	p.watchdogs.Lock()
	defer p.watchdogs.Unlock()
	var crash *crashError
	switch {
	case ctx.Err() != nil:
		return Turn{}, ended
	case p.late || errors.As(ended, &crash) && crash.time:
		return Turn{End: &End{Failure: tooMuch(ranTooLong, p.limits.Running)}}, nil
	case errors.As(ended, &crash) && crash.memory:
		return Turn{End: &End{Failure: &Failure{Kind: Memory, Message: fmt.Sprintf(usedTooMuch, p.limits.Memory>>20)}}}, nil
	}
	return Turn{}, ended
}

// crashError is how a process ended without a report.
type crashError struct {
	state        string
	time, memory bool // the system's limit ended it
}

func (e *crashError) Error() string { return fmt.Sprintf("%v: %s; run it again", ErrEnded, e.state) }

// Unwrap returns [ErrEnded].
func (e *crashError) Unwrap() error { return ErrEnded }

// ended closes the process, and returns the error for its end.
func (p *Process) ended(ctx context.Context, err error) error {
	p.Close()
	clear(p.pending)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	stderr := p.errs.String()
	e := &crashError{
		state: p.worker.State().String(),
		time:  strings.Contains(p.worker.State().String(), "CPU time"), // of the signal SIGXCPU
		memory: strings.Contains(stderr, "out of memory") || strings.Contains(stderr, "stack overflow") ||
			strings.Contains(stderr, "cannot allocate"),
	}
	if first, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n"); first != "" {
		e.state += ", " + first
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && p.bounded.N <= 0 {
		e.state = "it sent more than it may"
	}
	return e
}
