package script

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/script/js"
)

// maxDepth limits the scripts that call each other, the first one included.
const maxDepth = 8

// Stored is a script with a name, as it is when another script first calls it.
type Stored struct {
	Name   string          `json:"name"`
	Source string          `json:"source"`
	Schema json.RawMessage `json:"schema,omitempty"` // of the input; empty = any input
	Rights string          `json:"rights,omitempty"` // a text of [toolfold.Rights]; empty = those of its caller
}

// Library has the scripts that scripts may call. Its methods fail with a [*toolfold.Error] for the script.
type Library interface {
	// Names returns the names of all scripts.
	Names(ctx context.Context) ([]string, error)

	// Stored returns a script that may run.
	Stored(ctx context.Context, name string) (Stored, error)

	// Accept checks an input by the script's schema, and returns it with defaults of the schema.
	Accept(ctx context.Context, s Stored, input json.RawMessage) (json.RawMessage, error)

	// Limits returns the rights of a script; nil = all.
	Limits(s Stored) (*toolfold.Rights, error)
}

// scope is where calls come from: the script of the run, or a script that another one calls.
type scope struct {
	name   string           // "scripts.name"; empty for the script of the run
	depth  int              // of scripts that call each other
	rights *toolfold.Rights // of the calls; nil = those of the run
	names  []string         // actions that the script has
}

// in returns the context for calls from a scope.
func (s *scope) in(ctx context.Context) context.Context {
	if s.rights == nil {
		return ctx
	}
	origin := toolfold.OriginOf(ctx)
	origin.Rights = origin.Rights.And(s.rights)
	return callctx.With(ctx, origin)
}

// pin is a stored script of a run. A run calls a script as it was at its first call.
type pin struct {
	Stored
	Names []string `json:"names,omitempty"` // actions within its rights; nil = all

	limits   *toolfold.Rights
	recorded bool // the journal, or what it gets next, has the pin
	sent     bool // the process of the run has the source
}

// innerCall is the record of a call of a stored script. The calls of that script follow.
type innerCall struct {
	Input json.RawMessage `json:"input,omitempty"`
	Pin   *pin            `json:"pin,omitempty"` // at the first call
}

// isStored reports whether a call runs a stored script.
func (r *run) isStored(name string) bool {
	return name != js.Confirm && slices.Contains(r.stored, name)
}

// resolve returns the record of a call of a stored script. Its error is one for the caller, of which the script
// gets the text.
func (r *run) resolve(ctx context.Context, c *call) (*innerCall, error) {
	var in struct {
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(c.Args, &in); err != nil {
		return nil, err
	}
	if c.from.depth == maxDepth {
		return nil, toolfold.Errorf(Exceeded, "scripts call each other %d times at most", maxDepth-1).WithHint("make it a loop")
	}
	r.pinning.Lock()
	defer r.pinning.Unlock()
	p := r.pins[c.Name]
	if p == nil {
		var err error
		if p, err = r.newPin(ctx, c.Name); err != nil {
			return nil, err
		}
		r.pins[c.Name] = p
	}
	input, err := r.Library.Accept(ctx, p.Stored, in.Input)
	return &innerCall{Input: input}, err
}

// pinned returns the record of a call of a stored script, with its pin if the journal does not have it. r.mu is
// held.
func (r *run) pinned(c *call) *innerCall {
	if c.inner == nil {
		return nil
	}
	r.pinning.Lock()
	defer r.pinning.Unlock()
	if p := r.pins[c.Name]; !p.recorded {
		p.recorded = true
		return &innerCall{c.inner.Input, p}
	}
	return c.inner
}

// newPin returns the pin of a script that the run calls for the first time. It fails if the script can only fail.
func (r *run) newPin(ctx context.Context, full string) (*pin, error) {
	stored, err := r.Library.Stored(ctx, full[len(js.Stored+"."):])
	if err != nil {
		return nil, err
	}
	p := &pin{Stored: stored}
	if p.limits, err = r.Library.Limits(stored); err != nil {
		return nil, err
	}
	names := r.main.names
	if p.limits != nil {
		p.Names = []string{}
		for _, name := range names {
			if entries := r.Names.Lookup(name); len(entries) > 0 && p.limits.Allow(entries[0].Action) {
				p.Names = append(p.Names, name)
			}
		}
		names = p.Names
	}
	err = r.check((&scope{rights: p.limits}).in(ctx), Job{Source: stored.Source, ReadsOnly: r.job.ReadsOnly}, names, r.stored)
	if failure, ok := errors.AsType[*Failure](err); ok {
		return nil, failure.Refusal()
	}
	return p, err
}

// enter begins the script that a call has resolved, in a scope of its own.
func (r *run) enter(c *call) error {
	r.pinning.Lock()
	defer r.pinning.Unlock()
	if p := c.inner.Pin; p != nil && r.pins[c.Name] == nil { // of an earlier run
		var err error
		if p.limits, err = r.Library.Limits(p.Stored); err != nil {
			return err
		}
		p.recorded = true
		r.pins[c.Name] = p
	}
	p := r.pins[c.Name]
	if p == nil {
		return r.diverged("the journal lacks the source of %s", c.Name)
	}
	within := &scope{name: c.Name, depth: c.from.depth + 1, rights: c.from.rights.And(p.limits), names: c.from.names}
	run := &js.Inner{Input: c.inner.Input}
	if p.Names != nil {
		within.names = slices.DeleteFunc(slices.Clone(within.names), func(name string) bool { return !slices.Contains(p.Names, name) })
		run.Names = within.names
	}
	if !p.sent {
		run.Source, p.sent = p.Source, true
	}
	r.scopes[c.Seq] = within
	c.answer.Run = run
	return nil
}
