// Package consolidate projects families onto consolidated tools, one per
// family with an action argument, and finds the action that a call by any
// accepted name means.
package consolidate

import "github.com/toolfold/toolfold/tools"

// Tools returns the consolidated surface: one tool per family, in order.
func Tools(specs []*tools.Spec) []tools.Tool {
	list := make([]tools.Tool, len(specs))
	for i, s := range specs {
		list[i] = tool(s)
	}
	return list
}

func tool(s *tools.Spec) tools.Tool {
	t := tools.Tool{
		Name: s.Name, Summary: s.Summary, Doc: s.Doc, Category: s.Category, Tier: s.Tier,
		Schema: tools.FlatSchema(s.Actions), Hints: tools.FoldHints(s.Actions),
	}
	for _, a := range s.Actions {
		t.Entries = append(t.Entries, tools.Consolidated(a))
	}
	return t
}
