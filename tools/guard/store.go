package guard

import (
	"context"
	"time"
)

// Binding is a policy applied to a session.
type Binding struct {
	SessionID string
	PolicyID  string
	AppliedAt time.Time // whole microseconds

	Gates              []string // its gates for paths
	Allowed, Forbidden []string
	Radius             int
	By                 string

	// Areas are the folders or packages that calls of the session have written to, if the policy
	// limits their number.
	Areas []string
}

// Store stores the policies of sessions. Methods are safe for concurrent use, also by several
// processes.
type Store interface {
	// Bind adds a policy to an active session, or replaces the policy with the same id and keeps
	// its areas. It returns the ids of the session's policies in order, and the session's status,
	// which is empty if there is no such session. It changes nothing if the session is not active
	// or already has limit policies.
	Bind(ctx context.Context, b Binding, limit int) (ids []string, status string, err error)

	// Active returns the active ones among sessions.
	Active(ctx context.Context, sessions []string) ([]string, error)

	// Claim calls judge for each policy of a session, while no other call changes them, and stores
	// the areas that judge sets. Judge may be called again, with the newly stored policies.
	Claim(ctx context.Context, session string, judge func(*Binding) error) error
}
