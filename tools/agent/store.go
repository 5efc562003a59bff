package agent

import (
	"context"
	"time"

	"github.com/toolfold/toolfold/engine"
)

// Registered is the source of a profile that lies in the store.
const Registered = "store"

// Profile is an agent as it is kept. Fields after Enabled only files have.
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

	Source    string    `json:"-"` // [Registered], or the path of its file
	CreatedAt time.Time `json:"-"` // whole microseconds; zero for a file
}

// Orchestration is how an agent works with others.
type Orchestration struct {
	MaxDelegationDepth *int `json:"maxDelegationDepth,omitempty"` // nil = as deep as any
}

// Store keeps registered profiles. Methods are safe for concurrent use, also
// by several processes.
type Store interface {
	// Add keeps a profile, unless there is one of its id: then it changes
	// nothing and added is false.
	Add(ctx context.Context, p Profile) (added bool, err error)

	// Get returns a profile; found is false where there is none.
	Get(ctx context.Context, id string) (p Profile, found bool, err error)

	// Remove removes a profile, and tells whether there was one.
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
