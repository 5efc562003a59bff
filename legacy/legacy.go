// Package legacy projects families onto the tools before the consolidation: one tool per action
// under its old name, with the parameter names, types and limits of that time.
//
// It is not a stable API: see docs/stability.md.
package legacy

import (
	"encoding/json"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/schema"
)

// Tools returns the legacy surface, in the order of the declarations.
func Tools(families []*toolfold.Family) []entry.Tool {
	var list []entry.Tool
	for _, e := range Entries(families) {
		a := e.Action
		list = append(list, entry.Tool{
			Name: e.Tool, Summary: a.Summary, Doc: a.Doc, Category: a.Family.Category, Tier: a.Family.Tier,
			Entries: []*entry.Entry{e}, Schema: func() json.RawMessage { return Schema(e) }, Hints: a.Hints(), Whole: a.Apart,
		})
	}
	return list
}

// Entries returns the ways to call actions by their legacy names.
func Entries(families []*toolfold.Family) []*entry.Entry {
	var list []*entry.Entry
	for _, f := range families {
		for _, a := range f.Actions {
			for _, old := range a.Legacy {
				list = append(list, entry.Spell(a, old))
			}
			switch {
			case a.Definition == nil:
			case f.Bare: // a tool of its own, then and now
				list = append(list, entry.New(a, f.Name))
			default:
				list = append(list, entry.New(a, a.Joined()))
			}
		}
	}
	return list
}

// Schema returns the schema of a legacy tool: without parameters that were added since, and with
// whole numbers as plain numbers. For a tool declared elsewhere it returns the schema as received.
func Schema(e *entry.Entry) json.RawMessage {
	if e.Action.Input != nil {
		return e.InputSchema()
	}
	return schema.Object(e.Required(), e.Optional(), schema.Style{
		Describe: func(toolfold.Param) bool { return true }, Recorded: true,
	})
}
