package memory_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/tools/memory"
)

// remembering returns services of workspaces over one store with a history, and a function that
// advances their clock.
func remembering(t *testing.T, names ...string) (in map[string]*memory.Service, pass func(time.Duration)) {
	t.Helper()
	history := memory.History{Versions: 10, Age: 30 * 24 * time.Hour}
	db := storagetest.Open(t, "memory:").Memory(history)
	in = map[string]*memory.Service{}
	now := start
	for _, name := range names {
		in[name] = memory.New(db, func() time.Time { return now })
		in[name].Workspace, in[name].History = name, history
	}
	return in, func(d time.Duration) { now = now.Add(d) }
}

// versionsOf lists earlier versions as workspace:key@number, with - for deleted entries.
func versionsOf(t *testing.T, s *memory.Service, in memory.ListIn) []string {
	t.Helper()
	in.History, in.Limit = true, max(in.Limit, 2)
	list := []string{}
	for {
		out := call(t, s.List, in)
		for _, v := range out.Keys {
			text := fmt.Sprintf("%s:%s@%d", v.Workspace, v.Key, v.Version)
			if v.Deleted {
				text += "-"
			}
			list = append(list, text)
		}
		if in.Cursor = out.NextCursor; !out.HasMore {
			equal(t, len(list), out.Total)
			return list
		}
	}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	services, pass := remembering(t, "shop")
	s := services["shop"]
	ann := callctx.With(t.Context(), toolfold.Origin{Client: "ann"})
	put := func(value string, tags ...string) memory.StoreOut {
		t.Helper()
		pass(time.Second)
		out, err := s.Store(ann, memory.StoreIn{Key: "k", Value: json.RawMessage(value), Tags: tags})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	put(`"one"`, "a")
	second := put(`"two"`)
	equal(t, *second.Previous, memory.Previous{Author: "ann", StoredAt: start.Add(time.Second).UTC().Truncate(time.Microsecond), Version: 1})
	if again := put(`"two"`); again.Previous.Version != 2 || !strings.Contains(again.Message, "same as before") {
		t.Errorf("got %+v", again)
	}
	equal(t, versionsOf(t, s, memory.ListIn{Prefix: "k"}), []string{":k@1"})

	one := call(t, s.Get, memory.GetIn{Key: "k", Version: second.Previous.Version})
	equal(t, []any{string(one.Value), one.Version, one.Tags}, []any{`"one"`, 1, []string{"a"}})
	equal(t, call(t, s.Get, memory.GetIn{Key: "k"}).Version, 2)
	equal(t, string(call(t, s.Get, memory.GetIn{Key: "k", Version: 2}).Value), `"two"`)
	if out := call(t, s.Get, memory.GetIn{Key: "k", Version: 7}); out.Found || !strings.Contains(out.Message, "memory.list") {
		t.Errorf("got %+v", out)
	}
	refused(t, s.Get, memory.GetIn{Keys: []string{"k"}, Version: 1}, toolfold.InvalidInput)
	refused(t, s.List, memory.ListIn{History: true, Tags: []string{"a"}}, toolfold.InvalidInput)

	out := call(t, s.Restore, memory.RestoreIn{Key: "k", Version: 1})
	equal(t, []any{out.Restored, out.Version, out.Previous.Version}, []any{true, 1, 2})
	equal(t, string(call(t, s.Get, memory.GetIn{Key: "k"}).Value), `"one"`)
	equal(t, call(t, s.Search, memory.SearchIn{Query: "one", Page: toolfold.Page{Limit: 9}}).Count, 1)
	equal(t, call(t, s.Search, memory.SearchIn{Query: "two", Page: toolfold.Page{Limit: 9}}).Count, 0)
	for _, again := range []int{1, 0} { // repeated calls change nothing
		out := call(t, s.Restore, memory.RestoreIn{Key: "k", Version: again})
		equal(t, []any{out.Restored, out.Version, out.Previous == nil}, []any{false, 1, true})
	}
	call(t, s.Restore, memory.RestoreIn{Key: "k", Version: 2})
	equal(t, string(call(t, s.Get, memory.GetIn{Key: "k"}).Value), `"two"`)

	problem := refused(t, s.Restore, memory.RestoreIn{Key: "k", Version: 9}, memory.VersionNotFound)
	equal(t, problem.Hint, "there are versions 3, 2, 1")
	refused(t, s.Restore, memory.RestoreIn{Key: "none"}, memory.VersionNotFound)
	refused(t, s.Restore, memory.RestoreIn{Key: "k", Scope: "all"}, toolfold.InvalidInput)
	pass(31 * 24 * time.Hour)
	refused(t, s.Restore, memory.RestoreIn{Key: "k", Version: 1}, memory.VersionNotFound)
	equal(t, versionsOf(t, s, memory.ListIn{}), []string{})
}

// A restore without a version skips versions that are equal to the entry.
func TestRestoreSkipsEqualVersions(t *testing.T) {
	t.Parallel()
	services, pass := remembering(t, "shop")
	s := services["shop"]
	for _, value := range []string{`"b"`, `"a"`} {
		store(t, s, "", "k", value)
		pass(time.Second)
	}
	call(t, s.Delete, memory.DeleteIn{Key: "k"})
	store(t, s, "", "k", `"a"`)
	if out := call(t, s.Restore, memory.RestoreIn{Key: "k"}); !out.Restored {
		t.Errorf("got %+v", out)
	}
	wantValue(t, s, "", "k", `"b"`)
}

// Only the workspace of an entry can restore it, and the message names that workspace.
func TestDeletionNamesWhoCanRestore(t *testing.T) {
	t.Parallel()
	services, _ := remembering(t, "shop", "billing")
	store(t, services["billing"], "", "k", `1`)
	equal(t, call(t, services["shop"].Delete, memory.DeleteIn{Key: "k", Workspace: "billing"}).Message,
		"deleted; workspace billing can restore deleted entries for 30 days")
}

// Every deleted entry can be restored, unless it is purged.
func TestRestoreDeleted(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(t *testing.T, s *memory.Service, purge bool){
		"delete": func(t *testing.T, s *memory.Service, purge bool) {
			call(t, s.Delete, memory.DeleteIn{Key: "k", Purge: purge})
		},
		"keys": func(t *testing.T, s *memory.Service, purge bool) {
			call(t, s.BulkDelete, memory.BulkDeleteIn{Keys: []string{"k", "none"}, Purge: purge})
		},
		"prefix": func(t *testing.T, s *memory.Service, purge bool) {
			call(t, s.BulkDelete, memory.BulkDeleteIn{Prefix: "k", Purge: purge})
		},
		"clear": func(t *testing.T, s *memory.Service, purge bool) {
			call(t, s.Clear, memory.ClearIn{Namespace: "default", Confirm: true, Purge: purge})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			services, pass := remembering(t, "shop")
			s := services["shop"]
			store(t, s, "", "k", `"first"`)
			pass(time.Second)
			store(t, s, "", "k", `"second"`)
			remove(t, s, false)
			equal(t, call(t, s.Get, memory.GetIn{Key: "k"}).Found, false)
			equal(t, versionsOf(t, s, memory.ListIn{}), []string{":k@1-", ":k@2-"})
			equal(t, versionsOf(t, s, memory.ListIn{Prefix: "k", Order: "newest"}), []string{":k@2-", ":k@1-"})
			for range 2 {
				call(t, s.Restore, memory.RestoreIn{Key: "k"})
				wantValue(t, s, "", "k", `"second"`)
			}
			remove(t, s, false)
			remove(t, s, true) // of an entry that is already deleted
			equal(t, versionsOf(t, s, memory.ListIn{}), []string{})
			refused(t, s.Restore, memory.RestoreIn{Key: "k"}, memory.VersionNotFound)
			store(t, s, "", "k", `"third"`)
			remove(t, s, true)
			equal(t, versionsOf(t, s, memory.ListIn{}), []string{})
		})
	}
}

func TestDeletionReportsRetention(t *testing.T) {
	t.Parallel()
	services, _ := remembering(t, "shop")
	s := services["shop"]
	store(t, s, "", "k", `1`)
	equal(t, call(t, s.Delete, memory.DeleteIn{Key: "k"}).Message, "deleted; memory.restore brings back deleted entries for 30 days")
	purged := call(t, s.Delete, memory.DeleteIn{Key: "k", Purge: true})
	equal(t, []any{purged.Deleted, purged.Purged}, []any{false, 1})
	off := setup(t)
	store(t, off, "", "k", `1`)
	equal(t, call(t, off.Delete, memory.DeleteIn{Key: "k"}).Message, "deleted")
	equal(t, refused(t, off.Restore, memory.RestoreIn{Key: "k"}, memory.VersionNotFound).Hint,
		"the user has switched earlier versions off: memoryVersions or memoryVersionDays is 0")
}

// Earlier versions belong to the workspace of their entry. Other workspaces may read them but not
// restore them.
func TestHistoryOfWorkspaces(t *testing.T) {
	t.Parallel()
	services, pass := remembering(t, "shop", "site")
	shop, site := services["shop"], services["site"]
	for _, value := range []string{`"one"`, `"two"`} {
		store(t, shop, "", "k", value)
		pass(time.Second)
	}
	equal(t, versionsOf(t, site, memory.ListIn{}), []string{"shop:k@1"})
	equal(t, versionsOf(t, site, memory.ListIn{Workspace: "."}), []string{})
	equal(t, string(call(t, site.Get, memory.GetIn{Key: "k", Version: 1}).Value), `"one"`)
	problem := refused(t, site.Restore, memory.RestoreIn{Key: "k"}, memory.VersionNotFound)
	if !strings.Contains(problem.Hint, "workspace shop") {
		t.Errorf("got %q", problem.Hint)
	}
	wantValue(t, shop, "", "k", `"two"`)

	call(t, site.Store, memory.StoreIn{Key: "u", Value: json.RawMessage(`1`), Scope: "user"})
	call(t, site.Delete, memory.DeleteIn{Key: "u", Workspace: "user"})
	problem = refused(t, shop.Restore, memory.RestoreIn{Key: "u"}, memory.VersionNotFound)
	if !strings.Contains(problem.Hint, "scope user") {
		t.Errorf("got %q", problem.Hint)
	}
	out := call(t, shop.Restore, memory.RestoreIn{Key: "u", Scope: "user"})
	equal(t, []any{out.Restored, out.Workspace}, []any{true, "user"})

	store(t, site, "", "k", `"site"`)
	store(t, site, "", "k", `"site 2"`)
	equal(t, versionsOf(t, site, memory.ListIn{}), []string{":k@1", "shop:k@1", "user:u@1"})
	equal(t, versionsOf(t, site, memory.ListIn{Order: "newest"}), []string{":k@1", "user:u@1", "shop:k@1"})
	call(t, site.Clear, memory.ClearIn{Namespace: "default", Confirm: true, Purge: true})
	equal(t, versionsOf(t, site, memory.ListIn{}), []string{"shop:k@1", "user:u@1"})
}

// A version of a key that only other workspaces have is the right one, or they are named.
func TestVersionOfOtherWorkspaces(t *testing.T) {
	t.Parallel()
	services, pass := remembering(t, "shop", "site", "till")
	for _, name := range []string{"site", "till"} {
		for _, value := range []string{`"one of %s"`, `"two of %s"`} {
			store(t, services[name], "", "both", fmt.Sprintf(value, name))
			pass(time.Second)
		}
	}
	store(t, services["site"], "", "gone", `"gone"`)
	call(t, services["site"].Delete, memory.DeleteIn{Key: "gone"})
	shop := services["shop"]
	out := call(t, shop.Get, memory.GetIn{Key: "both", Version: 1})
	equal(t, []any{out.Found, out.Message}, []any{false,
		"no such key in this workspace; name one of these, which have it, as workspace: site, till"})
	equal(t, string(call(t, shop.Get, memory.GetIn{Key: "both", Version: 1, Workspace: "till"}).Value), `"one of till"`)
	gone := call(t, shop.Get, memory.GetIn{Key: "gone", Version: 1})
	equal(t, []any{string(gone.Value), gone.Workspace}, []any{`"gone"`, "site"})
	store(t, services["till"], "", "gone", `"here"`)
	call(t, services["till"].Delete, memory.DeleteIn{Key: "gone"})
	out = call(t, shop.Get, memory.GetIn{Key: "gone", Version: 1})
	equal(t, []any{out.Found, out.Message}, []any{false,
		"no such key in this workspace; name one of these, which have it, as workspace: site, till"})
}

// An import with overwrite keeps the replaced entries as earlier versions.
func TestImportKeepsVersions(t *testing.T) {
	t.Parallel()
	services, _ := remembering(t, "shop")
	s := services["shop"]
	store(t, s, "", "k", `"old"`)
	data := []json.RawMessage{json.RawMessage(`{"key": "k", "value": "new"}`)}
	call(t, s.Import, memory.ImportIn{Data: data})
	equal(t, versionsOf(t, s, memory.ListIn{}), []string{})
	call(t, s.Import, memory.ImportIn{Data: data, Overwrite: true})
	wantValue(t, s, "", "k", `"new"`)
	call(t, s.Restore, memory.RestoreIn{Key: "k"})
	wantValue(t, s, "", "k", `"old"`)
}
