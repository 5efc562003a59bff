package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/validate"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Call is one call on its way through the middleware.
type Call struct {
	// Name is the tool name that was called, and Raw its arguments as received.
	Name string
	Raw  json.RawMessage

	// Entry is the called action under that name. Nil if the name or the action argument is
	// unknown.
	Entry *entry.Entry

	// Origin is the source of the call.
	Origin toolfold.Origin

	runner  *Runner
	bound   Bound
	save    callctx.Save
	args    *arguments
	target  *target
	refusal *toolfold.Error // why Entry is nil
	ready   bool
	input   checkResult
	// completed are the action's own arguments after [toolfold.Action.Complete].
	completed json.RawMessage

	answerID string // id of the stored answer, if it was cut
	failed   bool   // the result reports a failure
	reply    *reply // of another server's tool; nil for other results
}

// Func answers a call. It never panics.
type Func func(context.Context, *Call) toolfold.Answer

// Middleware wraps a Func with work that applies to every call.
type Middleware func(next Func) Func

// Runner runs calls. It is safe for concurrent use.
type Runner struct {
	resolver func(*toolfold.Rights) *Resolver
	log      *slog.Logger
	run      Func
	bound    Bound

	// inner runs the calls that other calls forward to; it may accept more names.
	inner *Runner

	// whole runs the calls that actions make, see [toolfold.Do]: by every name, with full answers.
	whole *Runner

	// save stores the results of calls; nil = results are answers.
	save callctx.Save

	// isListed reports whether a name is in the caller's list; nil = not checked.
	isListed func(ctx context.Context, name string) bool
}

// New returns a runner. resolver returns the current names for a caller with the given rights; a
// call uses the names at its start. Failures for which callers get only an id are logged to log;
// nil = the default logger. The first middleware is the outermost.
func New(resolver func(*toolfold.Rights) *Resolver, log *slog.Logger, middleware ...Middleware) *Runner {
	if log == nil {
		log = slog.Default()
	}
	r := &Runner{resolver: resolver, log: log}
	r.inner, r.whole = r, r
	r.run = r.answer
	for i := len(middleware) - 1; i >= 0; i-- {
		r.run = middleware[i](r.run)
	}
	return r
}

// WithResolver returns a runner that accepts the names of another resolver. Calls made by its calls
// may use the names of r.
func (r *Runner) WithResolver(resolver func(*toolfold.Rights) *Resolver) *Runner {
	other := *r
	other.resolver = resolver
	return &other
}

// WithListing returns a runner that rejects names for which listed returns false. Calls made by its
// calls may use all names of r.
func (r *Runner) WithListing(isListed func(ctx context.Context, name string) bool) *Runner {
	other := *r
	other.isListed = isListed
	return &other
}

// Bounded returns a runner that limits its answers, also those of forwarded calls.
func (r *Runner) Bounded(bound Bound) *Runner {
	other, inner := *r, *r.inner
	inner.bound, inner.inner = bound, &inner
	other.bound, other.inner = bound, &inner
	return &other
}

// Lookup implements [entry.Names] for a caller with all rights.
func (r *Runner) Lookup(name string) []*entry.Entry { return r.resolver(nil).Lookup(name) }

// Nearest implements [entry.Names] for a caller with all rights.
func (r *Runner) Nearest(name string) string { return r.resolver(nil).Nearest(name) }

// Absence returns why an unknown name is not available now, for a caller with all rights, see
// [Resolver.Absence].
func (r *Runner) Absence(name string) *toolfold.Error { return r.resolver(nil).Absence(name) }

// Actions lists the actions that a caller with all rights may run, in the order
// of listings.
func (r *Runner) Actions() []*toolfold.Action { return r.resolver(nil).Actions() }

// maxForwards limits how many times a call may be forwarded.
const maxForwards = 3

// Call calls name with a JSON object of arguments. It always answers and never panics.
func (r *Runner) Call(ctx context.Context, name string, raw json.RawMessage) toolfold.Answer {
	return r.call(ctx, name, raw, maxForwards)
}

func (r *Runner) call(ctx context.Context, name string, raw json.RawMessage, forwards int) toolfold.Answer {
	ctx = callctx.With[toolfold.Caller](ctx, r.whole)
	c := &Call{Name: name, Raw: raw, Origin: toolfold.OriginOf(ctx), runner: r, bound: r.bound, save: r.save}
	names := r.resolver(c.Origin.Rights)
	if c.args, c.refusal = parseArguments(raw); c.refusal == nil {
		c.target, c.refusal = names.resolve(name, c.args)
	}
	if c.target != nil && r.isListed != nil && !r.isListed(ctx, name) {
		c.target, c.refusal = nil, toolfold.Errorf(toolfold.UnknownTool, "%s is not listed", name).WithHint("run it with tool_call")
	}
	if c.target != nil {
		c.Entry = c.target.Entry
	}
	answer := r.run(ctx, c)
	if forward := c.input.forward; forward != nil && answer.Err == nil {
		switch {
		case forwards == 0:
			answer = toolfold.Errorf(toolfold.InvalidInput, "%s calls itself", c.Entry.Title()).
				WithHint("name the action to run").Answer()
		case forward.Save != nil && r.save != nil:
			answer = toolfold.Errorf(toolfold.InvalidInput, "the result is to be saved twice").WithHint("name the action to run").Answer()
		case forward.Save != nil:
			answer = r.inner.saving(forward.Save).call(ctx, forward.Name, forward.Arguments, forwards-1)
		default:
			answer = r.inner.call(ctx, forward.Name, forward.Arguments, forwards-1)
		}
	}
	if c.Entry != nil && c.Entry.Typed { // errors too: the schema describes results only
		answer.Typed = true
	}
	if c.Entry != nil && c.Entry.Legacy {
		a := c.Entry.Action
		now := entry.Select(a)
		if home := names.home[a]; home != nil && !home.Legacy {
			now = home.Entry
		}
		answer.Deprecated = &toolfold.Deprecation{Tool: now.Tool, Action: now.Selector}
	}
	return answer
}

// Called returns the called name. If it is unknown, the argument action is appended.
func (c *Call) Called() string {
	var args struct{ Action string }
	if c.Entry == nil && json.Unmarshal(c.Raw, &args) == nil && args.Action != "" {
		return c.Name + "." + args.Action
	}
	return c.Name
}

// Arguments returns the arguments in the action's own spelling, with defaults. ok is false if the
// call will be rejected for its name or arguments.
func (c *Call) Arguments() (args map[string]any, ok bool) {
	if c.target == nil {
		return nil, false
	}
	c.normalise()
	return c.args.values, len(c.input.problems) == 0
}

// Targets returns the files that the call would write, as its action declares them. A call with
// invalid arguments writes no files.
func (c *Call) Targets(ctx context.Context) ([]string, error) {
	if c.Entry == nil || !c.Entry.Action.WritesFiles() {
		return nil, nil
	}
	if _, valid := c.Arguments(); !valid {
		return nil, nil
	}
	return c.Entry.Action.Targets(ctx, c.args.encode(c.Entry))
}

// Fail answers the call, whose Entry is not nil, with an error of middleware. A [*toolfold.Error]
// is passed on; any other error is logged, and the answer has the id of the log entry.
func (c *Call) Fail(ctx context.Context, err error) toolfold.Answer {
	return c.runner.fail(ctx, c, err)
}

// normalise normalises and validates the arguments once.
func (c *Call) normalise() {
	if !c.ready {
		c.ready = true
		c.input = c.target.normalise(c.args)
	}
}

// answer is the innermost Func: it validates, runs and projects.
func (r *Runner) answer(ctx context.Context, c *Call) (answer toolfold.Answer) {
	defer func() {
		if p := recover(); p != nil {
			answer = r.fail(ctx, c, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	if c.refusal != nil {
		return c.refusal.Answer()
	}
	c.normalise()
	if len(c.input.problems) > 0 {
		return r.fail(ctx, c, &toolfold.Error{Code: toolfold.InvalidInput, Problems: c.input.problems})
	}
	if choice := c.input.chooses(); choice != "" && c.Entry.Typed {
		return r.fail(ctx, c, toolfold.Errorf(toolfold.InvalidInput, "%s lists an output schema, so it answers every field", c.Entry.Title()).
			About(toolfold.ProblemRefused, choice).
			WithHint("leave %s out, or call %s through tool_call", choice, c.Entry.Action.FullName()))
	}
	if c.save == nil { // a task would have the result later
		if answer, deferred := c.tryDefer(ctx); deferred {
			return answer
		}
	}
	ctx = withoutDeferral(ctx)
	raw, forward, err := c.invoke(ctx)
	if err != nil {
		return r.fail(ctx, c, err)
	}
	if forward != nil {
		c.input.forward = withSelection(*forward, &c.input)
		return toolfold.Answer{}
	}
	c.warnEmpty(raw)
	if c.save != nil {
		return r.saved(ctx, c, raw)
	}
	return r.bounded(ctx, c, raw)
}

// pager is the result of a paged list, such as [toolfold.Paged].
type pager interface {
	BindCursor(bind func(cursor string) string)
}

// invoke runs the action and returns its result, or the call that it forwards to.
func (c *Call) invoke(ctx context.Context) (json.RawMessage, *callctx.Forward, error) {
	ctx = callctx.WithFields(ctx, plainPaths(c.input.fields))
	ctx = callctx.With(ctx, callctx.Warning(func(text string) { c.input.warn("%s", text) }))
	if c.save != nil {
		ctx = callctx.With[callctx.Notice](ctx, nil) // a notice describes one page
	}
	if c.target.pages {
		room := max(0, c.bound.Bytes-forWarnings)
		switch {
		case c.save != nil:
			room = maxSaved
		case c.input.filter != "":
			room = maxFiltered
		}
		ctx = callctx.WithRoom(ctx, room)
	}
	args := c.completed
	if args == nil {
		args = c.args.encode(c.Entry)
	}
	result, err := c.Entry.Action.Invoke(ctx, args)
	if err != nil {
		return nil, nil, err
	}
	if forward, ok := result.(callctx.Forward); ok {
		return nil, &forward, nil
	}
	if came, ok := result.(toolfold.Reply); ok {
		if c.reply, ok = readReply(came.Result); !ok {
			return nil, nil, toolfold.Errorf(toolfold.UpstreamError, "%s: the server's answer is not a tool result", c.Entry.Title())
		}
		return c.reply.value(), nil, nil
	}
	if failing, ok := result.(toolfold.Failing); ok {
		c.failed = failing.Failed()
	}
	if page, ok := result.(pager); ok && c.target.pages {
		page.BindCursor(func(cursor string) string { return listMark(listOf(c.Entry.Action, c.args)) + cursor })
	}
	raw, err := ordered.JSON(result)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding result: %w", err)
	}
	return raw, nil, nil
}

// fail converts a failure to an answer that the model may see. Failures that the caller did not
// cause are logged, and the answer has the id of the log entry.
func (r *Runner) fail(ctx context.Context, c *Call, err error) toolfold.Answer {
	var known *toolfold.Error
	switch {
	case errors.As(err, &known):
		refusal := *known
		whole := refusal.Example != nil && (refusal.Usage != "" || refusal.Message != "")
		if !whole && (refusal.Code == toolfold.InvalidInput || len(refusal.Problems) > 0) {
			refusal.Problems = slices.Clone(refusal.Problems)
			for i, p := range refusal.Problems {
				refusal.Problems[i].Path = c.args.pointer(p, c.Entry)
			}
			if c.input.lost {
				refusal.Hint = c.args.lostHint()
			}
			return toolfold.Answer{Err: &refusal, Content: slices.Concat([]byte(`{"error":`), c.target.explain(&refusal), []byte{'}'})}
		}
		return (&refusal).Answer()
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		return toolfold.Errorf(toolfold.Cancelled, "%s was cancelled before it ended", c.Entry.Title()).Answer()
	}
	id := uuid.NewString()
	r.log.Error("action failed", "action", c.Entry.Action.FullName(), "id", id, "err", err)
	return toolfold.Errorf(toolfold.Internal, "%s failed: see %s in the server's log", c.Entry.Title(), id).Answer()
}

// Refusal returns why a call would be rejected before its action runs; nil if it would run. Paths
// of its problems start with at, the JSON pointer to the arguments. Problems at paths for which
// open returns true are omitted, because the value there is not known yet.
func (r *Runner) Refusal(ctx context.Context, name string, raw json.RawMessage, at string, open func(path string) bool) *toolfold.Error {
	args, refused := parseArguments(raw)
	if refused != nil {
		refused.Problems = []toolfold.Problem{{Path: at, Kind: toolfold.ProblemFormat, Want: "object with the parameters of " +
			shorten.Quoted(name)}}
		refused.Hint = "" // the hint is for calls
		return refused
	}
	t, refused := r.resolver(toolfold.OriginOf(ctx).Rights).resolve(name, args)
	if refused != nil {
		for i := range refused.Problems {
			refused.Problems[i].Path = at + refused.Problems[i].Path
		}
		return refused
	}
	refusal := &toolfold.Error{Code: toolfold.InvalidInput}
	unknown := false
	for _, p := range t.normalise(args).problems {
		ofName := p.Kind == toolfold.ProblemUnknown || p.Kind == toolfold.ProblemStray // independent of the value
		if p.Path = at + args.pointer(p, t.Entry); !ofName && open(p.Path) {
			unknown = true
			continue
		}
		refusal.Problems = append(refusal.Problems, p)
	}
	if unknown && validate.Combines(t.Action.Input) {
		return nil // other problems may not apply to the alternative that the value selects
	}
	if len(refusal.Problems) == 0 {
		return nil
	}
	refusal.Hint = "usage and example are for the value at " + at
	t.explain(refusal)
	return refusal
}

// Permissions rejects actions that the caller's rights do not include. It is a second line of
// defence: names of such actions are not resolved at all. For restraining actions it sets the
// context, see [toolfold.Rights.Restrain].
func Permissions(next Func) Func {
	return func(ctx context.Context, c *Call) toolfold.Answer {
		if c.Entry != nil && !c.Origin.Rights.Allow(c.Entry.Action) {
			return toolfold.Errorf(toolfold.PermissionDenied, "%s is not permitted here", c.Entry.Title()).
				WithHint("tools.list shows the permitted actions").Answer()
		}
		return next(c.Origin.Rights.Restrain(ctx), c)
	}
}
