package agent

import (
	"context"
	"time"

	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/workspace"
)

// Registered is the source of a profile in the store.
const Registered = workspace.Registered

// Profile is an agent. It is the result of agent.get, where empty texts and lists
// are absent, and the content of a file. The store keeps all but Source, File and
// Trusted.
type Profile struct {
	AgentID       string         `json:"agentId" doc:"Agent ID."`
	DisplayName   string         `json:"displayName,omitempty" doc:"Name for people."`
	Version       string         `json:"version,omitempty" doc:"Version of the file."`
	Description   string         `json:"description" doc:"Its purpose."`
	Role          string         `json:"role,omitempty" doc:"Agent's role."`            // of files only
	Expertise     []string       `json:"expertise,omitempty" doc:"Areas of knowledge."` // of files only
	Capabilities  []string       `json:"capabilities,omitempty" doc:"Skills."`
	Team          string         `json:"team,omitempty" doc:"Team."`
	Tags          []string       `json:"tags,omitempty" doc:"Labels."`
	Enabled       bool           `json:"enabled" doc:"Whether runs are allowed."`
	SystemPrompt  string         `json:"systemPrompt,omitempty" doc:"May have {{ input.x }}."`
	Workflow      []engine.Step  `json:"workflow,omitempty" doc:"Steps."`
	Orchestration *Orchestration `json:"orchestration,omitempty" doc:"Delegation settings."` // of files only
	Source        string         `json:"source" doc:"Its origin; registered precedes file." enum:"registered,file"`
	File          string         `json:"file,omitempty" doc:"Path in the workspace."`
	// false or nil; set by Get
	Trusted   *bool     `json:"trusted,omitempty" doc:"False if the user does not trust the workspace: it does not run."`
	CreatedAt time.Time `json:"createdAt,omitzero" doc:"When it was registered."` // whole microseconds; zero for a file

	// Rights are the rights that everybody who registered or changed the profile
	// had, see [toolfold.Rights.Text]; empty = all, as for a file.
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
