package ability

import (
	"context"

	"github.com/toolfold/toolfold/internal/run/workspace"
)

// Limits of an ability, in characters.
const (
	maxID      = 100
	maxContent = 50000
)

// Registered is the source of an ability in the store.
const Registered = workspace.Registered

// Ability is a text with the conditions for its use. It is the result of ability.get, without empty
// texts and lists, and the front matter of a file. The store keeps all fields except Source, File
// and Trusted.
type Ability struct {
	ID          string   `json:"abilityId" doc:"Ability ID."`
	DisplayName string   `json:"displayName,omitempty" doc:"Title."`
	Version     string   `json:"version,omitempty" doc:"Version in the file."`
	Description string   `json:"description,omitempty" doc:"Summary."`
	Category    string   `json:"category,omitempty" doc:"Subject."`
	Tags        []string `json:"tags,omitempty" doc:"Labels; any one matches."`
	Content     string   `json:"content" doc:"The text, Markdown."`
	Author      string   `json:"author,omitempty" doc:"Author in the file."`
	Source      string   `json:"source" doc:"Its origin; registered precedes file." enum:"registered,file"`
	File        string   `json:"file,omitempty" doc:"Path in the workspace."`
	// false or nil; set by Get
	Trusted      *bool    `json:"trusted,omitempty" doc:"False if the user does not trust the workspace: it is not injected."`
	Requires     []string `json:"requires,omitempty" doc:"Abilities that come with it."`
	Conflicts    []string `json:"conflicts,omitempty" doc:"Abilities that never come with it."`
	ApplicableTo []string `json:"applicableTo,omitempty" doc:"Its agents; empty or * = all."`
	ExcludeFrom  []string `json:"excludeFrom,omitempty" doc:"Agents it is not for."`
	Priority     int      `json:"priority" doc:"Higher goes first."` // 1 to 100
	Enabled      bool     `json:"enabled" doc:"Whether inject uses it."`
}

// Store stores registered abilities. Ids are ASCII. It is safe for concurrent use, also by several
// processes.
type Store interface {
	// Put stores an ability, replacing one with the same id.
	Put(ctx context.Context, a Ability) (replaced bool, err error)

	// Get returns an ability; found is false if it does not exist.
	Get(ctx context.Context, id string) (a Ability, found bool, err error)

	// All returns every ability, in no particular order.
	All(ctx context.Context) ([]Ability, error)

	// Remove removes an ability; removed is false if it did not exist.
	Remove(ctx context.Context, id string) (removed bool, err error)
}
