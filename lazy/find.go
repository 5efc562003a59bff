package lazy

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/rank"
)

// Weights of the texts of an action, beside its name.
const (
	summaryWeight = 2
	wordsWeight   = 2
	paramWeight   = 0.5
)

// Shares of its relevance that an action is ranked by.
const (
	unsuitable = 0.8  // it does another kind of thing than the query wants
	forbidden  = 0.5  // the query rules out what it does
	needing    = 0.95 // it changes something or needs an id, and the query has no verb
)

// Found is an action that a query led to.
type Found struct {
	Name    string  `json:"name" doc:"Action to call."`
	Usage   string  `json:"usage" doc:"How to call it; a ? marks what may be left out."`
	Summary string  `json:"summary,omitempty" doc:"What it does; of the best three."`
	Score   float64 `json:"score" doc:"From 0 to 1; below 0.5 mostly unrelated."`

	action *toolfold.Action
}

// fits is the score from which on an action fits a query well. Of requests that
// nothing answers most stay below it, of right first answers few.
const fits = 0.5

// Find returns the actions that match a query in words, best first, at most
// limit.
func (v *View) Find(query string, limit int) []Found {
	list := make([]Found, 0, limit)
	hits := v.rank(query, limit)
	score := 1.0
	for _, hit := range hits[:min(limit, len(hits))] {
		a := v.byID[hit.ID]
		e := v.entries[a]
		score = min(score, math.Round(hit.Score*100)/100)
		list = append(list, Found{Name: e.Title(), Usage: v.usage(e), Summary: a.Summary, Score: score, action: a})
	}
	return list
}

// also returns the names of the other actions of the first result's family;
// empty where there are none, or nothing fits.
func (v *View) also(found []Found) string {
	if len(found) == 0 || found[0].Score < fits {
		return ""
	}
	family := found[0].action.Family
	var others []string
	for _, a := range family.Actions {
		if v.byID[a.FullName()] != nil && !slices.ContainsFunc(found, func(f Found) bool { return f.action == a }) {
			others = append(others, a.Name)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return family.Name + ": " + strings.Join(others, ", ")
}

// rank returns the hits of a query in the order of what it wants.
func (v *View) rank(query string, limit int) []rank.Hit {
	wants, ruled, rest := readWish(query)
	// What is wanted is at most a few places down.
	hits := v.catalogue.find(rank.Query{Text: rest, Limit: 2*limit + 10, Keep: func(id string) bool { return v.byID[id] != nil }})
	for i, hit := range hits {
		a := v.byID[hit.ID]
		share := 1.0
		if !suits(a, wants) {
			share *= unsuitable
		}
		for w := range ruled {
			if w == removing && destroys(a) || w != reading && w != removing && a.Effect != toolfold.Reads && suits(a, w) {
				share *= forbidden
			}
		}
		if wants == anything && (a.Effect != toolfold.Reads || needsID(a)) {
			share *= needing
		}
		hits[i].Worth *= share
		hits[i].Score *= share
	}
	byWorth := func(a, b rank.Hit) int { return cmp.Compare(b.Worth, a.Worth) }
	slices.SortStableFunc(hits, byWorth)
	if wants != reading && removes(rest) {
		return hits
	}
	// What removes something comes after the best that does not.
	harmless := slices.IndexFunc(hits, func(h rank.Hit) bool { return !destroys(v.byID[h.ID]) })
	if harmless > 0 {
		best := hits[harmless]
		return slices.Insert(slices.Delete(hits, harmless, harmless+1), 0, best)
	}
	return hits
}

// document returns what the index knows of an action.
func document(a *toolfold.Action) rank.Document {
	doc := rank.Document{ID: a.FullName(), Name: a.FullName(), Passages: a.Asks}
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
