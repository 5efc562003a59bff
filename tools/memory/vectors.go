package memory

import (
	"context"
	"strings"
	"time"

	"github.com/toolfold/toolfold/internal/run/embed"
	"github.com/toolfold/toolfold/internal/text/rank"
)

const (
	maxVectors    = 10_000          // latest entries of a scope that are found by their vectors
	maxVectorText = 2000            // bytes of an entry of which the vector is made
	vectorTime    = 5 * time.Minute // after which making vectors ends until the next change
)

// Embedder turns texts into vectors: directions that are near each other where texts
// mean the same.
type Embedder interface {
	// Model names what makes the vectors: those of another one cannot be compared.
	Model() string

	// Embed returns the vectors of a batch of texts, in their order; that of a text
	// which has none is empty.
	Embed(ctx context.Context, texts []string) ([][]int8, error)

	// Ask begins to make the vector of a question. The function that it returns waits
	// for it for a short time only; ok is false where there is none by then.
	Ask(question string) (wait func() (vector []int8, ok bool))
}

// makeVectors asks in the background for the vectors of entries that have none,
// unless that is under way. After a failure or too long a time it ends until the next call.
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
		if err == nil && !s.complete.Load() { // stored after the last look
			s.makeVectors()
		}
	}()
}

// makeSome makes the vectors of a batch of entries, and reports whether there were any.
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

// addNear puts the entries of a scope whose vectors are near that of a question between
// the results that were found by words, both best first.
func (s *Service) addNear(ctx context.Context, scope Scope, asked []int8, results []result) ([]result, error) {
	vectors, err := s.store.Vectors(ctx, scope, s.Vectors.Model(), maxVectors)
	if err != nil {
		return nil, err
	}
	near := make([]embed.Near, len(vectors))
	for i, v := range vectors {
		near[i] = embed.Near{ID: v.ID, Similarity: embed.Similarity(asked, v.Vector)}
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
