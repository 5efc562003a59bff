package lazy

import (
	"math"
	"strings"

	"github.com/toolfold/toolfold/internal/rank"
	"github.com/toolfold/toolfold/tools"
)

// Weights of the texts of an action, beside its name.
const (
	summaryWeight = 2
	wordsWeight   = 2
	paramWeight   = 0.5
)

// Found is an action that a query led to.
type Found struct {
	Name    string  `json:"name" doc:"Action to call."`
	Usage   string  `json:"usage" doc:"How to call it; a ? marks what may be left out."`
	Summary string  `json:"summary" doc:"What it does."`
	Score   float64 `json:"score" doc:"From 0 to 1; below 0.4 mostly unrelated."`
}

// Find returns the actions that match a query in words, best first, at most
// limit.
func (v *View) Find(query string, limit int) []Found {
	list := make([]Found, 0, limit)
	for _, hit := range v.index().Find(query, limit) {
		e := v.shown[v.byID[hit.ID]]
		list = append(list, Found{
			Name: e.Title(), Usage: v.callable(e).CallUsage(), Summary: e.Action.Summary,
			Score: math.Round(hit.Score*100) / 100,
		})
	}
	return list
}

// document returns what the index knows of an action.
func document(a *tools.Action) rank.Document {
	doc := rank.Document{ID: a.FullName(), Name: a.FullName()}
	add := func(weight float64, texts ...string) {
		doc.Fields = append(doc.Fields, rank.Field{Text: strings.Join(texts, " "), Weight: weight})
	}
	add(summaryWeight, a.Summary)
	add(wordsWeight, a.Words)
	add(1, a.Family.Summary, a.Family.Words, a.Doc)
	for _, old := range a.Legacy {
		add(1, old.Name)
	}
	for _, p := range a.Params() {
		add(paramWeight, append([]string{p.Name, p.Doc}, p.Enum...)...)
	}
	return doc
}
