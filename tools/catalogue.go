package tools

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Catalogue is the ordered set of families that are offered now. Readers get
// a snapshot and are never blocked; the zero value is empty and ready.
type Catalogue struct {
	specs atomic.Pointer[[]*Spec]

	mu       sync.Mutex // held while the set changes and watchers are told
	watchers []func([]*Spec)
}

// Specs returns the families in order. The slice must not be changed.
func (c *Catalogue) Specs() []*Spec {
	if specs := c.specs.Load(); specs != nil {
		return *specs
	}
	return nil
}

// Watch calls f with the families now and after every change, one change at a
// time, before the change returns. f must not change the catalogue.
func (c *Catalogue) Watch(f func([]*Spec)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchers = append(c.watchers, f)
	f(c.Specs())
}

// Put adds families, or replaces those of the same name in their place. An
// error says what clashes, and changes nothing.
func (c *Catalogue) Put(specs ...*Spec) error {
	return c.change(func(list []*Spec) []*Spec {
		for _, s := range specs {
			i := slices.IndexFunc(list, func(other *Spec) bool { return other.Name == s.Name })
			if i < 0 {
				list = append(list, s)
				continue
			}
			list[i] = s
		}
		return list
	})
}

// Remove takes families out by name. Unknown names are ignored. It fails, and
// changes nothing, when another family names one of them as related.
func (c *Catalogue) Remove(names ...string) error {
	return c.change(func(list []*Spec) []*Spec {
		return slices.DeleteFunc(list, func(s *Spec) bool { return slices.Contains(names, s.Name) })
	})
}

func (c *Catalogue) change(edit func([]*Spec) []*Spec) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	specs := edit(slices.Clone(c.Specs()))
	if err := ValidateAll(specs); err != nil {
		return err
	}
	c.specs.Store(&specs)
	for _, watch := range c.watchers {
		watch(specs)
	}
	return nil
}
