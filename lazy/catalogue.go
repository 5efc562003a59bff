package lazy

import (
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/rank"
)

// Catalogue is the index of the actions of a surface: one for callers with any
// rights. What changed in the families changes in the index when it is searched
// next. It is safe for concurrent use.
type Catalogue struct {
	mu       sync.Mutex
	families []*toolfold.Family          // as they are
	indexed  map[string]*toolfold.Family // as the index has them, by name
	current  bool                        // the index has the families as they are
	index    *rank.Index                 // of actions, by full name
	phrasing *phrasing                   // of the families that are indexed
	meaning  Meaning                     // nil: words only
}

// Meaning finds texts by what they mean.
type Meaning interface {
	// Follow makes texts, by id, the ones that are found. It does not wait for
	// anything.
	Follow(texts map[string]string)

	// Near begins to look for what is near a question. The function that it returns
	// waits for a short time at most, and lists those of the ids that keep takes, the
	// nearest first.
	Near(question string) (wait func(keep func(id string) bool) []string)
}

// NewCatalogue returns the index of families.
func NewCatalogue(families ...*toolfold.Family) *Catalogue {
	return &Catalogue{families: families, indexed: map[string]*toolfold.Family{}, index: rank.New()}
}

// Understand makes find go by the meaning of texts too, beside their words.
func (c *Catalogue) Understand(m Meaning) { c.meaning = m }

// Follow makes families the ones that are indexed. The slice must not be changed.
func (c *Catalogue) Follow(families []*toolfold.Family) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.families, c.current = families, false
}

// find returns the hits of a query among the actions of all families, and how
// people ask for actions.
func (c *Catalogue) find(q rank.Query) ([]rank.Hit, *phrasing) {
	c.mu.Lock()
	if !c.current {
		c.update()
	}
	phrasing := c.phrasing
	c.mu.Unlock()
	return c.index.Find(q), phrasing
}

// update indexes the families that changed and forgets families that are gone.
func (c *Catalogue) update() {
	gone := c.indexed
	c.indexed = make(map[string]*toolfold.Family, len(c.families))
	var changed []rank.Document
	var removed []string
	rephrased := c.phrasing == nil // requests for actions came or went
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
		c.phrasing = learnPhrasing(c.families)
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
