package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/ask"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/script/js"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// start starts waiting calls, as many as may be under way at once. Before the
// first of them, the journal has all answers that they may depend on, and those
// that must not be repeated.
func (r *run) start(ctx context.Context) error {
	if err := r.hold(ctx); err != nil {
		return err
	}
	var some, rest []*call
	var begin []string
	reads := true
	for _, c := range r.queue {
		if c.Name != js.Sleep && r.slots == atOnce {
			rest = append(rest, c)
			continue
		}
		if c.Name != js.Sleep {
			r.slots++
		}
		some = append(some, c)
		reads = reads && c.reads && !r.asks(c.Name)
		if (!c.safe || r.asks(c.Name)) && c.record == nil {
			begin = append(begin, r.pathOf(c.Seq))
		}
	}
	r.queue = rest
	if !reads {
		if err := r.save(ctx); err != nil {
			return err
		}
	}
	if len(begin) > 0 {
		if err := r.journal.Begin(ctx, begin...); err != nil {
			return err
		}
	}
	alone := len(some) == 1 && r.active == 0
	for _, c := range some {
		r.active++
		within := r.calls
		if c.reads {
			within = r.reading
		}
		if alone { // a goroutine and its stack take as long as a short call
			r.make(within, c)
		} else {
			go r.make(within, c)
		}
	}
	return nil
}

// save records the answers that the journal does not have yet.
func (r *run) save(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.unsaved) == 0 {
		return nil
	}
	unsaved := r.unsaved
	r.unsaved = nil
	return r.journal.Finish(ctx, unsaved...)
}

// make makes a call, records its end and passes it to next. Records have the
// order in which the script gets the answers.
func (r *run) make(ctx context.Context, c *call) {
	rec := record{Name: c.Name, Digest: digestOf(c.Args)}
	uncertain, open := false, false
	switch {
	case r.asks(c.Name):
		var answered bool
		rec.Value, rec.Error, answered = r.confirm(ctx, c)
		open = !answered && (ctx.Err() == nil || !ask.CanAsk(ctx))
	case c.record != nil: // settled
		rec.Value, c.did = c.record.Value, true
	case c.Name == js.Sleep:
		r.pause(ctx, c.Args)
	case r.isStored(c.Name):
		c.inner, c.unsaved = r.resolve(c.from.in(ctx), c)
		if refused, ok := errors.AsType[*toolfold.Error](c.unsaved); ok {
			rec.Error, c.inner, c.unsaved = toolError(c.Name, refused), nil, nil
		}
	default:
		rec.Value, rec.Error, uncertain = r.call(ctx, c)
		rec.Did = c.did && rec.Error != nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if uncertain && !c.safe || ctx.Err() != nil && (rec.Error != nil || c.Name == js.Sleep) {
		c.unknown = uncertain && !c.safe
		c.unsaved = context.Cause(ctx)
	}
	c.unknown = c.unknown || open
	if r.asks(c.Name) && ctx.Err() != nil && rec.Value == nil && rec.Error == nil {
		c.unsaved = context.Cause(ctx)
	}
	if c.unknown || c.unsaved != nil {
		r.arrived <- c
		return
	}
	r.seq++
	if now := r.Now(); now.After(r.now) {
		r.now = now
	}
	rec.Seq, rec.Now = r.seq, r.now.UnixMilli()
	rec.Inner = r.pinned(c)
	c.answer = rec.answer(c.Seq)
	r.unsaved = append(r.unsaved, engine.StepEnd{Path: r.pathOf(c.Seq), Record: ordered.MustJSON(rec)})
	if !c.reads || r.asks(c.Name) {
		unsaved := r.unsaved
		r.unsaved = nil
		c.unsaved = r.journal.Finish(ctx, unsaved...)
	}
	r.arrived <- c
}

// pause waits for the milliseconds that a script pauses.
func (r *run) pause(ctx context.Context, args json.RawMessage) {
	var in struct {
		Ms float64 `json:"ms"`
	}
	_ = json.Unmarshal(args, &in) // nothing else issues it
	const longest = 24 * time.Hour
	wait := time.Duration(min(max(in.Ms, 0), float64(longest/time.Millisecond)) * float64(time.Millisecond))
	select {
	case <-time.After(wait):
	case <-r.settled:
	case <-ctx.Done():
	}
}

// call calls an action. Uncertain reports that it is unknown whether the call
// was done.
func (r *run) call(ctx context.Context, c *call) (value json.RawMessage, failure *js.ToolError, uncertain bool) {
	if r.job.ReadsOnly && !c.reads && len(r.Names.Lookup(c.Name)) > 0 {
		return nil, &js.ToolError{Code: toolfold.PermissionDenied, Tool: c.Name,
			Message: c.Name + " does more than read: run the script with script.run"}, false
	}
	ctx = callctx.With[func(toolfold.Progress)](c.from.in(ctx), nil)
	answer := r.Caller.Call(engine.WithJournalAt(ctx, r.journal, r.pathOf(c.Seq)), c.Name, c.Args)
	c.did = answer.Err == nil
	switch err := answer.Err; {
	case err != nil:
		uncertain = err.Uncertain || err.Code == toolfold.Internal || err.Code == toolfold.Cancelled
		return nil, toolError(c.Name, err), uncertain
	case answer.Failed:
		failure = failedResult(c.Name, answer.Content)
		return nil, failure, failure.Code == engine.Interrupted // of a workflow or an agent with a step that may have been done
	}
	value = valueOf(answer)
	if len(value) > maxValue {
		return nil, &js.ToolError{Code: toolfold.LimitReached, Tool: c.Name, Message: fmt.Sprintf(
			"the answer has %d bytes, and a script takes %d at most: ask for less, by limit or include_fields", len(value), maxValue)}, false
	}
	return value, nil, false
}

// toolError returns the error that the call of a tool throws.
func toolError(tool string, err *toolfold.Error) *js.ToolError {
	failure := &js.ToolError{Code: err.Code, Message: err.Message, Tool: tool, Usage: err.Usage}
	if err.Hint != "" {
		failure.Message += "; " + err.Hint
	}
	if len(err.Problems) > 0 {
		failure.Problems = ordered.MustJSON(err.Problems)
	}
	return failure
}

// failedResult is the error for a result that reports a failure.
func failedResult(name string, content json.RawMessage) *js.ToolError {
	var failed struct {
		Error struct{ Code, Message string }
	}
	_ = json.Unmarshal(content, &failed) // without an error, the result is the reason
	if failed.Error.Message == "" {
		failed.Error.Message = string(content)
	}
	if failed.Error.Code == "" {
		failed.Error.Code = Failed
	}
	return &js.ToolError{Code: failed.Error.Code, Message: failed.Error.Message, Tool: name}
}

// valueOf returns what a script gets for an answer: the result of an action, or
// what a reply of another server has, as structured content, as JSON in its text,
// as its text, or as its content blocks.
func valueOf(answer toolfold.Answer) json.RawMessage {
	if answer.Reply == nil {
		return answer.Content
	}
	var reply struct {
		StructuredContent json.RawMessage   `json:"structuredContent"`
		Content           []json.RawMessage `json:"content"`
	}
	if json.Unmarshal(answer.Reply, &reply) != nil {
		return answer.Content
	}
	if len(reply.StructuredContent) > 0 && string(reply.StructuredContent) != "null" {
		return reply.StructuredContent
	}
	var block struct{ Type, Text string }
	if len(reply.Content) != 1 || json.Unmarshal(reply.Content[0], &block) != nil || block.Type != "text" {
		return ordered.MustJSON(reply.Content)
	}
	if text := []byte(block.Text); json.Valid(text) {
		return text
	}
	return ordered.MustJSON(block.Text)
}
