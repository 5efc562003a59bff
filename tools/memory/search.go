package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/words"
)

// Limits that keep a search fast in a large notebook.
const (
	maxIDs       = 600      // entries read for a word; a word with as many is common
	maxTier      = 200      // entries of each kind read for common words or synonyms
	maxPaired    = 4        // common words that are tried in pairs
	maxRanked    = 400      // entries whose words are read, so the maximum number of results
	maxRankBytes = 12 << 20 // bytes of words read; further entries are not ranked
	maxJoinBytes = 4 << 20  // bytes of words read in one search to split words
	maxCounted   = 10_000   // matching entries in a total
	rankChunk    = 64       // entries read at once
	firstChunk   = 8        // entries read first, while their length is unknown
	maxForms     = 8        // words of a guess
	maxSplit     = 24       // characters of a word that is split in two
	maxGuesses   = 3        // unknown words that are guessed
)

// reindexBatch is the number of entries of an earlier version that are reindexed in one
// transaction.
const reindexBatch = 500

// maxWhole is the maximum length of a value that search returns whole, in characters.
const maxWhole = 500

// Search finds entries by words.
func (s *Service) Search(ctx context.Context, in SearchIn) (SearchOut, error) {
	after, err := parseProgress(in.Cursor)
	if err != nil {
		return SearchOut{}, err
	}
	for !s.indexed.Load() {
		left, err := s.store.Reindex(ctx, reindexBatch, IndexText)
		if err != nil {
			return SearchOut{}, fmt.Errorf("indexing entries of an earlier version: %w", err)
		}
		s.indexed.Store(!left)
	}
	if !s.complete.Load() {
		s.makeVectors()
	}
	sessions, allSessions, err := s.sessions(ctx, in)
	if err != nil {
		return SearchOut{}, err
	}
	in.Namespace = cmp.Or(in.Namespace, s.Namespace)
	own := s.own(ctx)
	scope := Scope{Namespace: in.Namespace, Prefix: in.Prefix, Tags: tagSet(in.Tags),
		Workspace: s.workspace(ctx, in.Workspace, ""), Now: s.now()}
	find := search{index: s.store, scope: scope, query: parseQuery(in.Query), workspace: own, joinRoom: maxJoinBytes}
	var question func() ([]int8, bool)
	if s.Vectors != nil && len(find.query.phrases) == 0 && (after.offset == 0 || after.meaning) { // quotes require words
		question = s.Vectors.Ask(in.Query)
	}
	results, err := find.run(ctx)
	if err != nil {
		return SearchOut{}, fmt.Errorf("searching: %w", err)
	}
	out := SearchOut{Query: in.Query, Namespace: in.Namespace, Sessions: sessions}
	if out.Total, err = find.total(ctx, len(results)); err != nil {
		return SearchOut{}, fmt.Errorf("counting matches: %w", err)
	}
	if question != nil {
		vector, ok := question()
		switch {
		case after.meaning && !ok:
			return SearchOut{}, badCursor("goes on with search by meaning, and the embeddings endpoint does not answer now")
		case ok:
			byWords := len(results)
			if results, err = s.addNear(ctx, scope, vector, results); err != nil {
				return SearchOut{}, fmt.Errorf("looking for near entries: %w", err)
			}
			out.Total += len(results) - byWords
			after.meaning = true
		}
	}
	switch {
	case len(results) == 0 && len(sessions) > 0:
		out.Message = "no entry matches; session.status shows the notes of the sessions"
	case len(results) == 0:
		out.Message = "nothing matches; try other words, or memory.list to see the keys"
	case out.Total > len(results):
		out.Message = fmt.Sprintf("the best %d of %d that match can be read: narrow it with more words, tags, prefix or namespace", len(results),
			out.Total)
	}
	results = results[min(after.offset, len(results)):]
	if len(results) > in.Limit {
		results = results[:in.Limit]
		out.HasMore, out.NextCursor = true, after.cursor(in.Limit)
	}
	if out.Results, err = s.load(ctx, results, own, find.query); err != nil {
		return SearchOut{}, err
	}
	if allSessions > len(sessions) {
		out.Message = strings.TrimPrefix(fmt.Sprintf("%s; session.list with query shows all %d sessions", out.Message, allSessions), "; ")
	}
	if slices.ContainsFunc(out.Results, func(r SearchResult) bool { return r.Workspace != "" && r.Workspace != User }) {
		out.Message = strings.TrimPrefix(out.Message+"; "+ofOthers, "; ")
	}
	out.Count = len(out.Results)
	return out, nil
}

// load reads the entries of a page. Entries that were deleted since the search are missing. Own is
// the caller's workspace, and q the query whose words excerpts show.
func (s *Service) load(ctx context.Context, page []result, own string, q query) ([]SearchResult, error) {
	list := []SearchResult{}
	cut := newExcerpter(newRanker(q))
	for chunk := range slices.Chunk(page, loadChunk) {
		ids := make([]int64, len(chunk))
		for i, r := range chunk {
			ids[i] = r.ID
		}
		entries, err := s.store.Load(ctx, ids)
		if err != nil {
			return nil, fmt.Errorf("reading results: %w", err)
		}
		for _, r := range chunk {
			if ctx.Err() != nil {
				return nil, fmt.Errorf("cutting results: %w", ctx.Err())
			}
			e, ok := entries[r.ID]
			if !ok {
				continue
			}
			found := SearchResult{Key: e.Key, Namespace: e.Namespace, Size: len(e.Value), StoredAt: e.StoredAt, Score: r.score,
				Labels: labels(own, e.Tags, e.Workspace, e.ExpiresAt)}
			if utf8.RuneCount(e.Value) <= maxWhole {
				found.Value = e.Value
			} else {
				found.Excerpt = cut.excerpt(e.Value, r.rarity)
			}
			list = append(list, found)
		}
	}
	return list, nil
}

// elsewhere is the factor for entries of other workspaces. An entry of this workspace comes first
// unless it matches worse by a tenth.
const elsewhere = 0.9

// loadChunk limits the values of results that are in memory at once.
const loadChunk = 8

// progress describes the previous pages. It is in the cursor of search, so that all pages have the
// same order.
type progress struct {
	offset  int  // results on previous pages
	meaning bool // the order includes entries found by their vectors
}

// byMeaning follows the number in a cursor if meaning is set.
const byMeaning = "m"

// cursor returns the cursor of the page after a page with this number of results.
func (p progress) cursor(results int) string {
	raw := strconv.Itoa(p.offset + results)
	if p.meaning {
		raw += byMeaning
	}
	return toolfold.CursorOf(raw)
}

// parseProgress parses a cursor of search. An empty cursor is the first page.
func parseProgress(cursor string) (p progress, err error) {
	if cursor == "" {
		return p, nil
	}
	raw, err := toolfold.Page{Cursor: cursor}.After("memory.search")
	if err == nil {
		raw, p.meaning = strings.CutSuffix(raw, byMeaning)
		p.offset, err = strconv.Atoi(raw)
	}
	if err != nil || p.offset <= 0 {
		return p, badCursor("is not one that search returned")
	}
	return p, nil
}

// search finds the entries of a scope that match a query.
type search struct {
	index Index
	scope Scope
	query query

	// workspace is the workspace whose entries come first among entries that match about as well;
	// empty = no preference.
	workspace string

	last int64             // LastID
	has  map[int64]uint64  // set of the first 64 terms that an entry is known to have
	like map[int64]float64 // worth of the synonyms of an entry

	joinRoom int // bytes of words that may still be read to split words

	// partial is set if matching entries may be missing from the ranking.
	partial bool
}

// result is an entry with its relevance.
type result struct {
	Candidate
	score  float64
	rarity float64 // sum over the words of the query in the entry
}

// run returns the results, best first; ties are ordered latest first. A query without words has no
// results.
func (s *search) run(ctx context.Context) (results []result, err error) {
	if len(s.query.terms) == 0 {
		return nil, nil
	}
	if s.last, err = s.index.LastID(ctx); err != nil {
		return nil, fmt.Errorf("reading the last id: %w", err)
	}
	if err := s.lookUp(ctx); err != nil {
		return nil, fmt.Errorf("looking up words: %w", err)
	}
	if err := s.gather(ctx); err != nil {
		return nil, fmt.Errorf("gathering candidates: %w", err)
	}
	if results, err = s.rank(ctx); err != nil {
		return nil, fmt.Errorf("ranking candidates: %w", err)
	}
	return results, nil
}

// total returns the number of matching entries, at least ranked, the number of results. It counts
// up to maxCounted. An entry with all words of a phrase counts as one with the phrase.
func (s *search) total(ctx context.Context, ranked int) (int, error) {
	if !s.partial {
		return ranked, nil
	}
	var any Group
	for _, t := range s.query.terms {
		any = append(any, t.forms...)
	}
	n, err := s.index.CountMatching(ctx, s.scope, s.within(Match{any}), maxCounted)
	return max(n, ranked), err
}

// matching returns the ids of the matching entries in the scope.
func (s *search) matching(ctx context.Context, m Match, limit int) ([]int64, error) {
	return s.index.Matching(ctx, s.scope, s.within(m), limit)
}

// within adds the words of all phrases as conditions.
func (s *search) within(m Match) Match { return slices.Concat(m, s.query.required) }

// lookUp finds the entries of each word. A word that no entry has is replaced: by the parts of a
// compound, by words that begin with it or, if at least half of the words are unknown, by words
// that differ in a letter.
func (s *search) lookUp(ctx context.Context) (err error) {
	var unknown []*term
	for i := 0; i < len(s.query.terms); i++ {
		t := s.query.terms[i]
		if err := s.find(ctx, t, t.forms, 1); err != nil {
			return err
		}
		if len(t.ids) == 0 && t.parts == nil {
			if t.parts, err = s.split(ctx, t.typed); err != nil {
				return err
			}
		}
		if len(t.ids) == 0 && t.parts != nil {
			var apart []*term
			for _, p := range t.parts {
				if !slices.ContainsFunc(s.query.terms, func(t *term) bool { return t.stem == p }) {
					apart = append(apart, &term{stem: p, typed: p, forms: Group{{Text: p}}})
				}
			}
			s.query.terms = slices.Replace(s.query.terms, i, i+1, apart...)
			i--
			continue
		}
		if len(t.ids) == 0 && longEnough(t.typed) {
			if err := s.find(ctx, t, Group{{Text: t.typed, Prefix: true}, {Text: t.stem, Prefix: true}}, 0.7); err != nil {
				return err
			}
		}
		if len(t.ids) == 0 {
			unknown = append(unknown, t)
		}
	}
	if 2*len(unknown) >= len(s.query.terms) { // the other words are not enough
		for _, t := range unknown[:min(len(unknown), maxGuesses)] {
			if utf8.RuneCountInString(t.typed) < minGuessed {
				continue
			}
			near := nearForms(t.typed)
			known, err := s.index.Known(ctx, near)
			if err != nil {
				return err
			}
			var forms Group
			for _, form := range near {
				if slices.Contains(known, form) && len(forms) < maxForms {
					forms = append(forms, Word{Text: form})
				}
			}
			if forms == nil {
				continue
			}
			if err := s.find(ctx, t, forms, 0.5); err != nil {
				return err
			}
		}
	}
	for _, t := range s.query.terms {
		t.setRarity(s.last)
	}
	return nil
}

// split returns the stems of two words that a word joins, as rollout joins roll and out, if some
// entry has them side by side; otherwise nil.
func (s *search) split(ctx context.Context, word string) ([]string, error) {
	chars := []rune(word)
	if len(chars) < minGuessed || len(chars) > maxSplit {
		return nil, nil
	}
	var halves [][]string
	var all []string
	for i := 2; i < len(chars)-1; i++ {
		half := []string{words.Stem(string(chars[:i])), words.Stem(string(chars[i:]))}
		halves, all = append(halves, half), append(all, half...)
	}
	known, err := s.index.Known(ctx, all)
	if err != nil {
		return nil, err
	}
	for _, half := range halves {
		if !slices.Contains(known, half[0]) || !slices.Contains(known, half[1]) {
			continue
		}
		ids, err := s.matching(ctx, Match{{{Text: half[0]}}, {{Text: half[1]}}}, rankChunk)
		if err != nil {
			return nil, err
		}
		together := false
		err = s.read(ctx, ids, &s.joinRoom, func(c Candidate) bool {
			together = strings.Contains(c.Words+" ", " "+half[0]+" "+half[1]+" ")
			return !together
		})
		if err != nil {
			return nil, err
		}
		if together {
			return half, nil
		}
	}
	return nil, nil
}

// read passes the words of entries to each until it returns false or room, in bytes, is used up.
// Entries are read in chunks in the order of ids; chunks of long entries are smaller. The last
// chunk may exceed room.
func (s *search) read(ctx context.Context, ids []int64, room *int, each func(Candidate) bool) error {
	chunk, count, size := firstChunk, 0, 0
	for len(ids) > 0 && *room > 0 {
		chunk = min(chunk, len(ids))
		candidates, err := s.index.Candidates(ctx, ids[:chunk])
		if err != nil {
			return err
		}
		ids = ids[chunk:]
		for _, c := range candidates {
			if err := ctx.Err(); err != nil {
				return err
			}
			count++
			size += len(c.Words)
			*room -= len(c.Words)
			if !each(c) {
				return nil
			}
		}
		chunk = max(1, min(2*chunk, rankChunk, *room*count/max(1, size)))
	}
	return nil
}

// find looks up a term by some forms. Worth is the worth of a match, relative to the word itself.
func (s *search) find(ctx context.Context, t *term, forms Group, worth float64) (err error) {
	t.forms, t.worth = forms, worth
	t.ids, err = s.matching(ctx, Match{forms}, maxIDs)
	t.common = len(t.ids) == maxIDs
	return err
}

// gather records which entries have which words. All entries of rare words are known. For common
// words it queries entries with all of them, then with two, then with one. Each query also finds
// the latest entries that have them in the key or are about them.
func (s *search) gather(ctx context.Context) error {
	s.has, s.like = map[int64]uint64{}, map[int64]float64{}
	var common []*term
	var rare Group
	for i, t := range s.query.terms {
		t.bit = 1 << i
		if t.common {
			common = append(common, t)
			continue
		}
		if len(t.ids) > 0 {
			rare = append(rare, t.forms...)
		}
		for _, id := range t.ids {
			s.has[id] |= t.bit
		}
	}
	if err := s.addSynonyms(ctx); err != nil {
		return err
	}
	if len(common) == 0 {
		return nil
	}
	s.partial = true
	slices.SortStableFunc(common, func(a, b *term) int { return cmp.Compare(b.rarity, a.rarity) })

	if len(s.has) > maxRanked { // not all are ranked, so entries that also have common words come first
		for _, t := range common {
			ids, err := s.matching(ctx, Match{t.forms, rare}, maxIDs)
			if err != nil {
				return err
			}
			for _, id := range ids {
				s.has[id] |= t.bit
			}
		}
	}
	if err := s.addAll(ctx, common); err != nil {
		return err
	}
	paired := common[:min(len(common), maxPaired)]
	var groups [][]*term
	for i, a := range paired {
		for _, b := range paired[:i] {
			groups = append(groups, []*term{a, b})
		}
	}
	for _, t := range paired {
		groups = append(groups, []*term{t})
	}
	for _, group := range groups {
		sum := 0.0
		for _, t := range group {
			sum += t.worth * t.rarity
		}
		if len(group) == len(common) || sum <= s.bar() {
			continue // better entries are known
		}
		if err := s.addAll(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

// addSynonyms records the latest entries that have a synonym of a word. The two words of a pair
// need not be side by side here; ranking checks that. A word with many entries does not need
// synonyms.
func (s *search) addSynonyms(ctx context.Context) error {
	for _, t := range s.query.terms {
		if len(t.ids) >= maxTier/2 {
			continue
		}
		var groups []Match
		if alone := slices.Concat(t.like, t.near); len(alone) > 0 {
			groups = append(groups, Match{alone})
		}
		if len(t.pairs) > 0 {
			groups = append(groups, t.bothWords())
		}
		seen := map[int64]bool{}
		for _, m := range groups {
			ids, err := s.matching(ctx, m, maxTier)
			if err != nil {
				return err
			}
			for _, id := range ids {
				if !seen[id] {
					seen[id] = true
					s.like[id] += synonymShare * t.rarity
				}
			}
		}
	}
	return nil
}

// enough is a number of good entries that satisfies every caller.
const enough = 100

// bar returns the worth that an entry must exceed to be one of the best among the entries found so
// far, as many as enough; 0 while there are fewer.
func (s *search) bar() float64 {
	if len(s.has) < enough {
		return 0
	}
	return slices.SortedFunc(maps.Values(s.worths()), func(a, b float64) int { return cmp.Compare(b, a) })[enough-1]
}

// worths returns the worth of the known words of each entry.
func (s *search) worths() map[int64]float64 {
	worths := make(map[int64]float64, len(s.has))
	for id, bits := range s.has {
		for _, t := range s.query.terms {
			if bits&t.bit != 0 {
				worths[id] += t.worth * t.rarity
			}
		}
	}
	return worths
}

// addAll adds entries that have all of the terms: the latest ones, the latest that are about them,
// and the latest that have them all in the key.
func (s *search) addAll(ctx context.Context, terms []*term) error {
	var bits uint64
	for _, t := range terms {
		bits |= t.bit
	}
	for _, mark := range []string{"", strongMark, keyMark} {
		var m Match
		for _, t := range terms {
			group := slices.Clone(t.forms)
			for i := range group {
				group[i].Text = mark + group[i].Text
			}
			m = append(m, group)
		}
		ids, err := s.matching(ctx, m, maxTier)
		if err != nil {
			return err
		}
		for _, id := range ids {
			s.has[id] |= bits
		}
		if mark == "" && len(ids) < maxTier {
			break // all entries are found
		}
	}
	return nil
}

// rank reads the words of the most promising entries and scores them.
func (s *search) rank(ctx context.Context) ([]result, error) {
	worth := s.worths()
	for id, w := range s.like {
		worth[id] += w
	}
	ids := slices.SortedFunc(maps.Keys(worth), func(a, b int64) int {
		return cmp.Or(cmp.Compare(worth[b], worth[a]), cmp.Compare(b, a))
	})
	s.partial = s.partial || len(ids) > maxRanked
	ids = ids[:min(len(ids), maxRanked)]

	r := newRanker(s.query)
	var results []result
	var tallies []tally
	total, room := 0, maxRankBytes
	err := s.read(ctx, ids, &room, func(c Candidate) bool {
		if t, ok := r.read(c.Words); ok {
			c.Words = ""
			results, tallies = append(results, result{Candidate: c, rarity: r.rarity(t)}), append(tallies, t)
			total += t.words
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	s.partial = s.partial || room <= 0
	mean := float64(total) / float64(max(1, len(results)))
	for i, t := range tallies {
		score := r.score(t, max(1, mean))
		if results[i].Workspace != s.workspace && s.workspace != "" {
			score *= elsewhere
		}
		results[i].score = math.Ceil(1e3*score) / 1e3 // smaller differences are ties
	}
	results = slices.DeleteFunc(results, func(r result) bool { return r.score == 0 })
	slices.SortFunc(results, func(a, b result) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.StoredAt.Compare(a.StoredAt), cmp.Compare(b.ID, a.ID))
	})
	return results, nil
}
