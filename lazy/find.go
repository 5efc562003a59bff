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
	summaryWeight        = 2
	wordsWeight          = 2
	paramWeight          = 0.5
	foreignSummaryWeight = 3 // of another server's tool, which has neither words nor requests
)

// Shares of its relevance that an action is ranked by.
const (
	unsuitable = 0.8  // it does another kind of thing than the query wants
	forbidden  = 0.5  // the query rules out what it does
	needing    = 0.95 // it changes something or needs an id, and the query has no verb
)

// kinship is the share of the best worth in its family that each action gets: a
// query that names the family without a word of the action is still led there.
const kinship = 0.3

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
	near := func(func(id string) bool) []string { return nil }
	if m := v.catalogue.meaning; m != nil {
		near = m.Near(query)
	}
	seen := func(id string) bool { return v.byID[id] != nil }
	wants, ruled, rest := readWish(query)
	// What is wanted is at most a few places down.
	hits, phrasing := v.catalogue.find(rank.Query{Text: rest, Limit: 2*limit + 10, Keep: seen})
	phrased := phrasing.shares(query)
	best := map[*toolfold.Family]float64{}
	for _, hit := range hits {
		f := v.byID[hit.ID].Family
		best[f] = max(best[f], hit.Worth)
	}
	for i, hit := range hits {
		a := v.byID[hit.ID]
		share := phrased(a.Name)
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
		hits[i].Worth = share * (hit.Worth + kinship*best[a.Family])
		hits[i].Score *= share
	}
	byWorth := func(a, b rank.Hit) int { return cmp.Compare(b.Worth, a.Worth) }
	slices.SortStableFunc(hits, byWorth)
	hits = merge(hits, near(seen))
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

// merge puts the actions that are near a query by their meaning between those found by
// words.
func merge(hits []rank.Hit, near []string) []rank.Hit {
	if len(near) == 0 {
		return hits
	}
	known := map[string]rank.Hit{}
	var ids []string
	for _, h := range hits {
		known[h.ID], ids = h, append(ids, h.ID)
	}
	if _, also := known[near[0]]; !also {
		known[near[0]] = rank.Hit{Score: fits} // nothing is nearer, in whatever words
	}
	merged := make([]rank.Hit, 0, len(hits)+len(near))
	for _, id := range rank.Merge(ids, near) {
		h := known[id]
		h.ID = id
		merged = append(merged, h)
	}
	return merged
}

// document returns what the index knows of an action.
func document(a *toolfold.Action) rank.Document {
	doc := rank.Document{ID: a.FullName(), Name: a.FullName(), Passages: a.Asks}
	if a.Covers != nil {
		doc.Passages = slices.Concat(a.Asks, a.Covers())
	}
	add := func(weight float64, texts ...string) {
		doc.Fields = append(doc.Fields, rank.Field{Text: strings.Join(texts, " "), Weight: weight})
	}
	if a.Input != nil {
		add(foreignSummaryWeight, a.Summary)
		add(1, a.Family.Words, a.Doc)
		if !a.Family.Bare { // whose summary is that of its only action
			add(1, a.Family.Summary)
		}
		for _, p := range a.Params() {
			add(1, p.Name)
			add(paramWeight, append([]string{p.Doc}, p.Enum...)...)
		}
		return doc
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
