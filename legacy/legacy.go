// Package legacy projects families onto the tools they were before the
// consolidation: one tool per action under its old name, with the parameters
// as they were spelt, typed and bounded then.
package legacy

import "github.com/toolfold/toolfold/tools"

// Tools returns the legacy surface, in the order of the declarations.
func Tools(specs []*tools.Spec) []tools.Tool {
	var list []tools.Tool
	for _, s := range specs {
		for _, a := range s.Actions {
			for _, old := range a.Legacy {
				list = append(list, tool(tools.Legacy(a, old)))
			}
		}
	}
	return list
}

func tool(e *tools.Entry) tools.Tool {
	return tools.Tool{
		Name: e.Tool, Summary: e.Action.Summary, Doc: e.Action.Doc,
		Category: e.Action.Family.Category, Tier: e.Action.Family.Tier,
		Entries: []*tools.Entry{e},
		Schema:  e.InputSchema(),
		Hints:   e.Action.Hints(),
	}
}
