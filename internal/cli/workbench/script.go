package workbench

import (
	"context"
	"slices"

	"github.com/toolfold/toolfold/internal/run/script"
)

// ScriptRun is the journal of a run of a script.
type ScriptRun struct {
	Calls []ScriptCall // by number

	// Places returns the places of the script that call an action.
	Places func(action string) []script.Place
}

// ScriptCall is a call in the journal of a run.
type ScriptCall struct {
	script.Step
	Effect string // reads or changes; empty if the action is not known
	Hidden bool   // the answer is left out, because the user may not call the action
}

// ScriptRun returns the journal of a task that runs a script, as far as its calls have been recorded. Journals
// of runs that completed are not kept. It asks for no right to read the task, see [Workbench.Definitions].
func (b *Workbench) ScriptRun(ctx context.Context, taskID, source string) (r ScriptRun, err error) {
	const header = "/0"
	db, err := b.store.Open(ctx)
	if err != nil {
		return r, err
	}
	steps, err := db.Steps(ctx, taskID, script.LookBytes, header)
	if err != nil {
		return r, err
	}
	var first []byte
	for _, s := range steps {
		if s.Path == header {
			first = s.Record
		}
		if step, ok := script.Look(s.Path, s.Record); ok {
			r.Calls = append(r.Calls, b.scriptCall(step))
		}
	}
	slices.SortFunc(r.Calls, func(a, c ScriptCall) int { return a.Call - c.Call })
	places, err := script.Places(source, first)
	if err != nil {
		return r, err
	}
	byAction := map[string][]script.Place{}
	for name, at := range places {
		full := b.fullName(name)
		byAction[full] = append(byAction[full], at...)
	}
	r.Places = func(action string) []script.Place { return byAction[b.fullName(action)] }
	return r, nil
}

// scriptCall completes a call with its action.
func (b *Workbench) scriptCall(s script.Step) ScriptCall {
	c := ScriptCall{Step: s}
	for _, e := range b.Runner.Lookup(s.Name) {
		if e.Action == nil {
			continue
		}
		if c.Effect = "changes"; e.Action.Hints().ReadOnly {
			c.Effect = "reads"
		}
		c.Hidden = c.Hidden || !b.rights.Allow(e.Action)
	}
	if c.Hidden = c.Hidden || c.Effect == ""; c.Hidden { // also of an action that is gone
		c.Value = ""
	}
	return c
}

// fullName returns the full name of the action that a name means, or the name.
func (b *Workbench) fullName(name string) string {
	for _, e := range b.Runner.Lookup(name) {
		if e.Action != nil {
			return e.Action.FullName()
		}
	}
	return name
}
