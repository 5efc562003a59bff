package memory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/ask"
	"github.com/toolfold/toolfold/internal/system/clock"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Limits of entries, lists in calls and responses.
const (
	maxKey       = 500       // characters
	maxNamespace = 100       // characters
	maxValue     = 256 << 10 // bytes of compact JSON; earlier versions stored up to 1 MiB

	maxMany     = 1000   // items of a list in a call
	maxImport   = 30_000 // entries of an import, and of an export to the shell
	maxValues   = 99_000 // JSON values of the entries of an export: a call takes 100,000, and so does an import of them
	maxKeysRead = 100
	maxNamed    = 100 // keys and errors in the result of a change
	maxTags     = 20  // of an entry
	maxDepth    = 195 // levels of an imported value; arguments have 200, with those above a value

	maxTTL = 10 * 366 * 24 * 3600 * 1000 // milliseconds, ten years

	// maxAnswer limits a response, in bytes. A single entry is always returned whole, so that every
	// entry can be read.
	maxAnswer = 1<<20 - 16<<10

	// perEntry is the size of an entry in a response without its key, namespace and value, in
	// bytes.
	perEntry = 128
)

// defaultNamespace is used if neither the call nor the service has a namespace.
const defaultNamespace = "default"

// Error codes of the family.
const (
	ValueTooLarge        = "VALUE_TOO_LARGE"
	ConfirmationRequired = "CONFIRMATION_REQUIRED"
	KeyExists            = "KEY_EXISTS"
)

// Service runs the memory actions. It is safe for concurrent use.
type Service struct {
	// Folder is the workspace's folder, for files to import; empty = there are no files.
	Folder string

	// Namespace is the namespace of calls without one. If it is empty, calls on single entries use
	// "default", and searches and lists cover all namespaces.
	Namespace string

	// Workspace is the workspace of entries, unless a call names another; empty means a workspace
	// called server. Its entries come before all other entries.
	Workspace string

	// ByCaller makes entries belong to the caller instead of the workspace, if its token has a
	// name. It is for servers whose callers share no workspace.
	ByCaller bool

	// ForAll stores entries for all workspaces, unless a call has another scope.
	ForAll bool

	// History is the store's retention of earlier versions. It is used only in messages.
	History History

	// Vectors creates vectors of entries, by which search also finds them by meaning; nil = search
	// by words only.
	Vectors Embedder

	// Files has the notes of the own workspace as files; nil = only the store has notes.
	Files *Files

	// Caller runs session.list, by which search also finds sessions; nil = no sessions.
	Caller toolfold.Caller

	store    Store
	now      func() time.Time
	complete atomic.Bool  // every entry had its vector at the last check, and this process has stored no entry since
	making   atomic.Bool  // vectors are being created
	indexed  atomic.Bool  // no entry with words of an earlier version is left
	expired  atomic.Int64 // last removal of expired entries, in milliseconds since 1970
}

// New returns a service over a store; now returns the time.
func New(store Store, now func() time.Time) *Service {
	return &Service{store: store, now: clock.Micros(now)}
}

// Store stores a value under a key.
func (s *Service) Store(ctx context.Context, in StoreIn) (StoreOut, error) {
	raw := in.Value
	var text string
	if bytes.HasPrefix(raw, []byte{'"'}) && json.Unmarshal(raw, &text) == nil {
		// Some hosts declare the value as text, and send objects and lists as text.
		inner := bytes.TrimSpace([]byte(text))
		if (bytes.HasPrefix(inner, []byte("{")) || bytes.HasPrefix(inner, []byte("["))) && json.Valid(inner) {
			raw = inner
		}
	}
	value, err := compact(raw)
	if err != nil {
		return StoreOut{}, err
	}
	if in.TTLMs != nil && *in.TTLMs < 0 {
		return StoreOut{}, toolfold.Errorf(toolfold.InvalidInput, "ttlMs must not be negative").About(toolfold.ProblemRefused, "ttlMs").
			WithHint("0 is no end; without ttlMs an entry that is replaced keeps its own")
	}
	own := s.own(ctx)
	owner, err := s.scoped(own, in.Scope)
	if err != nil {
		return StoreOut{}, err
	}
	e := Entry{
		Namespace: cmp.Or(in.Namespace, s.Namespace, defaultNamespace), Key: in.Key, Value: value,
		Tags: tagSet(in.Tags), Workspace: owner, Author: toolfold.OriginOf(ctx).Client, StoredAt: s.now(),
	}
	if in.TTLMs != nil && *in.TTLMs > 0 {
		e.ExpiresAt = e.StoredAt.Add(time.Duration(*in.TTLMs) * time.Millisecond)
	}
	e.Words = IndexText(e)
	out := StoreOut{Success: true, Key: e.Key, Namespace: e.Namespace, Message: "stored", ExpiresAt: maybe(e.ExpiresAt),
		Workspace: foreign(own, e.Workspace)}
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
		old, err := s.store.Put(ctx, e, func(e, old Entry) Entry {
			if in.Tags == nil {
				e.Tags = old.Tags
			}
			if in.TTLMs == nil {
				e.ExpiresAt = old.ExpiresAt
			}
			e.Words = IndexText(e)
			return e
		})
		if err != nil {
			return StoreOut{}, fmt.Errorf("storing entry: %w", err)
		}
		switch {
		case old != nil:
			out.Replaced, out.Previous = true, previous(old)
			out.Message = "stored; the earlier value is replaced"
			if bytes.Equal(old.Value, e.Value) && (in.Tags == nil || slices.Equal(old.Tags, e.Tags)) {
				out.Message = "stored; it is the same as before"
			}
			if in.Tags == nil && len(old.Tags) > 0 {
				out.Tags = old.Tags
				out.Message += "; its tags stay, [] removes them"
			}
			if in.TTLMs == nil && !old.ExpiresAt.IsZero() {
				out.ExpiresAt = &old.ExpiresAt
				out.Message += "; its expiry stays, ttlMs 0 removes it"
			}
		case e.Workspace != User:
			_, forAll, err := s.store.Get(ctx, Place{e.Namespace, e.Key, User}, e.StoredAt)
			if err != nil {
				return StoreOut{}, fmt.Errorf("looking for an entry of all workspaces: %w", err)
			}
			if forAll {
				out.Message = "stored for this workspace; the entry of workspace user stays as it is (scope user replaces it)"
			}
		}
	}
	s.complete.Store(false)
	s.makeVectors()
	s.expire(ctx, e.StoredAt)
	return out, nil
}

// scoped returns the workspace of an entry that is stored with a scope.
func (s *Service) scoped(own, scope string) (workspace string, err error) {
	switch {
	case scope != "" && scope != scopeWorkspace && scope != scopeUser:
		return "", toolfold.Errorf(toolfold.InvalidInput, "scope must be workspace or user, got %q", scope).
			About(toolfold.ProblemRefused, "scope").WithHint("user means the entry of all workspaces; workspace the one of this workspace")
	case scope == scopeUser || scope == "" && s.ForAll:
		return User, nil
	}
	return own, nil
}

// tagSet returns tags in the form of entries: sorted, each once.
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

// Expired entries are removed in batches by calls that change entries: at most once in a pause, or
// with the next call if more are left.
const (
	expireBatch = 200
	expirePause = time.Minute
)

// expire removes expired entries. It returns no error, because readers do not see these entries
// anyway, and the next call tries again.
func (s *Service) expire(ctx context.Context, now time.Time) {
	last := s.expired.Load()
	if now.UnixMilli() < last+expirePause.Milliseconds() || !s.expired.CompareAndSwap(last, now.UnixMilli()) {
		return
	}
	if removed, err := s.store.Expire(ctx, now, expireBatch); err != nil || removed == expireBatch {
		s.expired.Store(0)
	}
}

// own returns the workspace of the caller's entries.
func (s *Service) own(ctx context.Context) string {
	return Own(ctx, s.Workspace, s.ByCaller)
}

// Own returns the workspace of the caller's entries, see [Service.Workspace] and
// [Service.ByCaller].
func Own(ctx context.Context, workspace string, byCaller bool) string {
	if name := toolfold.OriginOf(ctx).Caller; byCaller && name != "" {
		return "caller:" + name
	}
	return cmp.Or(workspace, "server")
}

// foreign returns the name of a workspace, or an empty string for the caller's own.
func foreign(own, workspace string) string {
	if workspace == own {
		return ""
	}
	return workspace
}

// workspace returns the workspace that a filter names, or otherwise if the filter is empty. The
// filter "." is the caller's own.
func (s *Service) workspace(ctx context.Context, filter, otherwise string) string {
	if filter == "." {
		return s.own(ctx)
	}
	return cmp.Or(filter, otherwise)
}

// compact removes the spaces between the tokens of a JSON value and leaves everything else
// unchanged. A value that is too large is an error.
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
	own, now := s.own(ctx), s.now()
	switch {
	case in.Key == "" && len(in.Keys) == 0:
		return out, (&toolfold.Error{Code: toolfold.InvalidInput, Problems: []toolfold.Problem{{Path: "/key", Kind: toolfold.ProblemMissing}}}).
			WithHint("give key, or keys to read several entries")
	case in.Key != "" && len(in.Keys) > 0:
		return out, toolfold.Errorf(toolfold.InvalidInput, "key and keys are both given").
			About(toolfold.ProblemRefused, "key", "keys").WithHint("give all of them in keys")
	case in.Version > 0 && in.Key == "":
		return out, toolfold.Errorf(toolfold.InvalidInput, "version is of one key, and keys has several").
			About(toolfold.ProblemRefused, "version").WithHint("give key and version to read an earlier version")
	case in.Version > 0:
		return s.getVersion(ctx, in, out, now)
	case in.Key != "":
		e, found, others, err := s.find(ctx, Place{out.Namespace, in.Key, in.Workspace}, now)
		if err != nil {
			return GetOut{}, err
		}
		if !found {
			out.Message = noSuchKey(others)
			return out, nil
		}
		out.show(own, e)
		if out.Workspace != "" && out.Workspace != User {
			out.Message = "this workspace has no such key: the entry belongs to another one, not to this project"
		}
		return out, nil
	}

	room := maxAnswer
	for _, key := range in.Keys {
		room -= encodedLen(key) + perEntry
	}
	seen, elsewhere := map[string]bool{}, false
	for i, key := range in.Keys {
		if seen[key] {
			continue
		}
		seen[key] = true
		e, found, others, err := s.find(ctx, Place{out.Namespace, key, in.Workspace}, now)
		if err != nil {
			return GetOut{}, err
		}
		if !found {
			out.Missing = append(out.Missing, key)
			elsewhere = elsewhere || len(others) > 0
			continue
		}
		room -= len(e.Value)
		if room < 0 && len(out.Entries) > 0 {
			out.Left = in.Keys[i:]
			out.Message = "the entries of left did not fit into one answer: get them with another call"
			return out, nil
		}
		out.Entries = append(out.Entries, GetItem{key, e.Value, e.StoredAt, labels(own, e.Tags, e.Workspace, e.ExpiresAt)})
	}
	out.Found = len(out.Missing) == 0
	if !out.Found {
		out.Message = "some keys do not exist; search or list finds the ones there are"
	}
	if elsewhere {
		out.Message = "of the missing keys some are in several other workspaces: get each with key alone to see which"
	}
	return out, nil
}

// show copies an entry into the result.
func (out *GetOut) show(own string, e Entry) {
	out.Found, out.Value, out.StoredAt, out.Version = true, e.Value, &e.StoredAt, e.Version
	out.Labels = labels(own, e.Tags, e.Workspace, e.ExpiresAt)
}

// find returns the entry at a place. If the place has no workspace, find tries the caller's own,
// then workspace user, then the only other workspace that has the key. If several other workspaces
// have it, it returns their names.
func (s *Service) find(ctx context.Context, at Place, now time.Time) (e Entry, found bool, others []string, err error) {
	named := at.Workspace != ""
	at.Workspace = s.workspace(ctx, at.Workspace, s.own(ctx))
	e, found, err = s.store.Get(ctx, at, now)
	if err != nil || found || named {
		return e, found, nil, wrap(err, "reading entry")
	}
	if others, err = s.holders(ctx, at, now); err != nil || len(others) == 0 {
		return e, false, nil, err
	}
	switch {
	case slices.Contains(others, User):
		at.Workspace = User
	case len(others) == 1:
		at.Workspace = others[0]
	default:
		return e, false, others, nil
	}
	e, found, err = s.store.Get(ctx, at, now)
	return e, found, nil, wrap(err, "reading entry")
}

// holders returns the other workspaces that have the key of a place, sorted.
func (s *Service) holders(ctx context.Context, at Place, now time.Time) (workspaces []string, err error) {
	headings, err := s.store.Headings(ctx, Scope{Namespace: at.Namespace, Key: at.Key, Except: at.Workspace, Now: now}, Page{})
	for _, h := range headings {
		workspaces = append(workspaces, h.Workspace)
	}
	return workspaces, wrap(err, "looking for the key in other workspaces")
}

// noSuchKey returns the message for a missing key, with the other workspaces that have it.
func noSuchKey(others []string) string {
	if len(others) == 0 {
		return "no such key; search or list finds the ones there are"
	}
	more := ""
	if len(others) > maxNamed {
		more = fmt.Sprintf(" and %d others", len(others)-maxNamed)
	}
	return fmt.Sprintf("no such key in this workspace; name one of these, which have it, as workspace: %s%s",
		strings.Join(others[:min(len(others), maxNamed)], ", "), more)
}

func wrap(err error, doing string) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// labels returns the labels of an entry. Own is the caller's workspace.
func labels(own string, tags []string, workspace string, expiresAt time.Time) Labels {
	return Labels{tags, foreign(own, workspace), maybe(expiresAt)}
}

// encodedLen returns an upper bound for the bytes of a text in JSON.
func encodedLen(text string) int { return 6*len(text) + 2 }

// maxNamedKeys limits the keys in a question to the user.
const maxNamedKeys = 5

// Delete removes an entry.
func (s *Service) Delete(ctx context.Context, in DeleteIn) (DeleteOut, error) {
	own, now := s.own(ctx), s.now()
	at := Place{cmp.Or(in.Namespace, s.Namespace, defaultNamespace), in.Key, s.workspace(ctx, in.Workspace, own)}
	out := DeleteOut{Key: in.Key, Namespace: at.Namespace, Workspace: foreign(own, at.Workspace)}
	remove := s.store.Delete
	if in.DryRun {
		remove = s.store.Existing
	}
	if in.Purge && !in.DryRun {
		remove = func(ctx context.Context, scope Scope, keys []string) ([]string, error) {
			purged, err := s.store.Purge(ctx, scope, keys, 1)
			out.Purged = purged.Versions
			return purged.Keys, err
		}
	}
	found, err := remove(ctx, Scope{Namespace: at.Namespace, Workspace: at.Workspace, Now: now}, []string{in.Key})
	switch {
	case err != nil:
		return DeleteOut{}, fmt.Errorf("deleting entry: %w", err)
	case in.DryRun:
		out.WouldDelete = new(len(found))
		if len(found) > 0 {
			out.Message = "exists; nothing was deleted"
		}
		if in.Purge {
			out.Message = strings.TrimPrefix(out.Message+"; without dryRun, purge removes earlier versions too", "; ")
		}
	case len(found) > 0:
		out.Deleted, out.Message = true, "deleted"
		if undo := s.undo(ctx, at.Workspace); undo != "" && !in.Purge {
			out.Message += "; " + undo
		}
	}
	s.expire(ctx, now)
	if len(found) == 0 && out.Purged > 0 {
		out.Message = "the entry was deleted before; now its earlier versions are removed too"
	} else if len(found) == 0 {
		others, err := s.holders(ctx, at, now)
		if err != nil {
			return DeleteOut{}, err
		}
		out.Message = noSuchKey(others)
	}
	return out, nil
}

// confirmDeletion asks the user whether to delete keys, or everything in a scope if keys is empty.
// Purge deletes earlier versions too, also of entries that were deleted before. It asks only if
// these are more than some entries and versions, and the client can ask its user.
func (s *Service) confirmDeletion(ctx context.Context, scope Scope, keys []string, some int, purge bool) (err error) {
	if !ask.CanAsk(ctx) {
		return nil
	}
	count, versions, which := 0, 0, "all of them"
	switch {
	case len(keys) > 0 && purge:
		count, which = len(keys), fmt.Sprintf("%q", keys[:min(len(keys), maxNamedKeys)])
	case len(keys) > 0:
		keys, err = s.store.Existing(ctx, scope, keys)
		count, which = len(keys), fmt.Sprintf("%q", keys[:min(len(keys), maxNamedKeys)])
	default:
		if count, err = s.store.Count(ctx, scope); err == nil && purge {
			versions, err = s.store.CountVersions(ctx, scope)
		}
	}
	if err != nil {
		return fmt.Errorf("counting entries: %w", err)
	}
	if count+versions <= some {
		return nil
	}
	if scope.Prefix != "" {
		which = fmt.Sprintf("those that begin with %q", scope.Prefix)
	}
	if len(keys) > maxNamedKeys {
		which += " and others"
	}
	what, place, undo := fmt.Sprintf("%d entries", count), fmt.Sprintf("namespace %q of memory", scope.Namespace), "This cannot be undone."
	if scope.Workspace != "" {
		place += fmt.Sprintf(" in workspace %q", scope.Workspace)
	}
	switch way := s.undo(ctx, scope.Workspace); {
	case purge && len(keys) > 0:
		what += " and all their earlier versions"
	case purge:
		what += fmt.Sprintf(" and %d earlier versions", versions)
	case way != "":
		undo = strings.ToUpper(way[:1]) + way[1:] + "."
	}
	return ask.Confirm(ctx, fmt.Sprintf("Delete %s from %s, %s? %s", what, place, which, undo), "deleted")
}

// BulkDelete removes entries by key or by prefix, all of them or none.
func (s *Service) BulkDelete(ctx context.Context, in BulkDeleteIn) (BulkDeleteOut, error) {
	now := s.now()
	scope := Scope{Namespace: cmp.Or(in.Namespace, s.Namespace, defaultNamespace), Prefix: in.Prefix,
		Workspace: s.workspace(ctx, in.Workspace, s.own(ctx)), Now: now}
	out := BulkDeleteOut{Namespace: scope.Namespace, DeletedAt: now, DeletedKeys: []string{}}
	keys := slices.Compact(slices.Sorted(slices.Values(in.Keys)))
	if !in.DryRun && (len(keys) > 0) != (in.Prefix != "") {
		if err := s.confirmDeletion(ctx, scope, keys, 1, in.Purge); err != nil {
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
	case (len(keys) > 0 || in.Prefix != "") && in.Purge && !in.DryRun:
		purged, failed := s.store.Purge(ctx, scope, keys, maxNamed)
		found, first, out.Purged, err = purged.Entries, purged.Keys, purged.Versions, failed
		out.NotFound = max(0, len(keys)-found)
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
		if in.Purge {
			out.Message += "; without dryRun, purge removes earlier versions too"
		}
		return out, nil
	}
	out.Deleted, out.DeletedKeys = found, first
	s.expire(ctx, now)
	return out, nil
}

// Clear removes every entry of a namespace that belongs to the workspace.
func (s *Service) Clear(ctx context.Context, in ClearIn) (ClearOut, error) {
	scope := Scope{Namespace: in.Namespace, Workspace: s.workspace(ctx, in.Workspace, s.own(ctx)), Now: s.now()}
	if !in.Confirm && ask.CanAsk(ctx) {
		if err := s.confirmDeletion(ctx, scope, nil, 0, in.Purge); err != nil {
			return ClearOut{}, err
		}
	} else if !in.Confirm {
		return ClearOut{}, toolfold.Errorf(ConfirmationRequired, "clearing a namespace removes all its entries").
			WithHint("set confirm to true")
	}
	out := ClearOut{Namespace: in.Namespace, ClearedAt: scope.Now}
	var err error
	if in.Purge {
		purged, failed := s.store.Purge(ctx, scope, nil, 0)
		out.Cleared, out.Purged, err = purged.Entries, purged.Versions, failed
	} else {
		out.Cleared, _, err = s.store.DeleteAll(ctx, scope, 0)
	}
	if err != nil {
		return ClearOut{}, fmt.Errorf("clearing namespace: %w", err)
	}
	s.expire(ctx, scope.Now)
	rest, err := s.store.Count(ctx, Scope{Namespace: in.Namespace, Except: scope.Workspace, Now: scope.Now})
	switch {
	case err != nil:
		return ClearOut{}, fmt.Errorf("counting entries: %w", err)
	case rest > 0:
		out.Message = fmt.Sprintf("%d entries of other workspaces stay: memory.list shows them, workspace names one to clear", rest)
	case out.Cleared+out.Purged == 0:
		out.Message = fmt.Sprintf("there is no namespace %q; memory.stats lists those there are", in.Namespace)
	}
	return out, nil
}
