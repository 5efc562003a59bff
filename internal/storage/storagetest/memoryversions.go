package storagetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/memory"
)

var (
	lastTen = memory.History{Versions: 10, Age: 24 * time.Hour}
	noteK   = memory.Place{Namespace: "n", Key: "k"}
)

// putAt stores an entry n microseconds after noon and returns the entry that it replaced.
func putAt(t *testing.T, s memory.Store, key, value string, n int) *memory.Entry {
	t.Helper()
	e := entry("n", key, value)
	e.StoredAt, e.Author = noon.Add(time.Duration(n)*time.Microsecond), fmt.Sprint("writer ", n)
	old, err := s.Put(t.Context(), worded(e)[0], nil)
	noError(t, err)
	return old
}

// versions lists the versions of a scope as key@number=size.
func versions(t *testing.T, s memory.Store, scope memory.Scope, latest bool) []string {
	t.Helper()
	if scope.Now.IsZero() {
		scope.Now = noon.Add(time.Hour)
	}
	list := []string{}
	var after memory.VersionPosition
	for {
		page, err := s.Versions(t.Context(), scope, latest, after, 2)
		noError(t, err)
		for _, v := range page {
			text := fmt.Sprintf("%s@%d=%d", v.Key, v.Number, v.Size)
			if v.Deleted {
				text += " deleted"
			}
			list = append(list, text)
			after = memory.VersionPosition{Place: memory.Place{Namespace: v.Namespace, Key: v.Key, Workspace: v.Workspace}, Number: v.Number,
				Moment: memory.Moment{StoredAt: v.ReplacedAt, ID: v.ID}}
		}
		if len(page) < 2 {
			break
		}
	}
	n, err := s.CountVersions(t.Context(), scope)
	noError(t, err)
	equal(t, n, len(list))
	return list
}

// restore restores a version, an hour after noon.
func restore(t *testing.T, s memory.Store, at memory.Place, number int) memory.RestoreResult {
	t.Helper()
	r, err := s.Restore(t.Context(), at, number, memory.Restorer{Author: "ann", Now: noon.Add(time.Hour), Words: memory.IndexText})
	noError(t, err)
	return r
}

func history(t *testing.T, db *storage.DB) {
	s := db.Memory(lastTen)
	if old := putAt(t, s, "k", `"one"`, 1); old != nil {
		t.Fatalf("a new entry replaced %+v", old)
	}
	equal(t, putAt(t, s, "k", `"two"`, 2).Version, 1)
	equal(t, putAt(t, s, "k", `"two"`, 3).Version, 2) // the same again is the same version
	equal(t, get(t, s, "n", "k").Version, 2)
	equal(t, putAt(t, s, "k", `"three"`, 4).Version, 2)
	equal(t, versions(t, s, memory.Scope{Namespace: "n"}, false), []string{"k@1=5", "k@2=5"})
	equal(t, versions(t, s, memory.Scope{Key: "k"}, true), []string{"k@2=5", "k@1=5"})
	equal(t, versions(t, s, memory.Scope{Namespace: "other"}, true), []string{})

	first, found, err := s.Version(t.Context(), noteK, 1, noon)
	noError(t, err)
	want := entry("n", "k", `"one"`)
	want.StoredAt, want.Author = noon.Add(time.Microsecond), "writer 1"
	equal(t, found, true)
	equal(t, first, want)
	if _, found, err := s.Version(t.Context(), noteK, 3, noon); found || err != nil {
		t.Fatalf("the current entry is an earlier version: %v", err)
	}

	r := restore(t, s, noteK, 1)
	equal(t, []any{r.From, r.Done, r.Current.Version}, []any{1, true, 3})
	now := get(t, s, "n", "k")
	equal(t, []any{string(now.Value), now.Author, now.StoredAt, now.Version}, []any{`"one"`, "ann", noon.Add(time.Hour), 4})
	found3, err := s.Matching(t.Context(), memory.Scope{}, match("three"), 9)
	noError(t, err)
	equal(t, len(found3), 0) // the index has what is current
	for _, again := range []int{1, 0, 4} {
		if r := restore(t, s, noteK, again); r.Done || r.From == 0 {
			t.Errorf("restoring %d again: %+v", again, r)
		}
	}
	if r := restore(t, s, noteK, 9); r.From != 0 {
		t.Errorf("restored a version that is not there: %+v", r)
	}
	equal(t, versions(t, s, memory.Scope{}, false), []string{"k@1=5", "k@2=5", "k@3=7"})
	if r := restore(t, s, noteK, 3); r.From != 3 || !r.Done {
		t.Errorf("got %+v", r)
	}
	putAt(t, s, "k", `"six"`, 9)
	r = restore(t, s, noteK, 0)
	equal(t, []any{r.From, r.Done, string(get(t, s, "n", "k").Value)}, []any{5, true, `"three"`})

	// An import that overwrites leaves versions too, one that does not leaves none.
	e := worded(entry("n", "k", `"imported"`))
	n, err := s.Import(t.Context(), e, false, noon)
	noError(t, err)
	equal(t, n, 0)
	_, err = s.Import(t.Context(), e, true, noon)
	noError(t, err)
	equal(t, versions(t, s, memory.Scope{}, true)[0], "k@6=5")
	equal(t, get(t, s, "n", "k").Version, 8)
	_, _, err = s.DeleteAll(t.Context(), memory.Scope{Namespace: "n", Now: noon}, 0)
	noError(t, err)

	off := db.Memory(memory.History{})
	equal(t, versions(t, off, memory.Scope{}, true), []string{})
	putAt(t, off, "x", `1`, 1)
	putAt(t, off, "x", `2`, 2)
	_, err = off.Delete(t.Context(), memory.Scope{Namespace: "n"}, []string{"x"})
	noError(t, err)
	equal(t, versions(t, s, memory.Scope{Key: "x"}, true), []string{})
}

func historyOfDeleted(t *testing.T, db *storage.DB) {
	s := db.Memory(lastTen)
	for _, key := range []string{"a", "b", "c"} {
		putAt(t, s, key, `"first of `+key+`"`, 1)
		putAt(t, s, key, `1`, 2)
	}
	scope := memory.Scope{Namespace: "n", Now: noon.Add(time.Minute)}
	gone, err := s.Delete(t.Context(), scope, []string{"a", "none"})
	noError(t, err)
	equal(t, gone, []string{"a"})
	n, _, err := s.DeleteAll(t.Context(), memory.Scope{Namespace: "n", Prefix: "b", Now: noon.Add(2 * time.Minute)}, 9)
	noError(t, err)
	equal(t, n, 1)
	all := []string{"a@1=12 deleted", "a@2=1 deleted", "b@1=12 deleted", "b@2=1 deleted", "c@1=12"}
	equal(t, versions(t, s, memory.Scope{}, false), all)
	equal(t, versions(t, s, memory.Scope{Prefix: "b"}, true), []string{"b@2=1 deleted", "b@1=12 deleted"})

	a := memory.Place{Namespace: "n", Key: "a"}
	for range 2 { // the second changes nothing
		equal(t, restore(t, s, a, 0).From, 2)
		equal(t, get(t, s, "n", "a").Version, 3)
	}
	equal(t, string(get(t, s, "n", "a").Value), `1`)
	other := memory.Place{Namespace: "n", Key: "a", Workspace: "other"}
	equal(t, restore(t, s, other, 0), memory.RestoreResult{})

	// A new entry of a deleted key goes on counting, whatever stores it.
	putAt(t, s, "b", `"new"`, 9)
	equal(t, get(t, s, "n", "b").Version, 3)
	_, err = s.Delete(t.Context(), scope, []string{"b", "c"})
	noError(t, err)
	added, err := s.Add(t.Context(), worded(entry("n", "b", `"added"`))[0])
	noError(t, err)
	equal(t, added, true)
	_, err = s.Import(t.Context(), worded(entry("n", "c", `"imported"`)), false, noon)
	noError(t, err)
	equal(t, []int{get(t, s, "n", "b").Version, get(t, s, "n", "c").Version}, []int{4, 3})

	purged, err := s.Purge(t.Context(), memory.Scope{Namespace: "n"}, []string{"a", "none"}, 9)
	noError(t, err)
	equal(t, purged, memory.PurgeResult{Entries: 1, Versions: 2, Keys: []string{"a"}})
	purged, err = s.Purge(t.Context(), memory.Scope{Namespace: "n", Prefix: "b"}, nil, 9)
	noError(t, err)
	equal(t, purged, memory.PurgeResult{Entries: 1, Versions: 3, Keys: []string{"b"}})
	equal(t, versions(t, s, memory.Scope{}, false), []string{"c@1=12", "c@2=1"})

	// What expires leaves no version, and a version goes when it expires.
	short := entry("n", "short", `"old"`)
	short.ExpiresAt = noon.Add(time.Hour)
	put(t, s, short)
	short.Value = json.RawMessage(`"new"`)
	put(t, s, short)
	at := memory.Place{Namespace: "n", Key: "short"}
	if _, found, err := s.Version(t.Context(), at, 1, noon); !found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
	if _, found, err := s.Version(t.Context(), at, 1, short.ExpiresAt); found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
	equal(t, restore(t, s, at, 0), memory.RestoreResult{})
	short.ExpiresAt, short.StoredAt = time.Time{}, noon.Add(time.Hour)
	put(t, s, short)
	equal(t, versions(t, s, memory.Scope{Prefix: "s"}, true), []string{})
}

func historyIsBounded(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{Versions: 3, Age: time.Hour})
	for i := range 6 {
		putAt(t, s, "k", fmt.Sprint(i), i)
	}
	equal(t, versions(t, s, memory.Scope{Now: noon}, false), []string{"k@3=1", "k@4=1", "k@5=1"})
	_, err := s.Delete(t.Context(), memory.Scope{Namespace: "n", Now: noon.Add(time.Minute)}, []string{"k"})
	noError(t, err)
	equal(t, versions(t, s, memory.Scope{Now: noon}, false), []string{"k@4=1 deleted", "k@5=1 deleted", "k@6=1 deleted"})

	large := fmt.Sprintf("%q", strings.Repeat("x", memory.HistoryBytes/2-2))
	for i := range 4 {
		putAt(t, s, "large", large[:len(large)-i-1]+`"`, i)
	}
	equal(t, versions(t, s, memory.Scope{Prefix: "l", Now: noon}, true),
		[]string{fmt.Sprintf("large@3=%d", len(large)-2), fmt.Sprintf("large@2=%d", len(large)-1)})

	// Versions leave one by one as they were replaced, before they are removed and then for good.
	late := noon.Add(time.Hour + 6*time.Microsecond)
	equal(t, versions(t, s, memory.Scope{Now: late}, true), []string{"k@6=1 deleted"})
	for _, want := range []int{3, 1, 0} {
		removed, err := s.Expire(t.Context(), late, 3)
		noError(t, err)
		equal(t, removed, want)
	}
	equal(t, versions(t, s, memory.Scope{Now: noon}, true), []string{"k@6=1 deleted"})
	for _, off := range []memory.History{{}, {Versions: 3}, {Age: time.Hour}} { // versions are of other processes
		removed, err := db.Memory(off).Expire(t.Context(), noon.Add(1000*time.Hour), 9)
		noError(t, err)
		equal(t, removed, 0)
	}
	equal(t, versions(t, s, memory.Scope{Now: noon}, true), []string{"k@6=1 deleted"})
}

// purgeWhole checks that a purge removes an entry together with its earlier versions: if the
// versions cannot be removed, the entry stays.
func purgeWhole(t *testing.T, url string) {
	db := Open(t, url)
	service := memory.New(db.Memory(lastTen), func() time.Time { return noon })
	for _, value := range []string{`"old"`, `"new"`} {
		_, err := service.Store(t.Context(), memory.StoreIn{Namespace: "n", Key: "k", Value: json.RawMessage(value)})
		noError(t, err)
	}
	refuse := []string{`CREATE TRIGGER refuse BEFORE DELETE ON memory_versions BEGIN SELECT RAISE(ABORT, 'refused'); END`}
	if strings.HasPrefix(url, "postgres") {
		refuse = []string{
			`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`,
			`CREATE TRIGGER refuse BEFORE DELETE ON memory_versions FOR EACH ROW EXECUTE FUNCTION refuse()`,
		}
	}
	for _, statement := range refuse {
		_, err := Raw(t, url).ExecContext(t.Context(), statement)
		noError(t, err)
	}
	for name, purge := range map[string]func() error{
		"delete": func() error {
			_, err := service.Delete(t.Context(), memory.DeleteIn{Namespace: "n", Key: "k", Purge: true})
			return err
		},
		"bulk_delete": func() error {
			_, err := service.BulkDelete(t.Context(), memory.BulkDeleteIn{Namespace: "n", Prefix: "k", Purge: true})
			return err
		},
		"clear": func() error {
			_, err := service.Clear(t.Context(), memory.ClearIn{Namespace: "n", Confirm: true, Purge: true})
			return err
		},
	} {
		if err := purge(); err == nil {
			t.Errorf("%s removed the versions", name)
		}
		e, err := service.Get(t.Context(), memory.GetIn{Namespace: "n", Key: "k"})
		noError(t, err)
		equal(t, []any{name, string(e.Value)}, []any{name, `"new"`})
	}
}

// restoreAtOnce holds that callers who store, delete and restore one entry at the same time lose no version.
func restoreAtOnce(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{Versions: 100, Age: 24 * time.Hour})
	const callers, rounds = 6, 5
	noError(t, each(callers, func(i int) error {
		for j := range rounds {
			e := entry("n", "k", fmt.Sprintf(`"%d-%d"`, i, j))
			_, err := s.Put(t.Context(), worded(e)[0], nil)
			if err == nil && i%3 == 1 {
				_, err = s.Delete(t.Context(), memory.Scope{Namespace: "n", Now: noon}, []string{"k"})
			}
			if err == nil && i%3 == 2 {
				_, err = s.Restore(t.Context(), noteK, 0, memory.Restorer{Now: noon, Words: memory.IndexText})
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
	seen := map[string]bool{}
	if e, found, err := s.Get(t.Context(), noteK, noon); err != nil {
		t.Fatal(err)
	} else if found {
		seen[string(e.Value)] = true
	}
	list, err := s.Versions(t.Context(), memory.Scope{Now: noon}, false, memory.VersionPosition{}, 100)
	noError(t, err)
	for _, v := range list {
		e, found, err := s.Version(t.Context(), noteK, v.Number, noon)
		noError(t, err)
		equal(t, found, true)
		seen[string(e.Value)] = true
	}
	equal(t, len(seen), callers*rounds)
}
