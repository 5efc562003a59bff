package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Limits that keep a search fast in a large notebook. They change what is
// found only where more entries match than anybody reads.
const (
	maxQueryWords = 16   // further words of the query are not looked at
	maxFrequency  = 1000 // words in more entries than this are equally common
	maxCandidates = 500  // of one question to the index; the latest are taken
	minPrefix     = 3    // characters of a word that may be the beginning of another
)

// A search gathers candidates from the index, best sources first, until there
// are enough.
type search struct {
	index     Index
	namespace Match // one token; empty for every namespace
	words     []term
	limit     int
	found     map[int64]Candidate
}

// term is a word of the query.
type term struct {
	text      string
	frequency int // entries that have it, up to maxFrequency
}

// result is an entry and how well it matches.
type result struct {
	Candidate
	score float64
}

func newSearch(index Index, in SearchIn) *search {
	s := &search{index: index, limit: in.Limit, found: map[int64]Candidate{}}
	if in.Namespace != "" {
		s.namespace = Match{{Text: namespaceToken(in.Namespace)}}
	}
	for word := range asked(in.Query) {
		known := slices.ContainsFunc(s.words, func(t term) bool { return t.text == word })
		if !known && len(s.words) < maxQueryWords {
			s.words = append(s.words, term{text: word})
		}
	}
	return s
}

// run returns the best results, best first. A query without words finds
// nothing.
func (s *search) run(ctx context.Context) ([]result, error) {
	if len(s.words) == 0 {
		return nil, nil
	}
	if err := s.countWords(ctx); err != nil {
		return nil, fmt.Errorf("counting words: %w", err)
	}
	if err := s.gather(ctx); err != nil {
		return nil, fmt.Errorf("gathering candidates: %w", err)
	}
	results := make([]result, 0, len(s.found))
	for _, c := range s.found {
		results = append(results, result{c, score(s.words, c.Words)})
	}
	slices.SortFunc(results, better)
	return results[:min(s.limit, len(results))], nil
}

// better orders by score; of equals, the latest comes first.
func better(a, b result) int {
	return cmp.Or(
		cmp.Compare(b.score, a.score),
		b.StoredAt.Compare(a.StoredAt),
		cmp.Compare(b.ID, a.ID),
	)
}

func (s *search) countWords(ctx context.Context) error {
	for i := range s.words {
		n, err := s.index.Frequency(ctx, s.inNamespace(Match{exact(s.words[i].text)}), maxFrequency)
		if err != nil {
			return err
		}
		s.words[i].frequency = n
	}
	return nil
}

// gather asks for all words in the key, then for all words anywhere. Where
// that finds too little it settles for beginnings of words, then for some of
// the words.
func (s *search) gather(ctx context.Context) error {
	for _, form := range []func(string) Word{inKey, exact} {
		if err := s.addAll(ctx, form); err != nil {
			return err
		}
	}
	if len(s.found) >= s.limit {
		return nil
	}
	if err := s.addAll(ctx, beginning); err != nil {
		return err
	}
	if len(s.found) >= s.limit || len(s.words) == 1 {
		return nil
	}
	return s.addSome(ctx)
}

// addAll adds the entries that have every word in some form.
func (s *search) addAll(ctx context.Context, form func(string) Word) error {
	var all Match
	for _, t := range s.words {
		all = append(all, form(t.text))
	}
	return s.add(ctx, all)
}

// addSome adds entries that have one word, the rarest word first: of those
// with only common words there are many, and they are worth little.
func (s *search) addSome(ctx context.Context) error {
	rarest := slices.SortedStableFunc(slices.Values(s.words), func(a, b term) int {
		return cmp.Compare(a.frequency, b.frequency)
	})
	for _, t := range rarest {
		form := exact
		if len(s.found) < s.limit {
			form = beginning
		}
		if err := s.add(ctx, Match{form(t.text)}); err != nil {
			return err
		}
		if len(s.found) >= maxCandidates {
			return nil
		}
	}
	return nil
}

func (s *search) add(ctx context.Context, m Match) error {
	candidates, err := s.index.Candidates(ctx, s.inNamespace(m), maxCandidates)
	for _, c := range candidates {
		s.found[c.ID] = c
	}
	return err
}

func (s *search) inNamespace(m Match) Match {
	return slices.Concat(s.namespace, m)
}

func exact(word string) Word { return Word{Text: word} }

func inKey(word string) Word { return Word{Text: keyMark + word} }

func beginning(word string) Word {
	return Word{Text: word, Prefix: utf8.RuneCountInString(word) >= minPrefix}
}
