package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/toolfold/toolfold/tools"
)

// BulkDeleteIn names keys, or their prefix.
type BulkDeleteIn struct {
	Keys      []string `json:"keys"`
	Namespace string   `json:"namespace"`
	Prefix    string   `json:"prefix"`
}

// BulkDeleteOut tells what was removed.
type BulkDeleteOut struct {
	Deleted     int       `json:"deleted"`
	NotFound    int       `json:"notFound"`
	DeletedKeys []string  `json:"deletedKeys"`
	Namespace   string    `json:"namespace"`
	DeletedAt   time.Time `json:"deletedAt"`
}

// BulkDelete removes entries by key or by prefix, all of them or none.
func (s *Service) BulkDelete(ctx context.Context, in BulkDeleteIn) (BulkDeleteOut, error) {
	out := BulkDeleteOut{Namespace: orDefault(in.Namespace), DeletedAt: s.now()}
	keys := slices.Compact(slices.Sorted(slices.Values(in.Keys)))
	var err error
	switch {
	case len(keys) > 0 && in.Prefix != "":
		return out, tools.Errorf(tools.InvalidInput, "keys and prefix are both given, and one of them is meant").
			WithHint("give keys to delete just these, or prefix to delete all keys that start with it")
	case len(keys) > 0:
		out.DeletedKeys, err = s.store.Delete(ctx, out.Namespace, keys)
	case in.Prefix != "":
		out.DeletedKeys, err = s.store.DeleteAll(ctx, out.Namespace, in.Prefix)
	default:
		return out, tools.Errorf(tools.InvalidInput, "neither keys nor prefix is given").
			WithHint("give keys, or a prefix of at least one character; clear empties a namespace")
	}
	if err != nil {
		return BulkDeleteOut{}, fmt.Errorf("deleting entries: %w", err)
	}
	out.Deleted = len(out.DeletedKeys)
	if len(keys) > 0 {
		out.NotFound = len(keys) - out.Deleted
	}
	return out, nil
}

// ClearIn names a namespace.
type ClearIn struct {
	Namespace string `json:"namespace"`
	Confirm   bool   `json:"confirm"`
}

// ClearOut tells how much was removed.
type ClearOut struct {
	Cleared   int       `json:"cleared"`
	Namespace string    `json:"namespace"`
	ClearedAt time.Time `json:"clearedAt"`
}

// Clear removes every entry of a namespace.
func (s *Service) Clear(ctx context.Context, in ClearIn) (ClearOut, error) {
	if !in.Confirm {
		return ClearOut{}, tools.Errorf(ConfirmationRequired, "clearing a namespace cannot be undone").
			WithHint("set confirm to true")
	}
	deleted, err := s.store.DeleteAll(ctx, in.Namespace, "")
	if err != nil {
		return ClearOut{}, fmt.Errorf("clearing namespace: %w", err)
	}
	return ClearOut{len(deleted), in.Namespace, s.now()}, nil
}
