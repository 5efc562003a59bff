package tools

import "github.com/toolfold/toolfold/internal/ordered"

// Tool describes what a surface offers under one name.
type Tool struct {
	Name, Summary string
	Doc           string // more than the summary; may be empty
	Category      Category
	Tier          Tier
	Entries       []*Entry // the ways to call it, one per action
	Schema        ordered.Map
	Hints         Hints
}

// Dispatches reports whether the tool takes an action argument.
func (t Tool) Dispatches() bool {
	return len(t.Entries) > 0 && t.Entries[0].Selector != ""
}
