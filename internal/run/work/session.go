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

// Error codes of missing and ended sessions.
const (
	SessionNotFound          = "SESSION_NOT_FOUND"
	SessionInvalidTransition = "SESSION_INVALID_TRANSITION"
)

// MissingSession returns the error for a session that does not exist.
func MissingSession(id string) error {
	return toolfold.Errorf(SessionNotFound, "there is no session %s", id).
		WithHint("session.list shows those there are; session.create opens one")
}

// EndedSession returns the error for a session in a final state.
func EndedSession(state string) error {
	return toolfold.Errorf(SessionInvalidTransition, "the session is %s, which is final", state).
		WithHint("open another one with session.create")
}

// sessions are the ids of the sessions that a call belongs to.
type sessions []string

// InSessions returns a context for calls in these sessions, in addition to those of ctx. The
// policies of all of them apply.
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

// Sessions returns the ids of the sessions that calls with the context belong to.
func Sessions(ctx context.Context) []string { return callctx.Of[sessions](ctx) }
