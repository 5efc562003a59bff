package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/audit"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// NotAudited is the code for a call that did not run because it could not be recorded.
const NotAudited = "AUDIT_UNAVAILABLE"

// Audit returns middleware that records the calls of callers with a token, the changes by users of the page
// who logged in, and the calls that these make. A call that may change something is recorded before it runs, and
// does not run if it cannot be; it is answered after its end is recorded. Calls that only read, and refusals, are
// recorded soon after their end.
func Audit(log *audit.Log, now func() time.Time) call.Middleware {
	return func(next call.Func) call.Func {
		return func(ctx context.Context, c *call.Call) toolfold.Answer {
			by := audit.CallerOf(ctx, c.Origin)
			switch {
			case by == callctx.By{}:
				return next(ctx, c)
			case by.Recorded:
				by.Recorded = false
				return next(callctx.With(ctx, by), c)
			}
			forwards := c.Entry != nil && c.Entry.Action.Forwards() // to a call that is recorded itself
			changes := c.Entry != nil && c.Entry.Action.Effect != toolfold.Reads
			if forwards { // the other call may only read, and its result go to a file
				files, err := c.Targets(ctx)
				changes = err != nil || len(files) > 0
			}
			if by.Token == "" && !changes { // the page reads all the time
				return next(ctx, c)
			}
			e := entryOf(ctx, c)
			e.Caller, e.Token, e.Client = by.Caller, by.Token, by.Client
			e.Began = now()
			if changes {
				if err := log.Write(e); err != nil {
					e.Ended, e.Code = now(), NotAudited
					log.Add(e)
					return c.Fail(ctx, toolfold.Errorf(NotAudited, "%s did not run: the call cannot be recorded", c.Entry.Title()).
						WithHint("try again later; the server's log has the reason"))
				}
			}
			if c.Entry != nil && c.Entry.Action.BecomesTask {
				by.Call = string(ordered.MustJSON(e))
				ctx = callctx.With(ctx, by)
			}
			answer := next(ctx, c)
			switch {
			case forwards && !changes && answer.Err == nil:
				return answer
			case answer.TaskID != "" && by.Call != "": // TaskEnded records its end
				if !changes {
					log.Add(e)
				}
				return answer
			}
			e.Ended = now()
			switch {
			case answer.Err != nil:
				e.Code = answer.Err.Code
			case answer.Failed:
				e.Code = "FAILED"
			}
			if changes {
				_ = log.Write(e) // it is logged, and stored later
			} else {
				log.Add(e)
			}
			return answer
		}
	}
}

// TaskEnded returns a function that records the end of a call that became a task, from the [callctx.By] of the task.
// code is of its error, empty for success.
func TaskEnded(log *audit.Log, now func() time.Time) func(by json.RawMessage, code string) {
	return func(stored json.RawMessage, code string) {
		var by callctx.By
		var e audit.Entry
		if json.Unmarshal(stored, &by) != nil || json.Unmarshal([]byte(by.Call), &e) != nil {
			return // a version without such ends stored it
		}
		e.Ended, e.Code, e.Server = now(), code, audit.Server()
		_ = log.Write(e) // it is logged, and stored later
	}
}

// entryOf describes a call that has not begun, without its caller.
func entryOf(ctx context.Context, c *call.Call) audit.Entry {
	sum := sha256.Sum256(c.Raw)
	e := audit.Entry{
		ID: uuid.Must(uuid.NewV7()).String(), Session: c.Origin.Session, Server: audit.Server(), Action: shorten.Quoted(c.Called()),
		Arguments: hex.EncodeToString(sum[:]),
	}
	if c.Entry != nil {
		e.Action, e.Effect = c.Entry.Action.FullName(), c.Entry.Action.Effect.String()
	}
	if span := oteltrace.SpanContextFromContext(ctx); span.IsValid() {
		e.Trace = span.TraceID().String()
	}
	return e
}
