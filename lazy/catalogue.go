package lazy

import (
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/rank"
)

// Catalogue is the index of a surface's actions. All callers share it, whatever their rights. The
// next search after a change of the families updates it. It is safe for concurrent use.
type Catalogue struct {
	mu       sync.Mutex
	families []*toolfold.Family          // current
	indexed  map[string]*toolfold.Family // indexed, by name
	current  bool                        // the index is up to date
	index    *rank.Index                 // of actions, by full name
	phrasing *phrasing                   // of the indexed families
	meaning  Meaning                     // nil = search by words only
}

// Meaning finds texts by their meaning.
type Meaning interface {
	// Follow replaces the searched texts, by id. It does not block.
	Follow(texts map[string]string)

	// Search starts a search for texts near a question. The function it returns waits for a short
	// time at most and lists the ids that keep accepts, nearest first.
	Search(question string) (wait func(keep func(id string) bool) []string)
}

// NewCatalogue returns the index of families.
func NewCatalogue(families ...*toolfold.Family) *Catalogue {
	return &Catalogue{families: families, indexed: map[string]*toolfold.Family{}, index: rank.New()}
}

// Understand makes find also search by the meaning of texts.
func (c *Catalogue) Understand(m Meaning) { c.meaning = m }

// Follow replaces the families to index. The slice must not be changed.
func (c *Catalogue) Follow(families []*toolfold.Family) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.families, c.current = families, false
}

// find returns the hits of a query among the actions of all families, and the phrasing of their
// requests.
func (c *Catalogue) find(q rank.Query) ([]rank.Hit, *phrasing) {
	c.mu.Lock()
	if !c.current {
		c.update()
	}
	phrasing := c.phrasing
	c.mu.Unlock()
	return c.index.Find(q), phrasing
}

// update indexes changed families and removes the ones that are gone.
func (c *Catalogue) update() {
	gone := c.indexed
	c.indexed = make(map[string]*toolfold.Family, len(c.families))
	var changed []rank.Document
	var removed []string
	rephrased := c.phrasing == nil // requests for actions were added or removed
	for _, f := range c.families {
		before := gone[f.Name]
		delete(gone, f.Name)
		c.indexed[f.Name] = f
		if before == f {
			continue
		}
		for _, a := range f.Actions {
			changed = append(changed, document(a))
			rephrased = rephrased || len(a.Asks) > 0
		}
		if before != nil {
			for _, a := range before.Actions {
				rephrased = rephrased || len(a.Asks) > 0
				if f.Action(a.Name) == nil {
					removed = append(removed, a.FullName())
				}
			}
		}
	}
	for _, f := range gone {
		for _, a := range f.Actions {
			removed = append(removed, a.FullName())
			rephrased = rephrased || len(a.Asks) > 0
		}
	}
	if rephrased {
		c.phrasing = newPhrasing(c.families)
	}
	c.index.Remove(removed...)
	c.index.Put(changed...)
	c.current = true
	if c.meaning != nil && len(changed)+len(removed) > 0 {
		texts := map[string]string{}
		for _, f := range c.families {
			for _, a := range f.Actions {
				texts[a.FullName()] = strings.Join(slices.Concat([]string{a.FullName(), f.Summary + ". " + a.Summary, a.Doc}, a.Asks), "\n")
			}
		}
		c.meaning.Follow(texts)
	}
}
