package agent

import (
	"context"
	"time"

	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/workspace"
)

// Registered is the source of a profile in the store.
const Registered = workspace.Registered

// Profile is an agent: the content of a file, and the result of agent.get without empty texts and
// lists. The store has all members except Source, File and Trusted.
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
	// Trusted is set by Get: false for a file of a workspace without trust, otherwise nil.
	Trusted   *bool     `json:"trusted,omitempty" doc:"False if the user does not trust the workspace: it does not run."`
	CreatedAt time.Time `json:"createdAt,omitzero" doc:"When it was registered."` // whole microseconds; zero for a file

	// Rights are the rights that everyone who registered or changed the profile had in common, see
	// [toolfold.Rights.Text]. Empty means all rights, as for a file.
	Rights string `json:"-"`
}

// Orchestration limits the delegations of an agent.
type Orchestration struct {
	MaxDelegationDepth *int `json:"maxDelegationDepth,omitempty" doc:"How deep its delegations may go."` // nil = the general limit
}

// Store stores registered profiles. Methods are safe for concurrent use, also by several processes.
type Store interface {
	// Add stores a profile. If its id exists, it changes nothing and added is false.
	Add(ctx context.Context, p Profile) (added bool, err error)

	// Change replaces a profile by the result of change, without another change in between. Found
	// is false if there is no such profile. An error of change is returned, and nothing is stored.
	// Change may be called several times and must have no side effects.
	Change(ctx context.Context, id string, change func(Profile) (Profile, error)) (found bool, err error)

	// Get returns a profile; found is false if there is no such profile.
	Get(ctx context.Context, id string) (p Profile, found bool, err error)

	// Remove removes a profile. It reports whether the profile existed.
	Remove(ctx context.Context, id string) (removed bool, err error)

	// List returns profiles in byte order of their ids.
	List(ctx context.Context, q Query) (Page, error)
}

// Query filters profiles.
type Query struct {
	Team    string // empty does not filter
	Enabled *bool  // nil does not filter
	After   string // id; empty = from the start
	Limit   int
}

// Page is a part of a list.
type Page struct {
	Profiles []Profile
	Total    int // of all matching profiles, ignoring After and Limit
}
