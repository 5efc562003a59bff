package lazy

import (
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/rank"
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
}

// NewCatalogue returns the index of families.
func NewCatalogue(families ...*toolfold.Family) *Catalogue {
	return &Catalogue{families: families, indexed: map[string]*toolfold.Family{}, index: rank.New()}
}

// Follow makes families the ones that are indexed. The slice must not be changed.
func (c *Catalogue) Follow(families []*toolfold.Family) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.families, c.current = families, false
}

// find returns the hits of a query among the actions of all families.
func (c *Catalogue) find(q rank.Query) []rank.Hit {
	c.mu.Lock()
	if !c.current {
		c.update()
	}
	c.mu.Unlock()
	return c.index.Find(q)
}

// update indexes the families that changed and forgets those that are gone.
func (c *Catalogue) update() {
	gone := c.indexed
	c.indexed = make(map[string]*toolfold.Family, len(c.families))
	var changed []rank.Document
	var removed []string
	for _, f := range c.families {
		before := gone[f.Name]
		delete(gone, f.Name)
		c.indexed[f.Name] = f
		if before == f {
			continue
		}
		for _, a := range f.Actions {
			changed = append(changed, document(a))
		}
		if before != nil {
			for _, a := range before.Actions {
				if f.Action(a.Name) == nil {
					removed = append(removed, a.FullName())
				}
			}
		}
	}
	for _, f := range gone {
		for _, a := range f.Actions {
			removed = append(removed, a.FullName())
		}
	}
	c.index.Remove(removed...)
	c.index.Put(changed...)
	c.current = true
}
