package design

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// fakeStore keeps designs in memory.
type fakeStore struct {
	mu      sync.Mutex
	designs map[string]Design
}

func (f *fakeStore) Put(_ context.Context, d Design) (time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, there := f.designs[d.ID]; !there {
		f.designs[d.ID] = d
	}
	return f.designs[d.ID].CreatedAt, nil
}

func (f *fakeStore) Get(_ context.Context, id string) (Design, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, found := f.designs[id]
	return d, found, nil
}

func (f *fakeStore) Wrote(_ context.Context, text string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.designs {
		if text != "" && (d.Content == text || d.Documentation == text) {
			return true, nil
		}
	}
	return false, nil
}

func (f *fakeStore) List(_ context.Context, q Query) (Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []Item
	for _, d := range f.designs {
		if q.Type == "" || d.Type == q.Type {
			all = append(all, Item{ID: d.ID, Type: d.Type, Format: d.Format, Name: d.Name, CreatedAt: d.CreatedAt})
		}
	}
	slices.SortFunc(all, func(a, b Item) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	page := Page{Total: len(all)}
	for _, l := range all {
		before := q.After != nil && cmp.Or(q.After.CreatedAt.Compare(l.CreatedAt), cmp.Compare(q.After.ID, l.ID)) <= 0
		if !before && len(page.Designs) < q.Limit {
			page.Designs = append(page.Designs, l)
		}
	}
	return page, nil
}
