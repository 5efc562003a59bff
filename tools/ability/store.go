package ability

import (
	"context"

	"github.com/toolfold/toolfold/internal/workspace"
)

// Limits of what an ability has, in characters.
const (
	maxID      = 100
	maxContent = 50000
)

// Registered is the source of an ability in the store.
const Registered = workspace.Registered

// Ability is a text with what decides when it is used. Empty texts and lists
// are absent. Its JSON names are those of rows in a store, not of any argument
// or result: the two may differ.
type Ability struct {
	ID           string   `json:"abilityId"`
	DisplayName  string   `json:"displayName,omitempty"`
	Version      string   `json:"version,omitempty"` // of files only
	Description  string   `json:"description,omitempty"`
	Category     string   `json:"category,omitempty"`
	Tags         []string `json:"tags,omitempty"`
	Content      string   `json:"content"`
	Author       string   `json:"author,omitempty"` // of files only
	Source       string   `json:"source,omitempty"` // [Registered] or [workspace.InFile]; empty as the store has it
	File         string   `json:"-"`                // path in the workspace; empty for a registered one
	Requires     []string `json:"requires,omitempty"`
	Conflicts    []string `json:"conflicts,omitempty"`
	ApplicableTo []string `json:"applicableTo,omitempty"` // none = every agent
	ExcludeFrom  []string `json:"excludeFrom,omitempty"`
	Priority     int      `json:"priority"` // 1 to 100
	Enabled      bool     `json:"enabled"`
}

// Store keeps registered abilities. IDs are ASCII. Methods are safe for
// concurrent use, also by several processes.
type Store interface {
	// Put keeps an ability in place of the one with its id.
	Put(ctx context.Context, a Ability) (replaced bool, err error)

	// Get returns an ability; found is false where there is none.
	Get(ctx context.Context, id string) (a Ability, found bool, err error)

	// All returns every ability, in no order.
	All(ctx context.Context) ([]Ability, error)

	// Remove removes an ability; removed is false where there is none.
	Remove(ctx context.Context, id string) (removed bool, err error)
}
