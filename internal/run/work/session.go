package work

import (
	"context"
	"slices"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
)

// The states of a session. All but the first are final.
const (
	SessionActive    = "active"
	SessionCompleted = "completed"
	SessionFailed    = "failed"
)

// Codes of sessions that cannot be worked in.
const (
	SessionNotFound          = "SESSION_NOT_FOUND"
	SessionInvalidTransition = "SESSION_INVALID_TRANSITION"
)

// MissingSession is the error for a session that does not exist.
func MissingSession(id string) error {
	return toolfold.Errorf(SessionNotFound, "there is no session %s", id).
		WithHint("session.list shows those there are; session.create opens one")
}

// EndedSession is the error for a session in a final state.
func EndedSession(state string) error {
	return toolfold.Errorf(SessionInvalidTransition, "the session is %s, which is final", state).
		WithHint("open another one with session.create")
}

// sessions are the ids of those that a call is part of.
type sessions []string

// InSessions returns a context for calls that are part of sessions, besides
// the sessions that ctx is part of. The policies of all of them hold for the calls.
func InSessions(ctx context.Context, ids ...string) context.Context {
	if len(ids) == 0 {
		return ctx
	}
	all := slices.Clone(Sessions(ctx))
	for _, id := range ids {
		if !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return callctx.With(ctx, sessions(all))
}

// Sessions returns the sessions that calls with the context are part of.
func Sessions(ctx context.Context) []string { return callctx.Of[sessions](ctx) }
