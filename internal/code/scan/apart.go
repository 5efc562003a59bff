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

// Code that reads files of a workspace runs in a second process of this program's executable. A
// hostile file may make a lexer, the go command, its compiler or an analyser use unlimited time and
// memory. The process and its children have limits, and end with the scan and with this process. The
// process itself limits the processor time of each of its steps (meter); this side ends it if a step
// waits forever.
const (
	apartTime   = 60 * time.Second // of processor time: for a process that runs the fast rules, and for go fix
	apartMemory = 500 << 20        // bytes, for the process and for each one that it starts; Linux only
	apartFiles  = 200              // files per process of the fast rules
	apartStack  = 64 << 20         // bytes, against deep recursion in a parser
	apartTrace  = 1 << 20          // bytes of standard error; the reason comes before the goroutines
	fileTime    = 8 * time.Second  // of processor time, for the fast rules on one file
	packageTime = 10 * time.Second // of processor time, for parsing, importing or analysing a Go package
	importTime  = 2 * time.Second  // of processor time, for importing a package whose analysis was given up
	listTime    = 30 * time.Second // of processor time, for listing the packages of a batch
	goTime      = 10 * time.Second // of processor time, for each compiler that go fix runs
	patience    = 10               // a step may wait this many times its processor time
)

// apartArgument is the only argument of a scanner process.
const apartArgument = "toolfold: scanner"

// busy bounds how many scanner processes run at once: each may need much memory.
var busy = make(chan struct{}, 2)

// job is the work of a scanner process: the fast rules over Files, or the analysers or go fix over
// the Go packages in Folders.
type job struct {
	Dir            string // absolute path of the workspace
	Request        Request
	Files          []string
	GoWork         string // see Scanner
	Module         string // below the workspace
	Folders        []goFolder
	Targets        map[string]bool   // files to report on; not used by the fast rules
	SkippedSteps   map[string]string // steps to skip, with the reason for giving them up; empty if done
	SkippedFolders map[string]bool   // folders whose packages are not analysed, because one was given up
	Only           string            // the only step to run, with its dependencies; empty = all
	Modernize      bool              // run go fix instead of the analysers
	Limit          time.Duration     // see Scanner
}

// step is a part of a job, with a limit of processor time.
type step struct {
	Name  string
	Place string // the file or folder below the workspace; empty = the whole job depends on the step
	Time  time.Duration
}

// part is one JSON value of a scanner process's output.
type part struct {
	Begun    *step         // the step that begins; nil = the other fields are results
	Ended    string        // the name of the finished step
	Late     *step         // the step that used up its time; the process ends
	Hindered []SkippedFile // Go packages with a problem that other packages of the module may share
	Read     *readFile     // nil for the analysers
	Findings []Finding
	Skipped  []SkippedFile
}

// readFile is the result of the fast rules for a file.
type readFile struct {
	Name   string
	Sum    [sha256.Size]byte
	Go     bool
	Unread bool // the file could not be scanned
	Quiet  []suppression
	Theirs bool // a program wrote it
	Spans  []span

	Imports []Import // for [Scanner.Sources], which runs no rules
	Main    bool     // see [SourceFile]
}

// The process becomes a scanner before the rest of the program starts. This works in every program
// that links this package, including its tests.
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

// runApart is the main function of a scanner process.
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

// ending describes how a scanner process ended.
type ending struct {
	err   error  // for the user; nil = the job is done
	late  *step  // the step that took too long; nil if that is not the reason
	begun []step // the steps that were running
}

// runScanner runs a job in a scanner process and calls take for each part of its output, even if
// the process is ended early.
func (s Scanner) runScanner(ctx context.Context, j job, take func(part)) ending {
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
	if s.distrusts(ctx) != "" { // the job starts the go command
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
			break // the end of the output, also of a process that was ended
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
	var waitErr *waitError
	switch {
	case ctx.Err() != nil:
		end.err = ctx.Err()
	case late != nil:
		end.err, end.late = &lateError{*late}, late
	case end.err != nil && errors.As(context.Cause(limited), &waitErr):
		end.err, end.late = waitErr, &waitErr.step
	case end.err != nil && strings.Contains(errs.String(), "out of memory"):
		end.err = errors.New(tooMuchMemory)
	case end.err != nil && strings.Contains(errs.String(), "stack overflow"):
		end.err = errors.New("it is nested too deeply")
	case end.err != nil && strings.Contains(errs.String(), "\ngoroutine "):
		end.err = errors.New(brokeDown)
	}
	if end.late != nil && end.late.Name == "" {
		end.late = nil // any of the running steps may be the cause
	}
	return end
}

// tooMuchMemory is the reason for giving up a file or step that used all the memory allowed.
var tooMuchMemory = fmt.Sprintf("it needed more than %d MB of memory", apartMemory>>20)

// brokeDown is the reason for giving up a file or step that crashed the process, mostly for lack of
// memory.
const brokeDown = "the process that looks at it broke down"

// lateError is the reason for ending a process whose step used too much processor time.
type lateError struct{ step step }

// Error implements error.
func (e *lateError) Error() string {
	return fmt.Sprintf("it took more than %v of processor time", e.step.Time)
}

// waitError is the reason for ending a process whose step waited too long.
type waitError struct{ step step }

// Error implements error.
func (e *waitError) Error() string { return fmt.Sprintf("it did not end in %v", patience*e.step.Time) }

// limit ends a process if a step waits too long. A step without a name stands for the whole job.
func limit(stop context.CancelCauseFunc, s step) *time.Timer {
	return time.AfterFunc(patience*s.Time, func() { stop(&waitError{s}) })
}
