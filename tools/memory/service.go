package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolfold/toolfold/tools"
)

// Limits of an entry.
const (
	maxKey       = 500     // characters
	maxNamespace = 100     // characters
	maxValue     = 1 << 20 // bytes of compact JSON
)

// defaultNamespace is where entries are kept when none is named.
const defaultNamespace = "default"

// Codes of the family.
const (
	ValueTooLarge        = "VALUE_TOO_LARGE"
	ConfirmationRequired = "CONFIRMATION_REQUIRED"
)

// Service runs the memory actions. It is safe for concurrent use.
type Service struct {
	store Store
	clock func() time.Time
}

// New returns a service over a store; now tells the time.
func New(store Store, now func() time.Time) *Service {
	return &Service{store: store, clock: now}
}

// now is the time in the precision that stores keep.
func (s *Service) now() time.Time {
	return s.clock().UTC().Truncate(time.Microsecond)
}

// StoreIn is an entry to keep.
type StoreIn struct {
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	Namespace string          `json:"namespace"`
}

// StoreOut tells where the entry is.
type StoreOut struct {
	Success   bool   `json:"success"`
	Key       string `json:"key"`
	Namespace string `json:"namespace"`
	Replaced  bool   `json:"replaced"`
	Message   string `json:"message"`
}

// Store keeps a value under a key.
func (s *Service) Store(ctx context.Context, in StoreIn) (StoreOut, error) {
	value, err := compact(in.Value)
	if err != nil {
		return StoreOut{}, err
	}
	e := Entry{Namespace: orDefault(in.Namespace), Key: in.Key, Value: value, StoredAt: s.now()}
	replaced, err := s.store.Put(ctx, e)
	if err != nil {
		return StoreOut{}, fmt.Errorf("storing entry: %w", err)
	}
	out := StoreOut{Success: true, Key: e.Key, Namespace: e.Namespace, Replaced: replaced, Message: "stored"}
	if replaced {
		out.Message = "stored; the earlier value is replaced"
	}
	return out, nil
}

// KeyIn names an entry.
type KeyIn struct {
	Key       string `json:"key"`
	Namespace string `json:"namespace"`
}

// GetOut is an entry, if there is one.
type GetOut struct {
	Found     bool            `json:"found"`
	Key       string          `json:"key"`
	Namespace string          `json:"namespace"`
	Value     json.RawMessage `json:"value,omitempty"`
	StoredAt  *time.Time      `json:"storedAt,omitempty"`
	Message   string          `json:"message,omitempty"`
}

// Get reads an entry.
func (s *Service) Get(ctx context.Context, in KeyIn) (GetOut, error) {
	out := GetOut{Key: in.Key, Namespace: orDefault(in.Namespace)}
	e, err := s.store.Get(ctx, out.Namespace, out.Key)
	if errors.Is(err, ErrNotFound) {
		out.Message = "no such key; search or list finds the ones there are"
		return out, nil
	}
	if err != nil {
		return GetOut{}, fmt.Errorf("reading entry: %w", err)
	}
	out.Found, out.Value, out.StoredAt = true, e.Value, &e.StoredAt
	return out, nil
}

// DeleteOut tells whether there was an entry.
type DeleteOut struct {
	Deleted   bool   `json:"deleted"`
	Key       string `json:"key"`
	Namespace string `json:"namespace"`
	Message   string `json:"message"`
}

// Delete removes an entry.
func (s *Service) Delete(ctx context.Context, in KeyIn) (DeleteOut, error) {
	out := DeleteOut{Key: in.Key, Namespace: orDefault(in.Namespace), Message: "no such key"}
	deleted, err := s.store.Delete(ctx, out.Namespace, []string{in.Key})
	if err != nil {
		return DeleteOut{}, fmt.Errorf("deleting entry: %w", err)
	}
	if len(deleted) > 0 {
		out.Deleted, out.Message = true, "deleted"
	}
	return out, nil
}

// SearchIn is a query.
type SearchIn struct {
	Query     string `json:"query"`
	Namespace string `json:"namespace"`
	Limit     int    `json:"limit"`
}

// SearchOut is what the query found.
type SearchOut struct {
	Query     string `json:"query"`
	Namespace string `json:"namespace,omitempty"`
	Count     int    `json:"count"`
	Results   []Hit  `json:"results"`
}

// Hit is an entry that a query found.
type Hit struct {
	Key       string          `json:"key"`
	Namespace string          `json:"namespace"`
	Value     json.RawMessage `json:"value"`
	StoredAt  time.Time       `json:"storedAt"`
	Score     float64         `json:"score"`
}

// Search finds entries by words.
func (s *Service) Search(ctx context.Context, in SearchIn) (SearchOut, error) {
	results, err := newSearch(s.store, in).run(ctx)
	if err != nil {
		return SearchOut{}, fmt.Errorf("searching: %w", err)
	}
	ids := make([]int64, len(results))
	for i, r := range results {
		ids[i] = r.ID
	}
	entries, err := s.store.Load(ctx, ids)
	if err != nil {
		return SearchOut{}, fmt.Errorf("reading results: %w", err)
	}
	out := SearchOut{Query: in.Query, Namespace: in.Namespace, Results: []Hit{}}
	for _, r := range results {
		if e, ok := entries[r.ID]; ok {
			out.Results = append(out.Results, Hit{e.Key, e.Namespace, e.Value, e.StoredAt, r.score})
		}
	}
	out.Count = len(out.Results)
	return out, nil
}

func orDefault(namespace string) string {
	if namespace == "" {
		return defaultNamespace
	}
	return namespace
}

// compact removes the spaces of a JSON object and holds it to its limit.
func compact(value json.RawMessage) (json.RawMessage, error) {
	var buf bytes.Buffer
	if err := json.Compact(&buf, value); err != nil || !bytes.HasPrefix(buf.Bytes(), []byte("{")) {
		return nil, tools.Errorf(tools.InvalidInput, "value must be a JSON object")
	}
	if buf.Len() > maxValue {
		return nil, tools.Errorf(ValueTooLarge, "value has %d bytes of compact JSON, the limit is %d", buf.Len(), maxValue).
			WithHint("split it over several keys")
	}
	return buf.Bytes(), nil
}
