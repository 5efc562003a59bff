// Package legacy projects families onto the tools they were before the
// consolidation: one tool per action under its old name, with the parameters
// as they were spelt, typed and bounded then.
package legacy

import (
	"encoding/json"

	"github.com/toolfold/toolfold"
)

// Tools returns the legacy surface, in the order of the declarations.
func Tools(families []*toolfold.Family) []toolfold.Tool {
	var list []toolfold.Tool
	for _, e := range Entries(families) {
		a := e.Action
		list = append(list, toolfold.Tool{
			Name: e.Tool, Summary: a.Summary, Doc: a.Doc, Category: a.Family.Category, Tier: a.Family.Tier,
			Entries: []*toolfold.Entry{e}, Schema: Schema(e), Hints: a.Hints(), Whole: a.Apart,
		})
	}
	return list
}

// Entries returns the ways to call actions by their legacy names.
func Entries(families []*toolfold.Family) []*toolfold.Entry {
	var list []*toolfold.Entry
	for _, f := range families {
		for _, a := range f.Actions {
			for _, old := range a.Legacy {
				list = append(list, toolfold.Spell(a, old))
			}
		}
	}
	return list
}

// Schema returns the schema that a legacy tool had: without the parameters
// that were added since, and with whole numbers as plain numbers.
func Schema(e *toolfold.Entry) json.RawMessage {
	return toolfold.ObjectSchema(e.Required, e.Optional, toolfold.Style{
		Describe: func(toolfold.Param) bool { return true }, Recorded: true,
	})
}
