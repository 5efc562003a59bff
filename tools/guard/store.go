package guard

import (
	"context"
	"time"
)

// Binding is a policy as it holds for a session.
type Binding struct {
	SessionID string
	PolicyID  string
	AppliedAt time.Time // whole microseconds

	Gates              []string // those of them that are about paths
	Allowed, Forbidden []string
	Radius             int
	By                 string

	// Areas are the folders or packages that calls of the session have begun
	// to write in, where the policy bounds them.
	Areas []string
}

// Store keeps the policies of sessions. Methods are safe for concurrent use,
// also by several processes.
type Store interface {
	// Bind puts a policy on an active session, in place of one of the same id,
	// whose areas stay. It returns the ids of the session's policies in their
	// order, and the session's status, empty where there is none; it changes
	// nothing unless that is active, or where there are most policies already.
	Bind(ctx context.Context, b Binding, limit int) (ids []string, status string, err error)

	// Active returns those of the sessions that are active.
	Active(ctx context.Context, sessions []string) ([]string, error)

	// Claim calls judge with the policies of a session, which no other call
	// changes meanwhile, and saves the areas that it gives them. Judge may be
	// called again, with what is stored by then.
	Claim(ctx context.Context, session string, judge func(*Binding) error) error
}
