package lazy

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/estimate"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/rank"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/words"
)

// Weights of an action's texts other than its name.
const (
	summaryWeight        = 2
	wordsWeight          = 2
	paramWeight          = 0.5
	foreignSummaryWeight = 3 // of another server's tool, which has no words or requests
)

// Factors of an action's relevance.
const (
	unsuitable = 0.8  // its effect is not the one that the query wants
	forbidden  = 0.5  // the query rules out its effect
	workbench  = 0.8  // it is our own, and other servers have tools too
	discovery  = 0.3  // it is ours for finding tools, which every list has, and other servers have tools too
	elsewhere  = 0.4  // the query names servers, but not its server
	needing    = 0.95 // it changes something or needs an id, and the query has no verb
)

// pool is the least number of hits that are ordered by the query's wish, so that the order of the
// first results does not depend on the limit.
const pool = 50

// kinship is the share of its family's best worth that is added to each action. So a query that
// names only the family still finds its actions.
const kinship = 0.3

// Match is an action that a query found.
type Match struct {
	Name    string  `json:"name" doc:"Action to call."`
	Usage   string  `json:"usage,omitempty" doc:"How to call it; ? marks optional parameters."`
	Summary string  `json:"summary,omitempty" doc:"Its summary; best three only."`
	Score   float64 `json:"score" doc:"From 0 to 1; below 0.5 mostly unrelated."`

	Signature string `json:"signature,omitempty" doc:"As ts, instead of usage."`
	Effect    string `json:"effect,omitempty" doc:"As ts."`

	// Params describes the required parameters of another server's action, by name.
	Params map[string]string `json:"params,omitempty" doc:"Required parameters; of other servers' best, as far as there is room."`

	action *toolfold.Action
}

// fits is the lowest score of a good match. Most queries that no action answers stay below it, and
// few correct first results do.
const fits = 0.5

// Find returns the actions that match a query in words, best first, at most
// limit.
func (v *View) Find(query string, limit int) []Match { return v.find(query, "", limit) }

// find returns the actions of a server that match a query, or of all families if server is empty.
func (v *View) find(query, server string, limit int) []Match {
	list := make([]Match, 0, limit)
	matches := v.rank(query, server, limit)
	score := 1.0
	for _, m := range matches[:min(limit, len(matches))] {
		e := v.entries[m.action]
		score = min(score, math.Round(m.Score*100)/100)
		list = append(list, Match{Name: e.Title(), Usage: v.usage(e), Summary: m.action.Summary, Score: score, action: m.action})
	}
	return list
}

// Limits of a response of tools.find, in estimated tokens.
const (
	findRoom      = 950 // whole response, for any limit; it always contains the best result
	namesRoom     = 120 // a list of names
	describedRoom = 700 // whole response with parameter descriptions
)

// describedText limits the description of a parameter, in characters.
const describedText = 120

// bound keeps the best results that fit into findRoom and names the rest.
func bound(out *FindOut) {
	room := findRoom - estimate.Tokens(ordered.MustJSON(FindOut{Scripts: out.Scripts, Also: out.Also, Away: out.Away, Hint: out.Hint}))
	count, whole := 0, 0 // results that fit next to the names of the rest; tokens of all results
	for i, f := range out.Results {
		if whole += estimate.Tokens(ordered.MustJSON(f)); i == count && (i == 0 || whole <= room-namesRoom) {
			count++
		}
	}
	if whole <= room {
		return
	}
	var others []string
	for _, f := range out.Results[count:] {
		others = append(others, f.Name)
	}
	out.Results, out.Further = out.Results[:count], named(others, namesRoom)
}

// named joins the names that fit into room tokens, at least one, and counts the rest.
func named(names []string, room int) string {
	for i, name := range names {
		if room -= estimate.Tokens([]byte(name)) + 1; room < 0 && i > 0 {
			return fmt.Sprintf("%s and %d more", strings.Join(names[:i], ", "), len(names)-i)
		}
	}
	return strings.Join(names, ", ")
}

// describeParams adds descriptions of the required parameters of other servers' actions, best
// action first, so that a client need not call describe. Own actions have clear usages. If the
// descriptions of an action do not all fit, it gets no descriptions: a part would look like all.
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

// also returns the names of the other actions of the first result's family. It is empty if the
// family has no other actions or the first result does not fit.
func (v *View) also(found []Match) string {
	if len(found) == 0 || found[0].Score < fits {
		return ""
	}
	family := found[0].action.Family
	var others []string
	for _, a := range family.Actions {
		if v.byID[a.FullName()] != nil && !slices.ContainsFunc(found, func(f Match) bool { return f.action == a }) {
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

// rank returns the hits of a query, ordered by relevance and the query's wish.
func (v *View) rank(query, server string, limit int) []*match {
	near := func(func(id string) bool) []string { return nil }
	if m := v.options.Catalogue.meaning; m != nil {
		near = m.Search(query)
	}
	seen := func(id string) bool {
		a := v.byID[id]
		return a != nil && (server == "" || a.Family.Server == server)
	}
	operand, rest := v.operand(query)
	if operand != nil {
		query = rest
	}
	var room [32]requestWord
	list := appendWords(room[:0], query)
	if operand != nil && seen(operand.Action.FullName()) && !slices.ContainsFunc(list, func(s requestWord) bool { return !s.grammar }) {
		return []*match{{rank.Hit{ID: operand.Action.FullName(), Score: 1}, operand.Action}}
	}
	r := readRequest(query, list)
	named := v.namedServers(query, list)
	if server != "" {
		named = []string{server}
	}
	q := rank.Query{Text: r.text, Limit: max(limit, pool), Keep: seen}
	if len(named) > 0 {
		// Words of own actions, such as script, are as rare as at a server that is alone.
		q.Among = func(id string) bool {
			a := v.byID[id]
			return a != nil && a.Family.Server != ""
		}
	}
	hits, phrasing := v.options.Catalogue.find(q)
	phrased := phrasing.shares(list)
	placed := v.places(named)
	matches := v.order(hits, limit, func(a *toolfold.Action) float64 {
		return r.share(v.entries[a]) * phrased(a.Name) * placed(a)
	})
	matches = v.merge(matches, near(seen))
	if r.wants != reading && r.removes {
		return matches
	}
	// The best harmless action comes before actions that remove something.
	harmless := slices.IndexFunc(matches, func(m *match) bool {
		return isHarmless(m) && (m.Coverage > 0 || matches[0].Coverage == 0) // not one that shares no word with the query
	})
	if harmless > 0 {
		best := matches[harmless]
		return slices.Insert(slices.Delete(matches, harmless, harmless+1), 0, best)
	}
	return matches
}

// operand returns the action whose full name, such as queue.create, is in a query, and the query
// without the name. Further words ask something about the action, so the words of the name must not
// count. It is nil if the query has no such name or several.
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

// namedServers returns the servers that a query names.
func (v *View) namedServers(query string, list []requestWord) (named []string) {
	for i, s := range list {
		for _, name := range v.serverNames[s.text] {
			if name.in(query, list, i) {
				named = append(named, name.server)
			}
		}
	}
	return named
}

// places returns a factor of an action's relevance that depends on its server. Tools of named servers
// come first, and tools of any server come before own tools that fit about as well.
func (v *View) places(named []string) func(*toolfold.Action) float64 {
	return func(a *toolfold.Action) float64 {
		switch {
		case slices.Contains(named, a.Family.Server):
			return 1
		case named != nil:
			return elsewhere
		case a.Family.Server == "" && len(v.servers) > 0:
			if a.Family.Category == callctx.Discovery {
				return discovery
			}
			return workbench
		}
		return 1
	}
}

// serverName is the name of a server, split into words.
type serverName struct {
	server string
	words  []requestWord
}

// Words that mark the word next to them as a server name: with fetch, the fetch server.
var (
	beforeServer = words.Set("with use using via through")
	behindServer = words.Set("server servers mcp tool tools")
)

// in reports whether a query names the server with its words from index at on. If the name is a
// single common word, such as fetch or memory, the query must use it as a name. Either the query
// begins with it and a colon, or server, mcp or tool follows it. Or a word such as use precedes it
// and no word follows that it could belong to, such as zones in "use time zones".
func (n serverName) in(query string, list []requestWord, at int) bool {
	end := at + len(n.words)
	if end > len(list) || !slices.EqualFunc(list[at:end], n.words, func(a, b requestWord) bool { return a.text == b.text }) {
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

// order sorts hits, which come most relevant first, by worth times share. It may drop hits after
// the first limit ones if one of these is harmless.
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
		if len(matches) >= limit && matches[limit-1].Worth >= worth && v.options.Catalogue.meaning == nil &&
			slices.ContainsFunc(matches[:limit], isHarmless) {
			continue // no share, which is at most 1, moves it up
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

// share returns the factor for the relevance of an entry's action.
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

// merge combines the matches found by words with the actions near the query by meaning.
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
			if id == near[0] { // the nearest by meaning counts as a fit
				m.Score = fits
			}
		}
		merged = append(merged, m)
	}
	return merged
}

// document returns the document of an action for the index.
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
			doc.Name = a.Aliases[i] // as its server wrote it, without the family name made from its words
			add(1, a.Family.Name)
		}
		add(foreignSummaryWeight, a.Summary)
		add(1, a.Family.Words, a.Doc)
		if !a.Family.Bare { // its summary is its only action's
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
