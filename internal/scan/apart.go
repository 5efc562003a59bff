package scan

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/toolfold/toolfold/internal/child"
)

// What looks into the files of a workspace runs in a second process of this
// program's executable: a hostile file may make a lexer, the go command, its
// compiler or an analyser take all the time and memory there is. The process
// and what it starts end with the scan and with this process, and have limits.
const (
	apartTime   = 60 * time.Second
	apartMemory = 2 << 30         // bytes, of one that analyses Go and of each process that it starts; on Linux
	fastMemory  = 500 << 20       // bytes, of one that runs the fast rules; on Linux
	apartFiles  = 200             // that the fast rules look at in one such process
	apartStack  = 64 << 20        // bytes, of a parser that calls itself
	apartTrace  = 1 << 20         // bytes of what it says when it ends; why stands before all its goroutines
	fileTime    = 8 * time.Second // that the fast rules have for a file
)

// apartArgument is the only argument of such a process.
const apartArgument = "toolfold: scanner"

// busy bounds how many of them run at a time: each may take much memory.
var busy = make(chan struct{}, 2)

// job is the work of such a process: it runs the fast rules over Files, or the
// analysers over the Go packages in Folders.
type job struct {
	Dir     string // absolute, of the workspace
	Request Request
	Files   []string
	Module  string // below the workspace
	Folders []goFolder
	Wanted  map[string]bool // files to report on; nil for the fast rules
}

// memory returns the bytes that the process of a job may have.
func (j job) memory() uint64 {
	if len(j.Folders) > 0 {
		return apartMemory
	}
	return fastMemory
}

// part is some of what comes out, as one JSON value of its output.
type part struct {
	Begun    string    // the file that is looked at next; empty = the rest says what came out
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
	if err := child.LimitMemory(j.memory()); err != nil {
		return fmt.Errorf("limiting memory: %w", err)
	}
	debug.SetMemoryLimit(int64(j.memory() / 4 * 3))
	debug.SetMaxStack(apartStack)
	root, err := os.OpenRoot(j.Dir)
	if err != nil {
		return fmt.Errorf("opening workspace: %w", err)
	}
	defer root.Close()
	encoder := json.NewEncoder(out)
	var writing sync.Mutex
	emit := func(p part) {
		writing.Lock()
		defer writing.Unlock()
		if err := encoder.Encode(p); err != nil {
			os.Exit(1) // the reader is gone
		}
	}
	if len(j.Folders) > 0 {
		g := &goScan{dir: j.Dir, request: j.Request, selected: j.Wanted,
			report:    func(f Finding) { emit(part{Findings: []Finding{f}}) },
			skip:      func(name, why string) { emit(part{Skipped: []Skipped{{name, why}}}) },
			fileHolds: func(name string) (string, bool) { text, err := read(root, name); return text, err == nil }}
		g.batch(ctx, j.Module, j.Folders)
		return nil
	}
	fastRules(root, j.Files, j.Request.Purpose, emit)
	return nil
}

// apart does a job in a process of its own and hands out what it says, also
// where it is given up: then the error says why, in words for the user.
func (s Scanner) apart(ctx context.Context, j job, take func(part)) error {
	select {
	case busy <- struct{}{}:
		defer func() { <-busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	self, err := child.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	input, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("writing job: %w", err)
	}
	limit := apartTime
	if s.limit > 0 {
		limit = s.limit
	}
	limited, stop := context.WithTimeout(ctx, limit)
	defer stop()
	out, in := io.Pipe()
	errs := &child.Tail{Keep: apartTrace}
	ended := make(chan error, 1)
	go func() {
		ended <- child.Run(limited, child.Command{Argv: []string{self, apartArgument}, Stdin: bytes.NewReader(input), Stdout: in, Stderr: errs})
		in.Close()
	}()
	for decoder := json.NewDecoder(out); ctx.Err() == nil; {
		var p part
		if decoder.Decode(&p) != nil {
			break // the end, or where the process was ended
		}
		take(p)
	}
	out.Close()
	err = <-ended
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("it took longer than %s", limit)
	case err != nil && strings.Contains(errs.String(), "out of memory"):
		return fmt.Errorf("it needed more than %d MB of memory", j.memory()>>20)
	case err != nil && strings.Contains(errs.String(), "stack overflow"):
		return errors.New("it is nested too deeply")
	}
	return err
}
