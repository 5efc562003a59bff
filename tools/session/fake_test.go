package session

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/toolfold/toolfold"
)

// fakeStore stores sessions in memory. The first saves, as many as conflicts, lose against another
// change.
type fakeStore struct {
	mu        sync.Mutex
	sessions  map[string]Session
	notes     []Note // of all sessions
	conflicts int
	saves     int
}

func newFakeStore() *fakeStore { return &fakeStore{sessions: map[string]Session{}} }

func (f *fakeStore) Create(_ context.Context, s Session) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions[s.ID] = s
	return nil
}

func (f *fakeStore) Get(_ context.Context, id string) (Session, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, found := f.sessions[id]
	s.Participants = slices.Clone(s.Participants)
	return s, found, nil
}

func (f *fakeStore) Save(_ context.Context, s Session) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saves++
	if f.saves <= f.conflicts || f.sessions[s.ID].Version != s.Version {
		return false, nil
	}
	s.Version++
	s.Participants = slices.Clone(s.Participants)
	f.sessions[s.ID] = s
	return true, nil
}

func (f *fakeStore) List(_ context.Context, q Query) (Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []Item
	for _, s := range f.sessions {
		if (q.Status == "" || s.Status == q.Status) && (q.Initiator == "" || s.Initiator == q.Initiator) &&
			(len(q.Workspaces) == 0 || slices.Contains(q.Workspaces, s.Workspace)) && !slices.Contains(q.Except, s.Workspace) &&
			(q.HandedOver == nil || *q.HandedOver == (s.HandOver != nil)) &&
			(q.AgentID == "" || slices.Contains(s.agents(), q.AgentID)) {
			all = append(all, Item{ID: s.ID, Initiator: s.Initiator, Task: s.Task, Status: s.Status, Present: s.present(), Workspace: s.Workspace,
				CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, HandOver: s.HandOver})
		}
	}
	slices.SortFunc(all, func(a, b Item) int { return newerFirst(positionOf(a), positionOf(b)) })
	page := Page{Sessions: []Item{}, Total: len(all)}
	for _, l := range all {
		if (q.After == nil || newerFirst(*q.After, positionOf(l)) < 0) && len(page.Sessions) < q.Limit {
			page.Sessions = append(page.Sessions, l)
		}
	}
	return page, nil
}

// AddNote and Notes expect a single session.
func (f *fakeStore) AddNote(ctx context.Context, s Session, n Note) (bool, error) {
	saved, err := f.Save(ctx, s)
	if saved {
		n.Number = s.Version + 1
		f.notes = append(f.notes, n)
	}
	return saved, err
}

func (f *fakeStore) Notes(_ context.Context, _ string, before, limit int) (list []Note, total int, err error) {
	for _, n := range slices.Backward(f.notes) {
		if (before == 0 || n.Number < before) && len(list) < limit {
			list = append(list, n)
		}
	}
	return list, len(f.notes), nil
}

func newerFirst(a, b toolfold.Position) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
}
