package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// VersionNotFound is the error code of restore if there is no such version.
const VersionNotFound = "VERSION_NOT_FOUND"

// maxVersionsNamed limits the version numbers in an error.
const maxVersionsNamed = 10

// previous describes the version of an entry that was replaced.
func previous(e *Entry) *Previous {
	return &Previous{Author: e.Author, StoredAt: e.StoredAt, Version: e.Version}
}

// days returns the retention time of versions in words.
func (h History) days() string { return english.Count(int(h.Age/(24*time.Hour)), "day", "days") }

// undo returns the way to restore deleted entries of a workspace; empty if there is none. Only the
// workspace itself can restore them.
func (s *Service) undo(ctx context.Context, workspace string) string {
	switch own := s.own(ctx); {
	case !s.History.On():
		return ""
	case workspace == own:
		return "memory.restore brings back deleted entries for " + s.History.days()
	case workspace == User:
		return "memory.restore with scope user brings back deleted entries for " + s.History.days()
	}
	return fmt.Sprintf("workspace %s can restore deleted entries for %s", workspace, s.History.days())
}

// Restore makes an earlier version of an entry the current one. Without a version number, an entry
// that was restored and not stored since stays unchanged, so that a repeated call has no effect.
func (s *Service) Restore(ctx context.Context, in RestoreIn) (RestoreOut, error) {
	own := s.own(ctx)
	owner, err := s.scoped(own, in.Scope)
	if err != nil {
		return RestoreOut{}, err
	}
	at := Place{cmp.Or(in.Namespace, s.Namespace, defaultNamespace), in.Key, owner}
	now := s.now()
	r, err := s.store.Restore(ctx, at, in.Version, Restorer{toolfold.OriginOf(ctx).Client, now, IndexText})
	if err != nil {
		return RestoreOut{}, fmt.Errorf("restoring entry: %w", err)
	}
	if r.From == 0 {
		return RestoreOut{}, s.noVersion(ctx, at, in.Version, now)
	}
	out := RestoreOut{Restored: r.Done, Key: at.Key, Namespace: at.Namespace, Workspace: foreign(own, at.Workspace), Version: r.From}
	switch {
	case !r.Done && in.Version == 0:
		out.Message = "nothing changed: an earlier version is what is stored now; version names another one"
	case !r.Done:
		out.Message = "that is what is stored now: nothing changed"
	default:
		out.Message = "restored"
		if r.Current != nil {
			out.Previous = previous(r.Current)
			out.Message = "restored; the version that was replaced can be restored too"
		}
		s.complete.Store(false)
		s.makeVectors()
	}
	s.expire(ctx, now)
	return out, nil
}

// noVersion returns the error for a missing version.
func (s *Service) noVersion(ctx context.Context, at Place, number int, now time.Time) error {
	scope := Scope{Namespace: at.Namespace, Key: at.Key, Workspace: at.Workspace, Now: now}
	list, err := s.store.Versions(ctx, scope, true, VersionPosition{}, maxVersionsNamed)
	if err != nil {
		return fmt.Errorf("listing versions: %w", err)
	}
	what := "no earlier version"
	if number > 0 {
		what = fmt.Sprintf("no version %d", number)
	}
	failure := toolfold.Errorf(VersionNotFound, "there is %s of %q in namespace %q of this workspace", what, shorten.Quoted(at.Key),
		at.Namespace)
	if at.Workspace == User {
		failure = toolfold.Errorf(VersionNotFound, "there is %s of %q in namespace %q of workspace user", what, shorten.Quoted(at.Key),
			at.Namespace)
	}
	if len(list) > 0 {
		var numbers []string
		for _, v := range list {
			numbers = append(numbers, strconv.Itoa(v.Number))
		}
		return failure.WithHint("there are versions %s", strings.Join(numbers, ", "))
	}
	if !s.History.On() {
		return failure.WithHint("the user has switched earlier versions off: memoryVersions or memoryVersionDays is 0")
	}
	scope.Except, scope.Workspace = at.Workspace, ""
	if list, err = s.store.Versions(ctx, scope, true, VersionPosition{}, 1); err != nil {
		return fmt.Errorf("listing versions: %w", err)
	}
	if len(list) > 0 && list[0].Workspace == User {
		return failure.WithHint("workspace user has earlier versions: scope user restores them")
	} else if len(list) > 0 && list[0].Workspace == s.own(ctx) {
		return failure.WithHint("this workspace has earlier versions: scope workspace restores them")
	} else if len(list) > 0 {
		return failure.WithHint("workspace %s has earlier versions, and only it can restore them; memory.get with workspace and "+
			"version reads them", list[0].Workspace)
	}
	return failure.WithHint("memory.list with history lists the earlier versions of all keys")
}

// maxVersionsRead limits how many versions of a key are looked through, for other workspaces or for the text of a file.
const maxVersionsRead = 100

// getVersion reads a version of an entry. Without a workspace it tries the caller's own, then
// workspace user, then the only other workspace that has the key or earlier versions of it.
func (s *Service) getVersion(ctx context.Context, in GetIn, out GetOut, now time.Time) (GetOut, error) {
	own := s.own(ctx)
	places := []string{own, User}
	var others []string
	if in.Workspace != "" {
		places = []string{s.workspace(ctx, in.Workspace, "")}
	} else if e, found, holders, err := s.find(ctx, Place{out.Namespace, in.Key, ""}, now); err != nil {
		return GetOut{}, err
	} else if found {
		places = append(places, e.Workspace)
	} else if others, err = s.withVersions(ctx, Scope{Namespace: out.Namespace, Key: in.Key, Except: own, Now: now}, holders); err != nil {
		return GetOut{}, err
	} else if len(others) == 1 {
		places = append(places, others[0])
	}
	for _, workspace := range places {
		at := Place{out.Namespace, in.Key, workspace}
		e, found, err := s.store.Get(ctx, at, now)
		if err == nil && (!found || e.Version != in.Version) {
			e, found, err = s.store.Version(ctx, at, in.Version, now)
		}
		if err != nil {
			return GetOut{}, fmt.Errorf("reading version: %w", err)
		}
		if found {
			out.show(own, e)
			return out, nil
		}
	}
	out.Message = "no such version; memory.list with history and the key as prefix lists the versions there are"
	if len(others) > 1 {
		out.Message = noSuchKey(others)
	}
	return out, nil
}

// withVersions adds the workspaces of the latest earlier versions of a scope to others, sorted.
func (s *Service) withVersions(ctx context.Context, scope Scope, others []string) ([]string, error) {
	list, err := s.store.Versions(ctx, scope, true, VersionPosition{}, maxVersionsRead)
	for _, v := range list {
		others = append(others, v.Workspace)
	}
	return slices.Compact(slices.Sorted(slices.Values(others))), wrap(err, "listing versions")
}

// listVersions lists the earlier versions of the entries of a scope.
func (s *Service) listVersions(ctx context.Context, scope Scope, in ListIn) (ListOut, error) {
	if len(scope.Tags) > 0 {
		return ListOut{}, toolfold.Errorf(toolfold.InvalidInput, "earlier versions are not found by tags").
			About(toolfold.ProblemRefused, "tags").WithHint("leave tags out; prefix, namespace and workspace narrow the list down")
	}
	after, err := parsePosition(in.Cursor, "list")
	if err != nil {
		return ListOut{}, err
	}
	own := s.own(ctx)
	parts := partsOf(scope, own)
	if after.Part < 0 || after.Part >= len(parts) {
		return ListOut{}, badCursor("is of a list with other parameters")
	}
	out := ListOut{Keys: []Item{}}
	if out.Total, err = s.store.CountVersions(ctx, scope); err != nil {
		return ListOut{}, fmt.Errorf("counting versions: %w", err)
	}
	if out.Total == 0 {
		out.Message = "no earlier versions are kept of that; memory.list without history lists the keys"
	}
	latest := in.Order == newest
	room := maxAnswer
	for part := after.Part; part < len(parts) && !out.HasMore; part++ {
		if part > after.Part {
			after = position{Part: part}
		}
		from := VersionPosition{Place: after.Place, Number: int(after.ID), Moment: after.moment()}
		list, err := s.store.Versions(ctx, parts[part], latest, from, in.Limit-len(out.Keys)+1)
		if err != nil {
			return ListOut{}, fmt.Errorf("listing versions: %w", err)
		}
		for _, v := range list {
			room -= v.encodedLen() + encodedLen(v.Author) + perEntry
			if len(out.Keys) == in.Limit || room < 0 {
				out.HasMore, out.NextCursor = true, after.cursor()
				break
			}
			out.Keys = append(out.Keys, Item{
				Key: v.Key, Namespace: v.Namespace, StoredAt: v.StoredAt, Labels: labels(own, v.Tags, v.Workspace, v.ExpiresAt),
				Version: v.Number, Author: v.Author, Size: v.Size, ReplacedAt: &v.ReplacedAt, Deleted: v.Deleted,
			})
			if v.Workspace != own && v.Workspace != User && out.Message == "" {
				out.Message = ofOthers
			}
			after = position{Place: Place{v.Namespace, v.Key, v.Workspace}, ID: int64(v.Number), Part: part}
			if latest {
				after = position{StoredAt: v.ReplacedAt.UnixMicro(), ID: v.ID, Part: part}
			}
		}
	}
	return out, nil
}
