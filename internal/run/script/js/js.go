// Package js runs a JavaScript program that calls tools, in turns.
//
// A program runs until nothing is left for it to do but wait for answers. Then it has made a turn:
// the calls that it issued since the last one. Whoever runs it hands back one answer, and gets the
// next turn. Nothing else reaches a program: time is the time of the last answer, random numbers
// follow from a seed, there are no modules, files or connections. The same answers in the same
// order therefore give the same calls.
//
// A program of a few characters can take any amount of time and memory, and the engine is C that was
// translated to Go. It therefore runs in a process of its own of this executable, which runs one
// program and ends. This process kills it when it exceeds its limits and cannot end itself.
package js

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolfold/toolfold/internal/run/script/js/quickjs"
)

// Program is what a process runs.
type Program struct {
	Source string          // JavaScript, the body of an async function: may use await and return
	Input  json.RawMessage // value of the global input; empty = null
	Seed   uint64          // of Math.random
	Now    time.Time       // Date at the start, in UTC; later that of the last Answer
	Names  []string        // full names of callable actions, "family.action"; objects of these names hold the functions
	Stored []string        // full names of callable programs and of [Confirm], "scripts.name"
	Limits Limits
}

// Limits are the limits of a run. Zero is the default.
type Limits struct {
	Running   time.Duration // while the program itself runs, not while it waits for answers
	Memory    int64         // bytes of the program's values
	Logs      int           // bytes of kept logs
	Result    int           // bytes of End.Result
	Arguments int           // bytes of the arguments of one call
}

// withDefaults returns the limits with the defaults in place of zero.
func (l Limits) withDefaults() Limits {
	if l.Running == 0 {
		l.Running = 5 * time.Second
	}
	for field, usual := range map[*int]int{&l.Logs: 64 << 10, &l.Result: 8 << 20, &l.Arguments: 4 << 20} {
		if *field == 0 {
			*field = usual
		}
	}
	if l.Memory == 0 {
		l.Memory = 64 << 20
	}
	return l
}

// Limits of one turn. A turn beyond them ends the run.
const (
	maxCalls   = 10_000
	maxAtOnce  = 4  // times Limits.Arguments
	maxUnseen  = 10 // more are left out
	maxMessage = 2000
)

// Call is a call that a program issued.
type Call struct {
	Seq   int // 1, 2, … in the order of issue
	Scope int // the call of a program of [Program.Stored] that began the program which issued it; 0 = the main program
	Name  string
	Args  json.RawMessage // an object
}

// The object of [Program.Stored], and its function that asks the user. Its arguments are text and details.
const (
	Stored  = "scripts"
	Confirm = Stored + ".confirm"
)

// Sleep is the name of a call that waits. Its argument ms is a number of milliseconds.
const Sleep = "sleep"

// Answer is the answer to a call.
type Answer struct {
	Seq   int
	Value json.RawMessage // empty = null
	Error *ToolError      // instead of a value
	Run   *Inner          // instead of a value: what the program runs for it
	Now   time.Time       // Date from here on; zero = as before
}

// Inner is a program of [Program.Stored] that another program calls. It runs in the same process and under the
// same limits, with objects of the language of its own, and its calls are those of the whole run. The result, or
// a [ToolError] with the code [Failed], is the answer to the call.
type Inner struct {
	Source string          // empty = as in an earlier answer for this name
	Input  json.RawMessage // empty = null
	Names  []string        // nil = those of the program that calls it
}

// Failed is the code of a program that threw, or whose result is not JSON.
const Failed = "SCRIPT_FAILED"

// ToolError is what a call throws in a program, with its fields in lower case.
type ToolError struct {
	Code, Message, Tool string
	Problems            json.RawMessage // empty = absent
	Usage               string
}

// Turn is what a program did until it had to wait for answers.
type Turn struct {
	Calls   []Call
	Logs    []string
	Settled bool // the outcome is fixed: only calls that nothing awaits are left, such as the sleep of a timeout that lost
	End     *End // nil = waits for answers
}

// End is the outcome of a program.
type End struct {
	Result  json.RawMessage
	Failure *Failure  // instead of a result
	Unseen  []Failure // rejections of promises that nothing awaited
}

// Kinds of failures.
const (
	Thrown   = "thrown"
	Limit    = "limit"  // it ran too long, or issued too much
	Memory   = "memory" // it used too much memory
	Syntax   = "syntax"
	Stuck    = "stuck"  // it waits for something that never comes
	NoResult = "result" // the result is not JSON, or too long
)

// Failure is why a program ended without a result.
type Failure struct {
	Kind          string
	Name, Message string
	Line, Column  int      // in the source, from 1; 0 = unknown. Of a limit, the last known place: at or before a loop
	Code          string   // the line of the source
	Stack         []string // at most three frames of the program, "name (line:column)"
	Tool          string   // of an uncaught ToolError, whose code is in Name
}

// ErrEnded is the error of a process that ended although its program did not, for example because it
// was killed. The program may be run again.
var ErrEnded = errors.New("the process of the script ended")

// Version returns the engine and its version. Another version may run a program in another way.
func Version() string { return "quickjs " + quickjs.Version }

// tooMuch returns the failure of a program beyond a limit.
func tooMuch(format string, args ...any) *Failure {
	return &Failure{Kind: Limit, Message: fmt.Sprintf(format, args...)}
}
