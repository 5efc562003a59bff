package ability

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/toolfold/toolfold/internal/run/workspace"
)

// fakeStore stores abilities in memory.
type fakeStore struct {
	mu        sync.Mutex
	abilities map[string]Ability
}

func (f *fakeStore) Put(_ context.Context, a Ability) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, replaced := f.abilities[a.ID]
	f.abilities[a.ID] = a
	return replaced, nil
}

func (f *fakeStore) Get(_ context.Context, id string) (Ability, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, found := f.abilities[id]
	return a, found, nil
}

func (f *fakeStore) All(context.Context) ([]Ability, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.abilities)), nil
}

func (f *fakeStore) Remove(_ context.Context, id string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, removed := f.abilities[id]
	delete(f.abilities, id)
	return removed, nil
}

// newService returns a service with stored abilities and an empty workspace, and the workspace's
// path.
func newService(t testing.TB, stored ...Ability) (*Service, string) {
	t.Helper()
	store := &fakeStore{abilities: map[string]Ability{}}
	for _, a := range stored {
		store.abilities[a.ID] = a
	}
	dir := t.TempDir()
	return New(store, workspace.Folder{Dir: dir}), dir
}

// simple returns an enabled ability of medium priority.
func simple(id, content string) Ability {
	return Ability{ID: id, Content: content, Priority: 50, Enabled: true}
}

func writeFile(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, Folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ask returns the arguments of an injection without a task and with the default limits.
func ask() InjectIn {
	return InjectIn{AgentID: "coder", MaxAbilities: 10, MaxTokens: 50000}
}

func inject(t testing.TB, s *Service, in InjectIn) InjectOut {
	t.Helper()
	out, err := s.Inject(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
