package lazy

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/text/estimate"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/rank"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/words"
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
	workbench  = 0.8  // it is ours, and other servers have tools too
	elsewhere  = 0.4  // the query names other servers than that of the tool
	needing    = 0.95 // it changes something or needs an id, and the query has no verb
)

// pool is the least number of hits that are put in the order of what a query wants, so
// that the order of the first does not depend on how many are asked for.
const pool = 50

// kinship is the share of the best worth in its family that each action gets: a
// query that names the family without a word of the action is still led there.
const kinship = 0.3

// Found is an action that a query led to.
type Found struct {
	Name    string  `json:"name" doc:"Action to call."`
	Usage   string  `json:"usage" doc:"How to call it; ? marks optional parameters."`
	Summary string  `json:"summary,omitempty" doc:"Its summary; best three only."`
	Score   float64 `json:"score" doc:"From 0 to 1; below 0.5 mostly unrelated."`

	// Params describes the required parameters of another server's action, by name.
	Params map[string]string `json:"params,omitempty" doc:"Required parameters; of other servers' best, as far as there is room."`

	action *toolfold.Action
}

// fits is the score from which on an action fits a query well. Of requests that
// nothing answers most stay below it, of right first answers few.
const fits = 0.5

// Find returns the actions that match a query in words, best first, at most
// limit.
func (v *View) Find(query string, limit int) []Found { return v.find(query, "", limit) }

// find returns the actions of a server that match a query; of all and of ours if server is empty.
func (v *View) find(query, server string, limit int) []Found {
	list := make([]Found, 0, limit)
	matches := v.rank(query, server, limit)
	score := 1.0
	for _, m := range matches[:min(limit, len(matches))] {
		e := v.entries[m.action]
		score = min(score, math.Round(m.Score*100)/100)
		list = append(list, Found{Name: e.Title(), Usage: v.usage(e), Summary: m.action.Summary, Score: score, action: m.action})
	}
	return list
}

// Bounds of an answer of tools.find, in tokens as estimated.
const (
	findRoom      = 950 // of the whole answer, whatever limit is; the best result is always in it
	namesRoom     = 120 // of a list of names
	describedRoom = 700 // of the whole answer: beyond it no action gets descriptions of its parameters
)

// describedText is the most characters of the description of a parameter.
const describedText = 120

// bound keeps the best results as far as there is room, and names the rest.
func bound(out *FindOut) {
	room := findRoom - estimate.Tokens(ordered.MustJSON(FindOut{Also: out.Also, Away: out.Away, Hint: out.Hint}))
	kept, whole := 0, 0 // results with room beside the names of the rest, and tokens of all
	for i, f := range out.Results {
		if whole += estimate.Tokens(ordered.MustJSON(f)); i == kept && (i == 0 || whole <= room-namesRoom) {
			kept++
		}
	}
	if whole <= room {
		return
	}
	var others []string
	for _, f := range out.Results[kept:] {
		others = append(others, f.Name)
	}
	out.Results, out.Further = out.Results[:kept], named(others, namesRoom)
}

// named joins names as far as there is room, in tokens, and counts the rest.
func named(names []string, room int) string {
	for i, name := range names {
		if room -= estimate.Tokens([]byte(name)) + 1; room < 0 && i > 0 {
			return fmt.Sprintf("%s and %d more", strings.Join(names[:i], ", "), len(names)-i)
		}
	}
	return strings.Join(names, ", ")
}

// describeParams describes the required parameters of other servers' actions, the best action first, so that they
// can be called without a call of describe. The usages of own actions say enough. An action whose descriptions have
// no room gets none: a part of them would look like all.
func (v *View) describeParams(out *FindOut) {
	spent := 0
	for i, f := range out.Results {
		if f.action.Input == nil {
			continue
		}
		params := map[string]string{}
		for _, p := range v.entries[f.action].Required() {
			if text := strings.Join(strings.Fields(p.Doc), " "); text != "" {
				params[p.Name] = shorten.Words(text, describedText)
			}
		}
		if len(params) == 0 {
			continue
		}
		if spent == 0 {
			spent = estimate.Tokens(ordered.MustJSON(out))
		}
		if cost := estimate.Tokens(slices.Concat([]byte(`,"params":`), ordered.MustJSON(params))); spent+cost <= describedRoom {
			out.Results[i].Params, spent = params, spent+cost
		}
	}
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
	return family.Name + ": " + named(others, namesRoom)
}

// match is a hit that the caller may see.
type match struct {
	rank.Hit
	action *toolfold.Action
}

// rank returns the hits of a query in the order of what it wants.
func (v *View) rank(query, server string, limit int) []*match {
	near := func(func(id string) bool) []string { return nil }
	if m := v.catalogue.meaning; m != nil {
		near = m.Near(query)
	}
	seen := func(id string) bool {
		a := v.byID[id]
		return a != nil && (server == "" || a.Family.Server == server)
	}
	operand, rest := v.operand(query)
	if operand != nil {
		query = rest
	}
	var room [32]said
	list := appendSaid(room[:0], query)
	if operand != nil && seen(operand.Action.FullName()) && !slices.ContainsFunc(list, func(s said) bool { return !s.grammar }) {
		return []*match{{rank.Hit{ID: operand.Action.FullName(), Score: 1}, operand.Action}}
	}
	r := readRequest(query, list)
	hits, phrasing := v.catalogue.find(rank.Query{Text: r.text, Limit: max(limit, pool), Keep: seen})
	phrased := phrasing.shares(list)
	placed := v.places(query, list)
	matches := v.order(hits, limit, func(a *toolfold.Action) float64 {
		return r.share(v.entries[a]) * phrased(a.Name) * placed(a)
	})
	matches = v.merge(matches, near(seen))
	if r.wants != reading && r.removes {
		return matches
	}
	// What removes something comes after the best that does not.
	harmless := slices.IndexFunc(matches, isHarmless)
	if harmless > 0 {
		best := matches[harmless]
		return slices.Insert(slices.Delete(matches, harmless, harmless+1), 0, best)
	}
	return matches
}

// operand returns the action that a query has the full name of, such as queue.create, and the query without it: a
// query with more words is about the action, and the words of the name ask for nothing. It is nil if there is no
// such name, or several.
func (v *View) operand(query string) (named *entry.Entry, rest string) {
	end := 0 // of the word
	for word := range strings.FieldsSeq(query) {
		begin := end + strings.Index(query[end:], word)
		end = begin + len(word)
		name := strings.Trim(word, ".,:;!?()'\"`")
		if !strings.Contains(name, ".") || v.byID[name] == nil {
			continue
		}
		if named != nil {
			return nil, query
		}
		begin += strings.Index(word, name)
		named, rest = v.entries[v.byID[name]], query[:begin]+" "+query[begin+len(name):]
	}
	return named, rest
}

// places returns the share that an action is ranked by for where it is: tools of the servers that the
// query names come before all others, and tools of any server before ours that fit about as well.
func (v *View) places(query string, list []said) func(*toolfold.Action) float64 {
	var named []string
	for i, s := range list {
		for _, name := range v.called[s.text] {
			if name.in(query, list, i) {
				named = append(named, name.server)
			}
		}
	}
	return func(a *toolfold.Action) float64 {
		switch {
		case slices.Contains(named, a.Family.Server):
			return 1
		case named != nil:
			return elsewhere
		case a.Family.Server == "" && len(v.servers) > 0:
			return workbench
		}
		return 1
	}
}

// serverName is the name of a server in words.
type serverName struct {
	server string
	words  []said
}

// Words around the name of a server by which a query means the server: with fetch, the fetch server.
var (
	beforeServer = words.Set("with use using via through on")
	behindServer = words.Set("server servers mcp tool tools")
)

// in reports whether a query names the server by the words from one on. If the name is one word that requests of any
// subject have, as fetch and memory are, the query has to mean the server: the name is all before a colon, or server,
// mcp or tool is behind it, or a word such as use is before it and none behind it that it could belong to, as time
// belongs to zones in "use time zones".
func (n serverName) in(query string, list []said, at int) bool {
	end := at + len(n.words)
	if end > len(list) || !slices.EqualFunc(list[at:end], n.words, func(a, b said) bool { return a.text == b.text }) {
		return false
	}
	if name := n.words[0]; len(n.words) > 1 || !words.IsCommon(name.text) && len(rank.Synonyms(name.stem)) == 0 {
		return true
	}
	front, _, isColon := strings.Cut(query, ":")
	last := end == len(list)
	return isColon && words.Fold(strings.TrimSpace(front)) == n.words[0].text ||
		!last && behindServer[list[end].text] ||
		at > 0 && beforeServer[list[at-1].text] && (last || list[end].grammar)
}

func isHarmless(m *match) bool { return !destroys(m.action) }

// order puts hits, which are the most relevant first, in the order of the shares of
// their actions. It may leave out what comes after as many as are asked for and one
// that is harmless.
func (v *View) order(hits []rank.Hit, limit int, share func(*toolfold.Action) float64) []*match {
	type relatives struct {
		family *toolfold.Family
		best   float64
	}
	limit = max(limit, 1)
	matches, families := make([]*match, 0, 2*limit), make([]relatives, 0, 16)
	for _, hit := range hits {
		a := v.byID[hit.ID]
		kin := slices.IndexFunc(families, func(r relatives) bool { return r.family == a.Family })
		if kin < 0 {
			kin, families = len(families), append(families, relatives{a.Family, hit.Worth})
		}
		worth := hit.Worth + kinship*families[kin].best
		if len(matches) >= limit && matches[limit-1].Worth >= worth && v.catalogue.meaning == nil &&
			slices.ContainsFunc(matches[:limit], isHarmless) {
			continue // no share brings it in between
		}
		s := share(a)
		m := &match{hit, a}
		m.Worth, m.Score = s*worth, s*hit.Score
		at := len(matches)
		for at > 0 && matches[at-1].Worth < m.Worth {
			at--
		}
		matches = slices.Insert(matches, at, m)
	}
	return matches
}

// share returns the share of its relevance that an action is ranked by, which is called by
// an entry.
func (r *request) share(e *entry.Entry) float64 {
	share, a := 1.0, e.Action
	if !suits(a, r.wants) {
		share *= unsuitable
	}
	for _, w := range r.ruled {
		if w == removing && destroys(a) || w != reading && w != removing && a.Effect != toolfold.Reads && suits(a, w) {
			share *= forbidden
		}
	}
	if r.wants == anything && (a.Effect != toolfold.Reads || needsID(e)) {
		share *= needing
	}
	return share
}

// merge puts the actions that are near a query by their meaning between those found by
// words.
func (v *View) merge(matches []*match, near []string) []*match {
	if len(near) == 0 {
		return matches
	}
	known := map[string]*match{}
	var ids []string
	for _, m := range matches {
		known[m.ID], ids = m, append(ids, m.ID)
	}
	merged := make([]*match, 0, len(matches)+len(near))
	for _, id := range rank.Merge(ids, near) {
		m := known[id]
		if m == nil {
			m = &match{Hit: rank.Hit{ID: id}, action: v.byID[id]}
			if id == near[0] { // nothing is nearer, in whatever words
				m.Score = fits
			}
		}
		merged = append(merged, m)
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
		if i := slices.IndexFunc(a.Aliases, func(name string) bool { return !strings.Contains(name, ".") }); i >= 0 {
			doc.Name = a.Aliases[i] // as its server wrote it, without the family that was made of its words
			add(1, a.Family.Name)
		}
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
