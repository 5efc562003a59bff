package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/validate"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Fault is one thing wrong with a definition: a problem, and the step that
// has it.
type Fault struct {
	Step string // its stepId; empty if it has no stepId, or no step is at fault
	toolfold.Problem
	Words string // replaces the generated text; empty = generated

	kind string // type of the step if its config is at fault
}

// Text names the step and the fault.
func (f Fault) Text() string {
	if f.Words != "" {
		return f.Words
	}
	p := f.Problem
	if f.Step != "" {
		cut := strings.LastIndex(p.Path, "/")
		if _, err := strconv.Atoi(p.Path[cut+1:]); err == nil { // an index means nothing without its list
			cut = strings.LastIndex(p.Path[:cut], "/")
		}
		p.Path = p.Path[cut+1:]
	}
	text := p.Text()
	if p.Kind == toolfold.ProblemEnum && p.Suggest == "" && len(p.Allowed) > 0 {
		text += "; there are " + short(strings.Join(p.Allowed, ", "))
	}
	if f.Step == "" {
		return text
	}
	return fmt.Sprintf("step %q: %s", shorten.Quoted(f.Step), text)
}

// Faults has all faults of a definition. It is an error if it is not empty.
type Faults []Fault

// Error names every step and its fault.
func (fs Faults) Error() string {
	list := make([]string, len(fs))
	for i, f := range fs {
		list[i] = f.Text()
	}
	return strings.Join(list, "; ")
}

// mostReasons bounds the faults of a file that are spelt out.
const mostReasons = 5

// AsBroken reports a file as broken by its faults, at the line of the first.
func (fs Faults) AsBroken(d workspace.Document) *workspace.BrokenFile {
	reason := fs[:min(len(fs), mostReasons)].Error()
	if more := len(fs) - mostReasons; more > 0 {
		reason += fmt.Sprintf("; and %d more", more)
	}
	return d.AsBroken(fs[0].Path, "%s", reason)
}

// CheckDocument checks the members of a file: all required members are present,
// and every member is valid.
func CheckDocument(d workspace.Document, required, optional []toolfold.Param) Faults {
	var faults Faults
	for _, p := range required {
		if _, ok := d.Value[p.Name]; !ok {
			faults = append(faults, Fault{Problem: toolfold.Problem{Path: "/" + p.Name, Kind: toolfold.ProblemMissing}})
		}
	}
	for _, p := range validate.Fields(slices.Concat(required, optional), d.Value) {
		faults = append(faults, Fault{Problem: p})
	}
	return faults
}

// Limits of an error, for which the model pays: about 200 tokens.
const (
	mostProblems  = 4
	maxErrorBytes = 640
)

// stepUsage returns the usage of a step for errors, with the config of its type
// if the type is known.
func stepUsage(kind string) string {
	config := "config"
	if _, known := configFields[kind]; known {
		kind, config = ": "+kind, "config: "+configUsage(kind)
	} else {
		kind = ""
	}
	return "{stepId, name, type" + kind + ", " + config + ", dependsOn?, timeoutMs?, retry?, continueOnError?, idempotent?}"
}

// Problem returns the faults as an error of the call that sent the definition,
// or nil if there are no faults. It shows as many as fit into an error, and the
// number of further faults.
func (fs Faults) Problem(title string) *toolfold.Error {
	for n := min(len(fs), mostProblems); n > 0; n-- {
		err := &toolfold.Error{Code: toolfold.InvalidInput, Message: title + ": " + fs[:n].Error(), Usage: stepUsage(fs[0].kind)}
		for _, f := range fs[:n] {
			err.Problems = append(err.Problems, f.Problem)
		}
		if more := len(fs) - n; more > 0 {
			err.Hint = fmt.Sprintf("%d more faults are not shown", more)
		}
		if len(ordered.MustJSON(err)) <= maxErrorBytes {
			return err
		}
		if err.Usage = ""; n == 1 || len(ordered.MustJSON(err)) <= maxErrorBytes {
			return err
		}
	}
	return nil
}

// Limits of a list of faults, which is longer than an error: a model repairs all of them.
const (
	maxLocated    = 20
	maxFoundBytes = 4000
)

// LocatedFault is a fault with its place in a text.
type LocatedFault struct {
	Path      string   `json:"path" doc:"JSON pointer."`
	Kind      string   `json:"kind" doc:"What is wrong."`
	StepID    string   `json:"stepId,omitempty" doc:"Step."`
	Want      string   `json:"want,omitempty" doc:"What is right."`
	Got       any      `json:"got,omitempty" doc:"What is there."`
	Min       *float64 `json:"min,omitempty" doc:"Least."`
	Max       *float64 `json:"max,omitempty" doc:"Most."`
	Allowed   []string `json:"allowed,omitempty" doc:"Right values."`
	Suggest   string   `json:"suggest,omitempty" doc:"What may be meant."`
	BelongsTo []string `json:"belongs_to,omitempty" doc:"Actions that have it."`
	Line      int      `json:"line,omitempty" doc:"Line of the text."`
	Column    int      `json:"column,omitempty" doc:"Character in the line."`
}

// LocatedFault lists the faults in the order of the document, up to the limits of a list. More is the
// number of further faults. Lines and columns are set only if the document is a text.
func (fs Faults) Locate(d workspace.Document, isText bool) (list []LocatedFault, more int) {
	type faultPlace struct {
		Fault
		line, column int
	}
	var all []faultPlace
	for _, f := range fs {
		line, column := d.Place(f.Path)
		all = append(all, faultPlace{f, line, column})
	}
	slices.SortStableFunc(all, func(a, b faultPlace) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column), cmp.Compare(a.Path, b.Path))
	})
	bytes := 0
	for i, f := range all {
		p := f.Problem
		found := LocatedFault{Path: p.Path, Kind: p.Kind, StepID: f.Step, Want: expectation(p), Got: p.Got, Min: p.Min, Max: p.Max,
			Allowed: p.Allowed,
			Suggest: p.Suggest, BelongsTo: p.BelongsTo}
		if isText {
			found.Line, found.Column = f.line, f.column
		}
		if bytes += len(ordered.MustJSON(found)); len(list) == maxLocated || len(list) > 0 && bytes > maxFoundBytes {
			return list, len(all) - i
		}
		list = append(list, found)
	}
	return list, 0
}

// expectation says what would be right in the place of a problem.
func expectation(p toolfold.Problem) string {
	switch {
	case p.Want != "":
		return p.Want
	case p.Suggest != "" && p.Kind != toolfold.ProblemStray:
		return p.Suggest
	case p.Kind == toolfold.ProblemMissing:
		return "a value"
	case p.Kind == toolfold.ProblemUnknown:
		return "a parameter that exists"
	case p.Kind == toolfold.ProblemStray:
		return "a parameter of this action"
	case p.Kind == toolfold.ProblemEnum && len(p.Allowed) > 0:
		return "one of allowed"
	case p.Kind == toolfold.ProblemEnum:
		return "a name that exists"
	case p.Kind == toolfold.ProblemTwice:
		return "one value"
	}
	_, want, bounded := strings.Cut(strings.TrimPrefix(p.Text(), p.Name()), " must be ")
	if want, _, _ = strings.Cut(want, ", got "); bounded {
		return want
	}
	return "no such value"
}

func (c *compiler) fault(step string, p toolfold.Problem) {
	f := Fault{Step: step, Problem: p}
	if strings.Contains(p.Path, "/config/") {
		f.kind = c.kinds[step]
	}
	c.faults = append(c.faults, f)
}

// addFault adds a fault in the form "… must be a <want>".
func (c *compiler) addFault(step, path, want string, got any) {
	c.fault(step, toolfold.Problem{Path: path, Kind: toolfold.ProblemFormat, Want: want, Got: got})
}
