package entry

import (
	"encoding/json"

	"github.com/toolfold/toolfold"
)

// Tool describes what a surface offers under one name.
type Tool struct {
	Name, Summary string
	Doc           string // more than the summary; may be empty
	Subject       string // stands before the summary in lists, where a tool is one action of a family; may be empty
	Category      toolfold.Category
	Tier          toolfold.Tier
	Entries       []*Entry // the ways to call it, one per action
	Hints         toolfold.Hints

	// Schema returns that of the arguments of all entries, which brief lists do not need.
	Schema func() json.RawMessage

	// Form is that of the entries: where a call carries what a brief listing
	// does not declare.
	Form Form

	// Typed tools list an output schema where they list their whole schema.
	Typed bool

	// Whole tools are listed with their whole schema at every level, and called
	// flat.
	Whole bool
}

// WithForm returns the tool with entries of a form.
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
