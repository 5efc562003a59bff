package lazy

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/rank"
	"github.com/toolfold/toolfold/internal/words"
)

// Weights of the texts of an action, beside its name.
const (
	summaryWeight = 2
	wordsWeight   = 2
	paramWeight   = 0.5
)

// mismatch is the worth of an action that does another kind of thing than the
// query asks for.
const mismatch = 0.8

// kinds list the verbs that ask for an effect: one line for each kind.
var kinds = func() map[string]string {
	of := map[string]string{}
	for _, line := range []string{
		"read get show list find search read view fetch display print lookup browse count",
		"make create add make new insert generate build compose write store save register record start",
		"change set update change modify edit rename alter adjust replace",
		"remove delete remove erase drop wipe purge clear forget destroy discard",
		"send send post publish submit deliver notify invite",
		"run run execute invoke call trigger launch",
	} {
		verbs := strings.Fields(line)
		for _, verb := range verbs[1:] {
			of[words.Stem(verb)] = verbs[0]
		}
	}
	return of
}()

// kindOf returns the kind of what a text asks for, by its first word that is
// not grammar or courtesy; empty where that is none of the verbs.
func kindOf(text string) string {
	for w := range words.Split(text) {
		first := w.Text
		if len(w.Parts) > 0 {
			first = w.Parts[0]
		}
		if !words.IsStop(first) && !courtesies[first] {
			return kinds[words.Stem(first)]
		}
	}
	return ""
}

var courtesies = words.Set("please want need like let help")

// differs reports whether an action surely does another kind of thing. Of a
// foreign tool the name says so, because its effect may only be assumed.
func differs(kind string, a *toolfold.Action) bool {
	if a.Input != nil {
		does := kindOf(a.Name)
		return does != "" && does != kind
	}
	switch kind {
	case "read":
		return a.Effect != toolfold.Reads
	case "make", "change":
		return a.Effect == toolfold.Deletes
	case "remove":
		return a.Effect == toolfold.Reads || a.Effect == toolfold.Adds
	case "send":
		return a.Effect == toolfold.Deletes
	case "run":
		return a.Effect == toolfold.Deletes || a.Effect == toolfold.Adds
	}
	return false
}

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
	query = strings.ReplaceAll(query, "get rid of", "remove") // not get
	// One that is right is at most a few places down.
	hits := v.index().Find(query, 2*limit+10)
	if kind := kindOf(query); kind != "" {
		for i, hit := range hits {
			if differs(kind, v.byID[hit.ID]) {
				hits[i].Score *= mismatch
			}
		}
		slices.SortStableFunc(hits, func(a, b rank.Hit) int { return cmp.Compare(b.Score, a.Score) })
	}
	for _, hit := range hits[:min(limit, len(hits))] {
		e := v.entries[v.byID[hit.ID]]
		list = append(list, Found{
			Name: e.Title(), Usage: v.usage(e), Summary: e.Action.Summary,
			Score: math.Round(hit.Score*100) / 100,
		})
	}
	return list
}

// document returns what the index knows of an action.
func document(a *toolfold.Action) rank.Document {
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
