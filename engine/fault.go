package engine

import (
	"fmt"
	"strings"

	"github.com/toolfold/toolfold/tools"
)

// Fault is one thing wrong with a definition: a problem, and the step that
// has it.
type Fault struct {
	Step string // its stepId; empty where it has none, or no step is at fault
	tools.Problem
}

// Text names the step and the fault.
func (f Fault) Text() string {
	p := f.Problem
	p.Path = p.Path[strings.LastIndex(p.Path, "/")+1:]
	if f.Step == "" {
		p.Path = f.Problem.Path
		return p.Text()
	}
	return fmt.Sprintf("step %q: %s", tools.Shorten(f.Step), p.Text())
}

// Faults is everything that is wrong with a definition. It is an error where
// it is not empty.
type Faults []Fault

// Error names every step and its fault.
func (fs Faults) Error() string {
	list := make([]string, len(fs))
	for i, f := range fs {
		list[i] = f.Text()
	}
	return strings.Join(list, "; ")
}

// mostProblems are spelled out in an error; a model mends a few at a time.
const mostProblems = 4

// Problem returns the faults as the error of a call whose argument the
// definition was, nil when there are none.
func (fs Faults) Problem(title string) *tools.Error {
	if len(fs) == 0 {
		return nil
	}
	shown := fs[:min(len(fs), mostProblems)]
	err := &tools.Error{Code: tools.InvalidInput, Message: title + ": " + shown.Error()}
	for _, f := range shown {
		err.Problems = append(err.Problems, f.Problem)
	}
	if more := len(fs) - len(shown); more > 0 {
		err.Hint = fmt.Sprintf("%d more faults are not shown", more)
	}
	return err
}

func (c *compiler) fault(step string, p tools.Problem) {
	c.faults = append(c.faults, Fault{Step: step, Problem: p})
}

// wrong adds a fault in the form "… must be a <want>".
func (c *compiler) wrong(step, path, want string, got any) {
	c.fault(step, tools.Problem{Path: path, Kind: tools.ProblemFormat, Want: want, Got: got})
}
