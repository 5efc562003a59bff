package memory

import (
	"context"
	"strings"
	"time"

	"github.com/toolfold/toolfold/internal/run/embed"
	"github.com/toolfold/toolfold/internal/text/rank"
)

const (
	maxVectors    = 10_000          // latest entries of a scope whose vectors are searched
	maxVectorText = 2000            // bytes of an entry in its vector
	vectorTime    = 5 * time.Minute // limit for creating vectors until the next change
)

// Embedder converts texts to vectors. Texts with similar meaning have vectors with similar
// directions.
type Embedder interface {
	// Model returns the name of the model. Vectors of different models cannot be compared.
	Model() string

	// Embed returns the vectors of a batch of texts, in order. The vector of a text that has no
	// vector is empty.
	Embed(ctx context.Context, texts []string) ([][]int8, error)

	// Ask starts to create the vector of a question. The function it returns waits for a short
	// time; ok is false if there is no vector by then.
	Ask(question string) (wait func() (vector []int8, ok bool))
}

// makeVectors creates missing vectors in the background, unless that is already running. After an
// error or vectorTime it stops until the next call.
func (s *Service) makeVectors() {
	if s.Vectors == nil || !s.making.CompareAndSwap(false, true) {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), vectorTime)
		defer cancel()
		var err error
		for err == nil && !s.complete.Swap(true) {
			var more bool
			if more, err = s.makeSome(ctx); more || err != nil {
				s.complete.Store(false)
			}
		}
		s.making.Store(false)
		if err == nil && !s.complete.Load() { // an entry was stored after the last check
			s.makeVectors()
		}
	}()
}

// makeSome creates the vectors of a batch of entries, and reports whether any were missing.
func (s *Service) makeSome(ctx context.Context) (more bool, err error) {
	list, err := s.store.WithoutVector(ctx, s.Vectors.Model(), embed.Batch)
	if err != nil || len(list) == 0 {
		return false, err
	}
	texts := make([]string, len(list))
	for i, e := range list {
		var b strings.Builder
		b.WriteString(e.Key)
		for text := range flatten(e.Value) {
			if b.Len() > maxVectorText {
				break
			}
			b.WriteString("\n" + text)
		}
		texts[i] = b.String()
	}
	vectors, err := s.Vectors.Embed(ctx, texts)
	if err != nil {
		return false, err
	}
	made := make([]EntryVector, len(list))
	for i, e := range list {
		made[i] = EntryVector{ID: e.ID, StoredAt: e.StoredAt, Vector: vectors[i]}
	}
	return true, s.store.PutVectors(ctx, s.Vectors.Model(), made)
}

// addNear merges the entries of a scope with vectors near the question's vector into the results
// found by words. Both are ordered best first.
func (s *Service) addNear(ctx context.Context, scope Scope, query []int8, results []result) ([]result, error) {
	vectors, err := s.store.Vectors(ctx, scope, s.Vectors.Model(), maxVectors)
	if err != nil {
		return nil, err
	}
	near := make([]embed.Neighbour, len(vectors))
	for i, v := range vectors {
		near[i] = embed.Neighbour{ID: v.ID, Similarity: embed.Similarity(query, v.Vector)}
	}
	byID := map[int64]result{}
	var words, meaning []int64
	for _, r := range results {
		byID[r.ID], words = r, append(words, r.ID)
	}
	for _, n := range embed.Nearest(near) {
		meaning = append(meaning, n.ID)
		if _, also := byID[n.ID]; !also {
			byID[n.ID] = result{Candidate: Candidate{ID: n.ID}, score: float64(int(1000*n.Similarity)) / 1000}
		}
	}
	merged := make([]result, 0, len(byID))
	score := 1.0
	for _, id := range rank.Merge(words, meaning) {
		r := byID[id]
		score = min(score, r.score)
		r.score = score
		merged = append(merged, r)
	}
	return merged, nil
}
