package consolidate

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/toolfold/toolfold/tools"
)

// maxForwards is how many calls may stand for each other in a row.
const maxForwards = 3

// Caller runs calls by name: it resolves the name and hands the call to the
// registry. It is safe for concurrent use, also while the catalogue changes:
// a call runs what its name meant when it came in.
type Caller struct {
	resolver atomic.Pointer[Resolver]
	registry *tools.Registry
	observe  func(Call)

	// inner runs the calls that others stand for: it accepts every name.
	inner *Caller
}

// NewCaller calls what a catalogue offers, under every name. Observe is told of
// every call once it is answered; nil tells nobody.
func NewCaller(c *tools.Catalogue, r *tools.Registry, observe func(Call)) *Caller {
	caller := &Caller{registry: r, observe: observe}
	caller.inner = caller
	caller.follow(c, AllNames)
	return caller
}

// Accepting returns a caller that takes only some of the names. What its calls
// run in their turn may go by every name.
func (c *Caller) Accepting(catalogue *tools.Catalogue, accept Names) *Caller {
	caller := &Caller{registry: c.registry, observe: c.observe, inner: c.inner}
	caller.follow(catalogue, accept)
	return caller
}

func (c *Caller) follow(catalogue *tools.Catalogue, accept Names) {
	catalogue.Watch(func(specs []*tools.Spec) { c.resolver.Store(NewResolver(specs, accept)) })
}

// Call is what an observer learns of a call.
type Call struct {
	Action   string // full name; empty when the name led to none
	Legacy   string // the old name, where one was used
	Code     string // the error's code; empty for success
	Duration time.Duration
}

// Lookup finds what a name stands for: see [Resolver.Lookup].
func (c *Caller) Lookup(name string) []*tools.Entry { return c.resolver.Load().Lookup(name) }

// Nearest is the accepted name closest to name, empty when none is near.
func (c *Caller) Nearest(name string) string { return c.resolver.Load().Nearest(name) }

// Call answers a call of name with a JSON object of arguments.
func (c *Caller) Call(ctx context.Context, name string, raw json.RawMessage) tools.Answer {
	start := time.Now()
	entry, answer := c.run(ctx, name, raw)
	if c.observe != nil {
		c.observe(record(entry, answer, time.Since(start)))
	}
	return answer
}

// run runs a call, or the one it stands for. A legacy name that was called
// is reported even when it stands for a present one.
func (c *Caller) run(ctx context.Context, name string, raw json.RawMessage) (*tools.Entry, tools.Answer) {
	entry, answer := c.call(ctx, name, raw)
	deprecated := answer.Deprecated
	for range maxForwards {
		if answer.Forward == nil {
			break
		}
		entry, answer = c.inner.call(ctx, answer.Forward.Name, answer.Forward.Arguments)
	}
	if answer.Forward != nil {
		answer = tools.Fail(tools.Errorf(tools.InvalidInput, "%s calls itself", entry.Title()).
			WithHint("name the action to run"))
	}
	if deprecated != nil {
		answer.Deprecated = deprecated
	}
	return entry, answer
}

func (c *Caller) call(ctx context.Context, name string, raw json.RawMessage) (*tools.Entry, tools.Answer) {
	args, refused := tools.ParseArgs(raw)
	if refused != nil {
		return nil, tools.Fail(refused)
	}
	entry, refused := c.resolver.Load().Resolve(name, args)
	if refused != nil {
		return nil, tools.Fail(refused)
	}
	return entry, c.registry.Run(ctx, entry, args)
}

func record(e *tools.Entry, answer tools.Answer, d time.Duration) Call {
	call := Call{Duration: d}
	if answer.Err != nil {
		call.Code = answer.Err.Code
	}
	if e == nil {
		return call
	}
	call.Action = e.Action.FullName()
	if e.Old != nil {
		call.Legacy = e.Old.Name
	}
	return call
}
