package scan

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold/internal/system/child"
	"github.com/toolfold/toolfold/internal/system/outside"
)

// What looks into the files of a workspace runs in a second process of this
// program's executable: a hostile file may make a lexer, the go command, its
// compiler or an analyser take all the time and memory there is. The process
// and what it starts end with the scan and with this process, and have limits.
// The process keeps those of processor time for each step that it begins (meter);
// this one ends it where a step waits for ever.
const (
	apartTime   = 60 * time.Second // of processor time, of one that runs the fast rules, and of go fix
	apartMemory = 500 << 20        // bytes, of one and of each process that it starts; on Linux
	apartFiles  = 200              // that the fast rules look at in one such process
	apartStack  = 64 << 20         // bytes, of a parser that calls itself
	apartTrace  = 1 << 20          // bytes of what it says when it ends; why stands before all its goroutines
	fileTime    = 8 * time.Second  // of processor time, that the fast rules have for a file
	packageTime = 10 * time.Second // of processor time, that parsing, importing or analysing a Go package may take
	importTime  = 2 * time.Second  // of processor time, that importing one may take whose analysis was given up
	listTime    = 30 * time.Second // of processor time, that listing the packages of a batch may take
	goTime      = 10 * time.Second // of processor time, of each compiler that go fix runs
	patience    = 10               // times the processor time of a step that may pass on the clock
)

// apartArgument is the only argument of such a process.
const apartArgument = "toolfold: scanner"

// busy bounds how many of them run at a time: each may take much memory.
var busy = make(chan struct{}, 2)

// job is the work of such a process: it runs the fast rules over Files, or the
// analysers or go fix over the Go packages in Folders.
type job struct {
	Dir       string // absolute, of the workspace
	Request   Request
	Files     []string
	GoWork    string // as of Scanner
	Module    string // below the workspace
	Folders   []goFolder
	Wanted    map[string]bool   // files to report on; nil for the fast rules
	Left      map[string]string // steps not to take: why they were given up, empty for done ones
	Gone      map[string]bool   // folders whose packages are not analysed: one was given up
	Only      string            // the step to take, with what it needs; empty = all
	Modernize bool              // whether go fix runs, not the analysers
	Limit     time.Duration     // as of Scanner
}

// step is a piece of the work of such a process that may take so much processor time.
type step struct {
	Name  string
	Place string // the file or folder that it is about, below the workspace; empty = all of the job needs it
	Time  time.Duration
}

// part is some of what comes out, as one JSON value of its output.
type part struct {
	Begun    *step     // what is done next; nil = the rest says what came out
	Ended    string    // the name of the step that is done
	Late     *step     // what used up its time, so that the process ends
	Hindered []Skipped // Go packages, and what keeps all of a module like them from being analysed
	Read     *readFile // nil for the analysers
	Findings []Finding
	Skipped  []Skipped
}

// readFile is a file that the fast rules are done with.
type readFile struct {
	Name   string
	Sum    [sha256.Size]byte
	Go     bool
	Unread bool // it could not be looked at
	Quiet  []quiet
	Theirs bool // a program wrote it
	Spans  []span

	Imports []Import // for [Scanner.Sources], which runs no rules
	Main    bool     // as of [SourceFile]
}

// The process is a scanner before anything else of the program begins, in any program
// that has this package: a test of it or the command.
func init() {
	if len(os.Args) != 2 || os.Args[1] != apartArgument {
		return
	}
	if err := runApart(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runApart is the whole life of such a process.
func runApart(ctx context.Context, in io.Reader, out io.Writer) error {
	var j job
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return fmt.Errorf("reading job: %w", err)
	}
	if err := child.LimitMemory(apartMemory, apartMemory); err != nil {
		return fmt.Errorf("limiting memory: %w", err)
	}
	debug.SetMemoryLimit(apartMemory / 4 * 3)
	debug.SetMaxStack(apartStack)
	root, err := os.OpenRoot(j.Dir)
	if err != nil {
		return fmt.Errorf("opening workspace: %w", err)
	}
	defer root.Close()
	m := newMeter(out, j)
	go m.watch()
	if len(j.Folders) > 0 {
		g := &goScan{job: j, emit: m.emit,
			fileHolds: func(name string) (string, bool) { text, err := read(root, name); return text, err == nil }}
		if j.Modernize {
			return g.modernize(ctx)
		}
		return g.batch(ctx)
	}
	fastRules(root, j.Files, j.Request.Purpose, m.emit)
	return nil
}

// ending says how a process ended.
type ending struct {
	err   error  // in words for the user; nil = it did its job
	late  *step  // the one that took too long; nil where that is not the reason
	begun []step // what it was at
}

// apart does a job in a process of its own and hands out what it says, also
// where it is given up.
func (s Scanner) apart(ctx context.Context, j job, take func(part)) ending {
	select {
	case busy <- struct{}{}:
		defer func() { <-busy }()
	case <-ctx.Done():
		return ending{err: ctx.Err()}
	}
	self, err := child.Executable()
	if err != nil {
		return ending{err: fmt.Errorf("finding this program: %w", err)}
	}
	j.Limit = s.limit
	input, err := json.Marshal(j)
	if err != nil {
		return ending{err: fmt.Errorf("writing job: %w", err)}
	}
	env := os.Environ()
	if s.distrusts(ctx) != "" { // it starts the go command
		env = append(env, "PATH="+outside.Path(j.Dir))
	}
	limited, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if len(j.Folders) == 0 {
		defer limit(stop, step{Time: apartTime}).Stop()
	}
	var late *step
	out, in := io.Pipe()
	errs := &child.Tail{Keep: apartTrace}
	ended := make(chan error, 1)
	go func() {
		ended <- child.Run(limited, child.Command{Argv: []string{self, apartArgument}, Env: env,
			Stdin: bytes.NewReader(input), Stdout: in, Stderr: errs})
		in.Close()
	}()
	begun, timers := map[string]step{}, map[string]*time.Timer{}
	for decoder := json.NewDecoder(out); ctx.Err() == nil; {
		var p part
		if decoder.Decode(&p) != nil {
			break // the end, or where the process was ended
		}
		if b := p.Begun; b != nil {
			begun[b.Name], timers[b.Name] = *b, limit(stop, *b)
		}
		if timer := timers[p.Ended]; timer != nil {
			timer.Stop()
			delete(begun, p.Ended)
		}
		late = cmp.Or(late, p.Late)
		take(p)
	}
	for _, timer := range timers {
		timer.Stop()
	}
	out.Close()
	end := ending{err: <-ended, begun: slices.Collect(maps.Values(begun))}
	var waiting *waitError
	switch {
	case ctx.Err() != nil:
		end.err = ctx.Err()
	case late != nil:
		end.err, end.late = &lateError{*late}, late
	case end.err != nil && errors.As(context.Cause(limited), &waiting):
		end.err, end.late = waiting, &waiting.step
	case end.err != nil && strings.Contains(errs.String(), "out of memory"):
		end.err = errors.New(tooMuchMemory)
	case end.err != nil && strings.Contains(errs.String(), "stack overflow"):
		end.err = errors.New("it is nested too deeply")
	case end.err != nil && strings.Contains(errs.String(), "\ngoroutine "):
		end.err = errors.New(brokeDown)
	}
	if end.late != nil && end.late.Name == "" {
		end.late = nil // each of its running steps may be the cause
	}
	return end
}

// tooMuchMemory is the reason for giving up what had all the memory that it may have.
var tooMuchMemory = fmt.Sprintf("it needed more than %d MB of memory", apartMemory>>20)

// brokeDown is the reason for giving up what a process broke down at, mostly for want of memory.
const brokeDown = "the process that looks at it broke down"

// lateError is the reason for ending a process that took too much processor time for a step.
type lateError struct{ step step }

// Error implements error.
func (e *lateError) Error() string {
	return fmt.Sprintf("it took more than %v of processor time", e.step.Time)
}

// waitError is the reason for ending a process that waited too long at a step.
type waitError struct{ step step }

// Error implements error.
func (e *waitError) Error() string { return fmt.Sprintf("it did not end in %v", patience*e.step.Time) }

// limit ends a process that waits at a step; one without a name is all that it does.
func limit(stop context.CancelCauseFunc, s step) *time.Timer {
	return time.AfterFunc(patience*s.Time, func() { stop(&waitError{s}) })
}
