package embed

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// Texts holds the vectors of texts in memory. It is safe for concurrent use.
type Texts struct {
	client *Client

	mu      sync.Mutex
	texts   map[string]string // by id
	vectors map[string]Vector // by text
	working bool
}

// NewTexts returns an empty set of texts, or nil if the client is nil.
func NewTexts(c *Client) *Texts {
	if c == nil {
		return nil
	}
	return &Texts{client: c, texts: map[string]string{}, vectors: map[string]Vector{}}
}

// Follow sets the texts to search, by id. It requests the vectors of new ones in the background.
func (t *Texts) Follow(texts map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.texts = maps.Clone(texts)
	current := map[string]bool{}
	for _, text := range t.texts {
		current[text] = true
	}
	maps.DeleteFunc(t.vectors, func(text string, _ Vector) bool { return !current[text] })
	t.work()
}

// work starts requesting missing vectors, unless it is already running. The caller holds the lock.
func (t *Texts) work() {
	if t.working || len(t.missing()) == 0 {
		return
	}
	t.working = true
	go func() {
		for {
			t.mu.Lock()
			list := t.missing()
			if t.working = len(list) > 0; !t.working {
				t.mu.Unlock()
				return
			}
			t.mu.Unlock()
			list = list[:min(len(list), Batch)]
			vectors, err := t.client.Embed(context.Background(), list)
			t.mu.Lock()
			if err != nil { // the next query tries again
				t.working = false
				t.mu.Unlock()
				return
			}
			for i, text := range list {
				t.vectors[text] = vectors[i]
			}
			t.mu.Unlock()
		}
	}()
}

// missing returns the texts without a vector, sorted.
func (t *Texts) missing() []string {
	lack := map[string]bool{}
	for _, text := range t.texts {
		if _, ok := t.vectors[text]; !ok {
			lack[text] = true
		}
	}
	return slices.Sorted(maps.Keys(lack))
}

// Search starts a search for texts similar to a query. The returned function waits for it for a short
// time, and lists the ids for which keep is true, most similar first.
func (t *Texts) Search(question string) (wait func(keep func(id string) bool) []string) {
	if t == nil {
		return func(func(string) bool) []string { return nil }
	}
	t.mu.Lock()
	t.work()
	t.mu.Unlock()
	query := t.client.Ask(question)
	return func(keep func(id string) bool) []string {
		v, ok := query()
		if !ok {
			return nil
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		ids := slices.Sorted(maps.Keys(t.texts))
		var all []Neighbour
		for i, id := range ids {
			if of, ok := t.vectors[t.texts[id]]; ok && keep(id) {
				all = append(all, Neighbour{ID: int64(i), Similarity: Similarity(v, of)})
			}
		}
		var list []string
		for _, n := range Nearest(all) {
			list = append(list, ids[n.ID])
		}
		return list
	}
}
