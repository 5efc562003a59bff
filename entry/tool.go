package entry

import (
	"encoding/json"

	"github.com/toolfold/toolfold"
)

// Tool describes a tool under one name of a surface.
type Tool struct {
	Name, Summary string
	Doc           string // more text after the summary; may be empty
	Subject       string // text before the summary in lists, for a tool with one action of a family; may be empty
	Category      toolfold.Category
	Tier          toolfold.Tier
	Entries       []*Entry // the ways to call it, one per action
	Hints         toolfold.Hints

	// Schema returns the schema for the arguments of all entries. Brief lists do not call it.
	Schema func() json.RawMessage

	// Form is the form of the entries: the place in a call for parameters that a brief listing does
	// not declare.
	Form Form

	// Typed tools list an output schema if they list their whole schema.
	Typed bool

	// Whole tools are listed with their whole schema at every level, and called in flat form.
	Whole bool
}

// WithForm returns the tool with entries in the given form.
func (t Tool) WithForm(form Form) Tool {
	if form == FormFlat && t.Dispatches() && t.Entries[0].Action.Family.Apiece {
		form = FormObject
	}
	t.Form = form
	if t.Whole {
		return t
	}
	entries := make([]*Entry, len(t.Entries))
	for i, e := range t.Entries {
		entries[i] = e.In(form)
	}
	t.Entries = entries
	return t
}

// Dispatches reports whether the tool takes an action argument.
func (t Tool) Dispatches() bool {
	return len(t.Entries) > 0 && t.Entries[0].Selector != ""
}
