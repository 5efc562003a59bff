package memory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/clock"
)

// Limits of an entry, of lists in calls and of answers.
const (
	maxKey       = 500       // characters
	maxNamespace = 100       // characters
	maxValue     = 256 << 10 // bytes of compact JSON; earlier versions stored up to 1 MiB

	maxMany     = 1000 // items of a list that a call may bring
	maxKeysRead = 100
	maxNamed    = 100 // keys and faults that an answer to a change names

	// maxAnswer bounds the bytes of an answer. A single entry is always
	// returned whole, so that each can be read.
	maxAnswer = 1<<20 - 16<<10

	// perEntry is the cost of an entry in an answer beside its key, namespace
	// and value, in bytes.
	perEntry = 128
)

// defaultNamespace is used where neither a call nor the service names one.
const defaultNamespace = "default"

// Codes of the family.
const (
	ValueTooLarge        = "VALUE_TOO_LARGE"
	ConfirmationRequired = "CONFIRMATION_REQUIRED"
)

// Service runs the memory actions. It is safe for concurrent use.
type Service struct {
	// Namespace is that of calls that name none; empty = default for those
	// of single entries, and all for those that look for entries.
	Namespace string

	store   Store
	now     func() time.Time
	indexed atomic.Bool // no entry is left that an earlier version indexed
}

// New returns a service over a store; now returns the time.
func New(store Store, now func() time.Time) *Service {
	return &Service{store: store, now: clock.Micros(now)}
}

// Store keeps a value under a key.
func (s *Service) Store(ctx context.Context, in StoreIn) (StoreOut, error) {
	raw := in.Value
	var text string
	if bytes.HasPrefix(raw, []byte{'"'}) && json.Unmarshal(raw, &text) == nil {
		// Hosts that list the value as text send objects and lists as text.
		inner := bytes.TrimSpace([]byte(text))
		if (bytes.HasPrefix(inner, []byte("{")) || bytes.HasPrefix(inner, []byte("["))) && json.Valid(inner) {
			raw = inner
		}
	}
	value, err := compact(raw)
	if err != nil {
		return StoreOut{}, err
	}
	e := Entry{Namespace: cmp.Or(in.Namespace, s.Namespace, defaultNamespace), Key: in.Key, Value: value, StoredAt: s.now()}
	e.Words = IndexText(e)
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

// compact removes the spaces between the tokens of a JSON value, keeps
// everything else as written, and refuses a value that is too large.
func compact(value json.RawMessage) (json.RawMessage, error) {
	var buf bytes.Buffer
	if err := json.Compact(&buf, value); err != nil {
		return nil, toolfold.Errorf(toolfold.InvalidInput, "value must be JSON")
	}
	if buf.Len() > maxValue {
		return nil, toolfold.Errorf(ValueTooLarge, "value has %d bytes of compact JSON, the limit is %d", buf.Len(), maxValue).
			WithHint("split it over several keys, or store it in a file and its path here")
	}
	return buf.Bytes(), nil
}

// Get reads an entry, or several.
func (s *Service) Get(ctx context.Context, in GetIn) (GetOut, error) {
	out := GetOut{Key: in.Key, Namespace: cmp.Or(in.Namespace, s.Namespace, defaultNamespace)}
	switch {
	case in.Key == "" && len(in.Keys) == 0:
		return out, (&toolfold.Error{Code: toolfold.InvalidInput, Problems: []toolfold.Problem{{Path: "/key", Kind: toolfold.ProblemMissing}}}).
			WithHint("give key, or keys to read several entries")
	case in.Key != "" && len(in.Keys) > 0:
		return out, toolfold.Errorf(toolfold.InvalidInput, "key and keys are both given").WithHint("give all of them in keys")
	case in.Key != "":
		e, found, err := s.store.Get(ctx, out.Namespace, in.Key)
		if err != nil {
			return GetOut{}, fmt.Errorf("reading entry: %w", err)
		}
		if !found {
			out.Message = "no such key; search or list finds the ones there are"
			return out, nil
		}
		out.Found, out.Value, out.StoredAt = true, e.Value, &e.StoredAt
		return out, nil
	}

	room := maxAnswer
	for _, key := range in.Keys {
		room -= encodedLen(key) + perEntry
	}
	seen := map[string]bool{}
	for i, key := range in.Keys {
		if seen[key] {
			continue
		}
		seen[key] = true
		e, found, err := s.store.Get(ctx, out.Namespace, key)
		if err != nil {
			return GetOut{}, fmt.Errorf("reading entry: %w", err)
		}
		if !found {
			out.Missing = append(out.Missing, key)
			continue
		}
		room -= len(e.Value)
		if room < 0 && len(out.Entries) > 0 {
			out.Left = in.Keys[i:]
			out.Message = "the entries of left did not fit into one answer: get them with another call"
			return out, nil
		}
		out.Entries = append(out.Entries, Kept{Key: key, Value: e.Value, StoredAt: e.StoredAt})
	}
	out.Found = len(out.Missing) == 0
	if !out.Found {
		out.Message = "some keys do not exist; search or list finds the ones there are"
	}
	return out, nil
}

// encodedLen returns an upper bound of the bytes of a text in JSON.
func encodedLen(text string) int { return 6*len(text) + 2 }

// Delete removes an entry.
func (s *Service) Delete(ctx context.Context, in DeleteIn) (DeleteOut, error) {
	out := DeleteOut{Key: in.Key, Namespace: cmp.Or(in.Namespace, s.Namespace, defaultNamespace), Message: "no such key"}
	deleted, err := s.store.Delete(ctx, out.Namespace, []string{in.Key})
	if err != nil {
		return DeleteOut{}, fmt.Errorf("deleting entry: %w", err)
	}
	if len(deleted) > 0 {
		out.Deleted, out.Message = true, "deleted"
	}
	return out, nil
}

// BulkDelete removes entries by key or by prefix, all of them or none.
func (s *Service) BulkDelete(ctx context.Context, in BulkDeleteIn) (BulkDeleteOut, error) {
	out := BulkDeleteOut{Namespace: cmp.Or(in.Namespace, s.Namespace, defaultNamespace), DeletedAt: s.now()}
	keys := slices.Compact(slices.Sorted(slices.Values(in.Keys)))
	var err error
	switch {
	case len(keys) > 0 && in.Prefix != "":
		return out, toolfold.Errorf(toolfold.InvalidInput, "keys and prefix are both given, and one of them is meant").
			WithHint("give keys to delete just these, or prefix to delete all keys that start with it")
	case len(keys) > 0:
		out.DeletedKeys, err = s.store.Delete(ctx, out.Namespace, keys)
		out.Deleted, out.NotFound = len(out.DeletedKeys), len(keys)-len(out.DeletedKeys)
		out.DeletedKeys = out.DeletedKeys[:min(len(out.DeletedKeys), maxNamed)]
	case in.Prefix != "":
		out.Deleted, out.DeletedKeys, err = s.store.DeleteAll(ctx, out.Namespace, in.Prefix, maxNamed)
	default:
		return out, toolfold.Errorf(toolfold.InvalidInput, "neither keys nor prefix is given").
			WithHint("give keys, or a prefix of at least one character; clear empties a namespace")
	}
	if err != nil {
		return BulkDeleteOut{}, fmt.Errorf("deleting entries: %w", err)
	}
	return out, nil
}

// Clear removes every entry of a namespace.
func (s *Service) Clear(ctx context.Context, in ClearIn) (ClearOut, error) {
	if !in.Confirm {
		return ClearOut{}, toolfold.Errorf(ConfirmationRequired, "clearing a namespace cannot be undone").
			WithHint("set confirm to true")
	}
	deleted, _, err := s.store.DeleteAll(ctx, in.Namespace, "", 0)
	if err != nil {
		return ClearOut{}, fmt.Errorf("clearing namespace: %w", err)
	}
	return ClearOut{deleted, in.Namespace, s.now()}, nil
}
