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
	Name    string  `json:"name"`
	Usage   string  `json:"usage"`
	Summary string  `json:"summary"`
	Score   float64 `json:"score"`
}

// Find returns the actions that match a query in words, best first, at most
// limit. What is not permitted is not found.
func (d *Discovery) Find(query string, limit int) []Found {
	ask := limit
	if d.options.Permit != nil {
		ask = d.index.Len() // some of the hits may be left out
	}
	hits := d.index.Find(query, ask)
	state := d.state.Load()
	list := make([]Found, 0, limit)
	for _, hit := range hits {
		a := state.actions[hit.ID]
		if a == nil || d.refusal(a) != nil {
			continue
		}
		list = append(list, found(state.entries[a], hit.Score))
		if len(list) == limit {
			break
		}
	}
	return list
}

func found(e *tools.Entry, score float64) Found {
	return Found{
		Name: e.Title(), Usage: e.CallUsage(), Summary: e.Action.Summary,
		Score: math.Round(score*100) / 100,
	}
}

// document is what the index knows of an action.
func document(a *tools.ActionSpec) rank.Document {
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
