package call

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Deferral answers a valid call in place of its action, by a task. It is false where the
// action has to run now.
type Deferral func(ctx context.Context, c *Call) (answer toolfold.Answer, deferred bool)

// WithDeferral returns a context whose calls may become tasks, as the fields of
// [toolfold.Action] say. What a call runs in its turn does not.
func WithDeferral(ctx context.Context, d Deferral) context.Context {
	return callctx.With(ctx, d)
}

func withoutDeferral(ctx context.Context) context.Context {
	if callctx.Of[Deferral](ctx) == nil {
		return ctx
	}
	return WithDeferral(ctx, nil)
}

// deferred answers a call by a task, where its context and its action allow that.
func (c *Call) deferred(ctx context.Context) (toolfold.Answer, bool) {
	d := callctx.Of[Deferral](ctx)
	// A task that is awaited does not know how its answer is asked for.
	asIs := !c.Entry.Typed && c.input.chooses() == ""
	if a := c.Entry.Action; d == nil || !a.BecomesTask && !(a.AwaitsTask && asIs) {
		return toolfold.Answer{}, false
	}
	completed, err := c.Entry.Action.Complete(withoutDeferral(ctx), c.Own())
	if err != nil {
		return c.runner.fail(ctx, c, err), true
	}
	c.completed = completed
	return d(ctx, c)
}

// Own returns the arguments as the action spells them, complete, without what concerns
// the call alone, such as the fields of the result to keep.
func (c *Call) Own() json.RawMessage {
	if c.completed != nil {
		return c.completed
	}
	args := *c.args
	args.changed = true
	return args.encode(c.Entry)
}

// Recall answers a call as if its action had returned this result just now: projected,
// bounded, and with the warnings of the call. Failed says that the result shows a
// failure; one that is nothing but an error is the answer as it is.
func (c *Call) Recall(ctx context.Context, result json.RawMessage, failed bool) toolfold.Answer {
	if c.refused != nil {
		return c.refused.Answer()
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
	if _, warned := members.Get(warningsMember); warned && !declaresWarnings(c.Entry.Action) { // of the call that ran it
		result = ordered.MustJSON(slices.DeleteFunc(members, func(m ordered.Member) bool { return m.Key == warningsMember }))
	}
	c.failed = failed
	c.warnEmpty(result)
	return c.runner.bounded(ctx, c, result)
}

// Recall answers a call by a result that was kept, see [Call.Recall]. Name and raw are
// those of the call that was kept, [Call.Name] and [Call.Raw].
func (r *Runner) Recall(ctx context.Context, name string, raw, result json.RawMessage, failed bool) toolfold.Answer {
	again := *r
	again.run = func(ctx context.Context, c *Call) toolfold.Answer {
		if c.refused != nil && r.inner != r { // another call stood for it, which may use more names
			return r.inner.Recall(ctx, name, raw, result, failed)
		}
		return c.Recall(ctx, result, failed)
	}
	return again.call(ctx, name, raw, 0)
}
