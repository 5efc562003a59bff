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
	"github.com/toolfold/toolfold/ask"
	"github.com/toolfold/toolfold/internal/system/clock"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Limits of an entry, of lists in calls and of answers.
const (
	maxKey       = 500       // characters
	maxNamespace = 100       // characters
	maxValue     = 256 << 10 // bytes of compact JSON; earlier versions stored up to 1 MiB

	maxMany     = 1000 // items of a list that a call may bring
	maxKeysRead = 100
	maxNamed    = 100 // keys and faults that an answer to a change names
	maxTags     = 20  // of an entry

	maxTTL = 10 * 366 * 24 * 3600 * 1000 // milliseconds, ten years

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
	KeyExists            = "KEY_EXISTS"
)

// Service runs the memory actions. It is safe for concurrent use.
type Service struct {
	// Namespace is that of calls that name none; empty = default for calls
	// on single entries, and all for calls that look for entries.
	Namespace string

	// Workspace is the name of the workspace that entries are stored from. Search
	// prefers its entries; empty prefers none.
	Workspace string

	// Vectors makes vectors of entries, by which search finds them in other words; nil:
	// it goes by words only.
	Vectors Embedder

	store    Store
	now      func() time.Time
	complete atomic.Bool  // no entry lacked its vector when that was last looked at, and none was stored here since
	making   atomic.Bool  // vectors are being made
	indexed  atomic.Bool  // no entry is left that an earlier version indexed
	expired  atomic.Int64 // when expired entries were last removed, in milliseconds since 1970
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
	e := Entry{
		Namespace: cmp.Or(in.Namespace, s.Namespace, defaultNamespace), Key: in.Key, Value: value,
		Tags: tagSet(in.Tags), Workspace: s.Workspace, StoredAt: s.now(),
	}
	if in.TTLMs > 0 {
		e.ExpiresAt = e.StoredAt.Add(time.Duration(in.TTLMs) * time.Millisecond)
	}
	e.Words = IndexText(e)
	out := StoreOut{Success: true, Key: e.Key, Namespace: e.Namespace, Message: "stored", ExpiresAt: maybe(e.ExpiresAt)}
	if in.IfAbsent {
		added, err := s.store.Add(ctx, e)
		if err == nil && !added {
			err = toolfold.Errorf(KeyExists, "%q exists in namespace %q; nothing was stored", shorten.Quoted(e.Key), e.Namespace).
				WithHint("memory.get shows it; without ifAbsent its entry is replaced")
		}
		if err != nil {
			return StoreOut{}, fmt.Errorf("storing entry: %w", err)
		}
	} else {
		if out.Replaced, err = s.store.Put(ctx, e); err != nil {
			return StoreOut{}, fmt.Errorf("storing entry: %w", err)
		}
		if out.Replaced {
			out.Message = "stored; the earlier value is replaced"
		}
	}
	s.complete.Store(false)
	s.makeVectors()
	s.expire(ctx, e.StoredAt)
	return out, nil
}

// tagSet returns tags as an entry has them: sorted, each once.
func tagSet(tags []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(tags)))
}

// maybe returns nil for the zero time.
func maybe(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Expired entries are removed a batch at a time, when entries are stored: at
// most once in a pause, and with the next call where more are left.
const (
	expireBatch = 200
	expirePause = time.Minute
)

// expire removes expired entries. No reader sees them anyway, so that an error
// is none of the caller's: the next call tries again.
func (s *Service) expire(ctx context.Context, now time.Time) {
	last := s.expired.Load()
	if now.UnixMilli() < last+expirePause.Milliseconds() || !s.expired.CompareAndSwap(last, now.UnixMilli()) {
		return
	}
	if removed, err := s.store.Expire(ctx, now, expireBatch); err != nil || removed == expireBatch {
		s.expired.Store(0)
	}
}

// elsewhere returns the name of another workspace than this one, empty for this
// one.
func (s *Service) elsewhere(workspace string) string {
	if workspace == s.Workspace {
		return ""
	}
	return workspace
}

// workspace returns the workspace that a filter names.
func (s *Service) workspace(filter string) string {
	if filter == "." {
		return s.Workspace
	}
	return filter
}

// compact removes the spaces between the tokens of a JSON value, keeps
// everything else as written, and refuses a value that is too large.
func compact(value json.RawMessage) (json.RawMessage, error) {
	var buf bytes.Buffer
	if err := json.Compact(&buf, value); err != nil {
		return nil, toolfold.Errorf(toolfold.InvalidInput, "value must be JSON").About(toolfold.ProblemRefused, "value")
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
		return out, toolfold.Errorf(toolfold.InvalidInput, "key and keys are both given").
			About(toolfold.ProblemRefused, "key", "keys").WithHint("give all of them in keys")
	case in.Key != "":
		e, found, err := s.store.Get(ctx, Place{out.Namespace, in.Key}, s.now())
		if err != nil {
			return GetOut{}, fmt.Errorf("reading entry: %w", err)
		}
		if !found {
			out.Message = "no such key; search or list finds the ones there are"
			return out, nil
		}
		out.Found, out.Value, out.StoredAt, out.Labels = true, e.Value, &e.StoredAt, s.labels(e.Tags, e.Workspace, e.ExpiresAt)
		return out, nil
	}

	now := s.now()
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
		e, found, err := s.store.Get(ctx, Place{out.Namespace, key}, now)
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
		out.Entries = append(out.Entries, Kept{key, e.Value, e.StoredAt, s.labels(e.Tags, e.Workspace, e.ExpiresAt)})
	}
	out.Found = len(out.Missing) == 0
	if !out.Found {
		out.Message = "some keys do not exist; search or list finds the ones there are"
	}
	return out, nil
}

// labels returns what is shown of an entry beside its key and value.
func (s *Service) labels(tags []string, workspace string, expiresAt time.Time) Labels {
	return Labels{tags, s.elsewhere(workspace), maybe(expiresAt)}
}

// encodedLen returns an upper bound of the bytes of a text in JSON.
func encodedLen(text string) int { return 6*len(text) + 2 }

// maxAsked bounds the keys that a user is shown who is asked to agree.
const maxAsked = 5

// Delete removes an entry.
func (s *Service) Delete(ctx context.Context, in DeleteIn) (DeleteOut, error) {
	out := DeleteOut{Key: in.Key, Namespace: cmp.Or(in.Namespace, s.Namespace, defaultNamespace), Message: "no such key"}
	remove := s.store.Delete
	if in.DryRun {
		remove = s.store.Existing
	}
	found, err := remove(ctx, Scope{Namespace: out.Namespace, Now: s.now()}, []string{in.Key})
	switch {
	case err != nil:
		return DeleteOut{}, fmt.Errorf("deleting entry: %w", err)
	case in.DryRun:
		out.WouldDelete = new(len(found))
		if len(found) > 0 {
			out.Message = "exists; nothing was deleted"
		}
	case len(found) > 0:
		out.Deleted, out.Message = true, "deleted"
	}
	return out, nil
}

// confirmDeletion asks the user whether to delete keys, or all that a scope has where
// there are none: where these are more entries than some, and there is a user to ask.
func (s *Service) confirmDeletion(ctx context.Context, scope Scope, keys []string, some int) (err error) {
	if !ask.CanAsk(ctx) {
		return nil
	}
	count, which := 0, "all of them"
	if len(keys) > 0 {
		keys, err = s.store.Existing(ctx, scope, keys)
		count, which = len(keys), fmt.Sprintf("%q", keys[:min(len(keys), maxAsked)])
	} else {
		count, err = s.store.Count(ctx, scope)
	}
	if err != nil {
		return fmt.Errorf("counting entries: %w", err)
	}
	if count <= some {
		return nil
	}
	if scope.Prefix != "" {
		which = fmt.Sprintf("those that begin with %q", scope.Prefix)
	}
	if len(keys) > maxAsked {
		which += " and others"
	}
	return ask.Confirm(ctx, fmt.Sprintf("Delete %d entries from namespace %q of memory, %s? This cannot be undone.", count, scope.Namespace,
		which), "deleted")
}

// BulkDelete removes entries by key or by prefix, all of them or none.
func (s *Service) BulkDelete(ctx context.Context, in BulkDeleteIn) (BulkDeleteOut, error) {
	now := s.now()
	scope := Scope{Namespace: cmp.Or(in.Namespace, s.Namespace, defaultNamespace), Prefix: in.Prefix, Now: now}
	out := BulkDeleteOut{Namespace: scope.Namespace, DeletedAt: now, DeletedKeys: []string{}}
	keys := slices.Compact(slices.Sorted(slices.Values(in.Keys)))
	if !in.DryRun && (len(keys) > 0) != (in.Prefix != "") {
		if err := s.confirmDeletion(ctx, scope, keys, 1); err != nil {
			return BulkDeleteOut{}, err
		}
	}
	var found int
	var first []string
	var err error
	switch {
	case len(keys) > 0 && in.Prefix != "":
		return out, toolfold.Errorf(toolfold.InvalidInput, "keys and prefix are both given, and one of them is meant").
			About(toolfold.ProblemRefused, "keys", "prefix").
			WithHint("give keys to delete just these, or prefix to delete all keys that start with it")
	case len(keys) > 0:
		remove := s.store.Delete
		if in.DryRun {
			remove = s.store.Existing
		}
		first, err = remove(ctx, scope, keys)
		found, out.NotFound = len(first), len(keys)-len(first)
		first = first[:min(len(first), maxNamed)]
	case in.Prefix != "" && in.DryRun:
		var headings []Heading
		if headings, err = s.store.Headings(ctx, scope, Page{Limit: maxNamed}); err == nil {
			found, err = s.store.Count(ctx, scope)
		}
		for _, h := range headings {
			first = append(first, h.Key)
		}
	case in.Prefix != "":
		found, first, err = s.store.DeleteAll(ctx, scope, maxNamed)
	default:
		return out, toolfold.Errorf(toolfold.InvalidInput, "neither keys nor prefix is given").About(toolfold.ProblemMissing, "keys").
			WithHint("give keys, or a prefix of at least one character; clear empties a namespace")
	}
	if err != nil {
		return BulkDeleteOut{}, fmt.Errorf("deleting entries: %w", err)
	}
	if in.DryRun {
		out.WouldDelete, out.Keys, out.Message = &found, first, "nothing was deleted"
	} else {
		out.Deleted, out.DeletedKeys = found, first
	}
	return out, nil
}

// Clear removes every entry of a namespace.
func (s *Service) Clear(ctx context.Context, in ClearIn) (ClearOut, error) {
	if !in.Confirm && ask.CanAsk(ctx) {
		if err := s.confirmDeletion(ctx, Scope{Namespace: in.Namespace, Now: s.now()}, nil, 0); err != nil {
			return ClearOut{}, err
		}
	} else if !in.Confirm {
		return ClearOut{}, toolfold.Errorf(ConfirmationRequired, "clearing a namespace cannot be undone").
			WithHint("set confirm to true")
	}
	out := ClearOut{Namespace: in.Namespace, ClearedAt: s.now()}
	var err error
	if out.Cleared, _, err = s.store.DeleteAll(ctx, Scope{Namespace: in.Namespace, Now: out.ClearedAt}, 0); err != nil {
		return ClearOut{}, fmt.Errorf("clearing namespace: %w", err)
	}
	if out.Cleared == 0 {
		out.Message = fmt.Sprintf("there is no namespace %q; memory.stats lists those there are", in.Namespace)
	}
	return out, nil
}
