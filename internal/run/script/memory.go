package script

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/toolfold/toolfold/internal/run/engine"
)

// memory is the journal of a run that ends with this process.
type memory struct {
	mu      sync.Mutex
	records map[string]json.RawMessage
}

// ID implements [engine.Journal]. Nothing can go on with the run.
func (m *memory) ID() string { return "" }

// Lookup implements [engine.Journal].
func (m *memory) Lookup(path string) (record json.RawMessage, begun bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.records[path], false
}

// Begin implements [engine.Journal]. The process knows what it has begun.
func (m *memory) Begin(context.Context, ...string) error { return nil }

// Finish implements [engine.Journal].
func (m *memory) Finish(_ context.Context, ended ...engine.StepEnd) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records == nil {
		m.records = map[string]json.RawMessage{}
	}
	for _, e := range ended {
		m.records[e.Path] = e.Record
	}
	return nil
}

// Abandon implements [engine.Journal].
func (m *memory) Abandon(context.Context, string) {}
