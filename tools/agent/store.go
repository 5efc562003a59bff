package agent

import (
	"context"
	"time"

	"github.com/toolfold/toolfold/internal/engine"
	"github.com/toolfold/toolfold/internal/workspace"
)

// Registered is the source of a profile in the store.
const Registered = workspace.Registered

// Profile is an agent. Only files have the fields after Enabled. Its JSON
// names are those of rows in a store, not of any argument or result: the two
// may differ.
type Profile struct {
	AgentID      string        `json:"agentId"`
	Description  string        `json:"description"`
	DisplayName  string        `json:"displayName,omitempty"`
	Capabilities []string      `json:"capabilities,omitempty"`
	Team         string        `json:"team,omitempty"`
	Tags         []string      `json:"tags,omitempty"`
	SystemPrompt string        `json:"systemPrompt,omitempty"`
	Workflow     []engine.Step `json:"workflow,omitempty"`
	Enabled      bool          `json:"enabled"`

	Version       string         `json:"version,omitempty"`
	Role          string         `json:"role,omitempty"`
	Expertise     []string       `json:"expertise,omitempty"`
	Orchestration *Orchestration `json:"orchestration,omitempty"`

	Source    string    `json:"-"` // [Registered] or [workspace.InFile]
	File      string    `json:"-"` // its path in the workspace; empty for a registered one
	CreatedAt time.Time `json:"-"` // whole microseconds; zero for a file

	// Rights are those that all who registered or changed the profile had, see
	// [toolfold.Rights.Text]; empty = all, as for a file.
	Rights string `json:"-"`
}

// Orchestration bounds how an agent works with others.
type Orchestration struct {
	MaxDelegationDepth *int `json:"maxDelegationDepth,omitempty" doc:"How deep its delegations may go."` // nil = as deep as any
}

// Store keeps registered profiles. Methods are safe for concurrent use, also
// by several processes.
type Store interface {
	// Add keeps a profile, unless there is one of its id: then it changes
	// nothing and added is false.
	Add(ctx context.Context, p Profile) (added bool, err error)

	// Change replaces a profile by what change makes of it, so that no other
	// change comes between; found is false where there is none. An error of
	// change is returned and nothing changed. Change may be called again and
	// has no other effects.
	Change(ctx context.Context, id string, change func(Profile) (Profile, error)) (found bool, err error)

	// Get returns a profile; found is false where there is none.
	Get(ctx context.Context, id string) (p Profile, found bool, err error)

	// Remove removes a profile, and reports whether there was one.
	Remove(ctx context.Context, id string) (removed bool, err error)

	// List returns profiles in the order of the bytes of their ids.
	List(ctx context.Context, q Query) (Page, error)
}

// Query picks profiles.
type Query struct {
	Team    string // empty does not filter
	Enabled *bool  // nil does not filter
	After   string // id; empty = from the first
	Limit   int
}

// Page is a part of a list.
type Page struct {
	Profiles []Profile
	Total    int // of all profiles that the query picks, After and Limit aside
}
