// Package sessions holds what the families that use sessions share: their states, the
// refusals of a session that cannot be worked in, and the sessions that a call is
// part of.
package sessions

import (
	"context"
	"slices"

	"github.com/toolfold/toolfold"
)

// The states of a session. All but Active are final.
const (
	Active    = "active"
	Completed = "completed"
	Failed    = "failed"
)

// Codes of sessions that cannot be worked in.
const (
	NotFound          = "SESSION_NOT_FOUND"
	InvalidTransition = "SESSION_INVALID_TRANSITION"
)

// Missing is the error for a session that does not exist.
func Missing(id string) error {
	return toolfold.Errorf(NotFound, "there is no session %s", id).
		WithHint("session.list shows those there are; session.create opens one")
}

// Ended is the error for a session in a final state.
func Ended(state string) error {
	return toolfold.Errorf(InvalidTransition, "the session is %s, which is final", state).
		WithHint("open another one with session.create")
}

type sessionsKey struct{}

// In returns a context for calls that are part of sessions, besides
// the sessions that ctx is part of. The policies of all of them hold for the calls.
func In(ctx context.Context, ids ...string) context.Context {
	if len(ids) == 0 {
		return ctx
	}
	all := slices.Clone(Of(ctx))
	for _, id := range ids {
		if !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return context.WithValue(ctx, sessionsKey{}, all)
}

// Of returns the sessions that calls with the context are part of.
func Of(ctx context.Context) []string {
	ids, _ := ctx.Value(sessionsKey{}).([]string)
	return ids
}
