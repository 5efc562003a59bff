package consolidate

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolfold/toolfold/tools"
)

// Caller runs calls by name: it resolves the name and hands the call to the
// registry. It is safe for concurrent use.
type Caller struct {
	Resolver *Resolver
	Registry *tools.Registry

	// Observe is told of every call once it is answered; nil tells nobody.
	Observe func(Call)
}

// Call is what an observer learns of a call.
type Call struct {
	Action   string // full name; empty when the name led to none
	Legacy   string // the old name, where one was used
	Code     string // the error's code; empty for success
	Duration time.Duration
}

// Call answers a call of name with a JSON object of arguments.
func (c *Caller) Call(ctx context.Context, name string, raw json.RawMessage) tools.Answer {
	start := time.Now()
	entry, answer := c.call(ctx, name, raw)
	if c.Observe != nil {
		c.Observe(record(entry, answer, time.Since(start)))
	}
	return answer
}

func (c *Caller) call(ctx context.Context, name string, raw json.RawMessage) (*tools.Entry, tools.Answer) {
	args, refused := tools.ParseArgs(raw)
	if refused != nil {
		return nil, tools.Fail(refused)
	}
	entry, refused := c.Resolver.Resolve(name, args)
	if refused != nil {
		return nil, tools.Fail(refused)
	}
	return entry, c.Registry.Run(ctx, entry, args)
}

func record(e *tools.Entry, answer tools.Answer, d time.Duration) Call {
	call := Call{Code: answer.Code, Duration: d}
	if e == nil {
		return call
	}
	call.Action = e.Action.FullName()
	if e.Old != nil {
		call.Legacy = e.Old.Name
	}
	return call
}
