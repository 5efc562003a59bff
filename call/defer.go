package call

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Deferral answers a valid call by a task in place of its action. deferred is false if the action
// has to run now.
type Deferral func(ctx context.Context, c *Call) (answer toolfold.Answer, deferred bool)

// WithDeferral returns a context in which a call may become a task, if its [toolfold.Action] allows
// it. Calls made by the call do not.
func WithDeferral(ctx context.Context, d Deferral) context.Context {
	return callctx.With(ctx, d)
}

func withoutDeferral(ctx context.Context) context.Context {
	if callctx.Of[Deferral](ctx) == nil {
		return ctx
	}
	return WithDeferral(ctx, nil)
}

// tryDefer answers a call by a task, if its context and its action allow it.
func (c *Call) tryDefer(ctx context.Context) (toolfold.Answer, bool) {
	d := callctx.Of[Deferral](ctx)
	// An awaited task stores no fields, filter or output schema for its answer.
	asIs := !c.Entry.Typed && c.input.chooses() == ""
	if a := c.Entry.Action; d == nil || !a.BecomesTask && !(a.AwaitsTask && asIs) {
		return toolfold.Answer{}, false
	}
	if c.previews() {
		return toolfold.Answer{}, false
	}
	completed, err := c.Entry.Action.Complete(withoutDeferral(ctx), c.Own())
	if err != nil {
		return c.runner.fail(ctx, c, err), true
	}
	c.completed = completed
	return d(ctx, c)
}

// previews reports whether a call only shows what its action would do.
func (c *Call) previews() bool {
	name := c.Entry.Action.Previews
	if name == "" {
		return false
	}
	var args map[string]json.RawMessage
	return json.Unmarshal(c.Own(), &args) == nil && string(args[name]) == "true"
}

// Own returns the complete arguments in the action's spelling, without members for the call, such
// as the fields to return.
func (c *Call) Own() json.RawMessage {
	if c.completed != nil {
		return c.completed
	}
	args := *c.args
	args.changed = true
	return args.encode(c.Entry)
}

// Recall answers a call as if its action had just returned result: projected, limited, and with the
// call's warnings. failed reports that the result is a failure. A result that is only an error is
// returned unchanged.
func (c *Call) Recall(ctx context.Context, result json.RawMessage, failed bool) toolfold.Answer {
	if c.refusal != nil {
		return c.refusal.Answer()
	}
	c.normalise()
	if c.Entry.Action.Relays() {
		if came, ok := readReply(result); ok && came.member("content") != nil {
			c.reply = came
			return c.runner.bounded(ctx, c, came.value())
		}
	}
	var members ordered.Map
	if json.Unmarshal(result, &members) != nil {
		return c.Fail(ctx, toolfold.Errorf(toolfold.Internal, "the stored answer of %s is not a result", c.Entry.Title()))
	}
	if _, isError := members.Get("error"); isError && len(members) == 1 {
		return toolfold.Answer{Content: result, Failed: true}
	}
	if _, warned := members.Get(warningsMember); warned && !declaresWarnings(c.Entry.Action) { // warnings of the earlier run
		result = ordered.MustJSON(slices.DeleteFunc(members, func(m ordered.Member) bool { return m.Key == warningsMember }))
	}
	c.failed = failed
	c.warnEmpty(result)
	return c.runner.bounded(ctx, c, result)
}

// Recall answers a call by a stored result, see [Call.Recall]. name and raw are [Call.Name] and
// [Call.Raw] of the stored call.
func (r *Runner) Recall(ctx context.Context, name string, raw, result json.RawMessage, failed bool) toolfold.Answer {
	again := *r
	again.run = func(ctx context.Context, c *Call) toolfold.Answer {
		if c.refusal != nil && r.inner != r { // it was a forwarded call, which may use more names
			return r.inner.Recall(ctx, name, raw, result, failed)
		}
		return c.Recall(ctx, result, failed)
	}
	return again.call(ctx, name, raw, 0)
}
