package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/tools/memory"
)

// projects returns services of several workspaces over one store.
func projects(t *testing.T, names ...string) map[string]*memory.Service {
	t.Helper()
	db := openStore(t)
	in := map[string]*memory.Service{}
	now := start
	for _, name := range names {
		in[name] = memory.New(db, func() time.Time { return now })
		in[name].Workspace = name
	}
	return in
}

// Two projects that choose the same key do not overwrite each other's notes, on either database.
func TestProjectsKeepTheirNotes(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(*testing.T) string{
		"SQLite":     func(*testing.T) string { return "memory:" },
		"PostgreSQL": func(t *testing.T) string { return storagetest.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := storagetest.Open(t, url(t)).Memory(memory.History{})
			now := start
			shop, billing := memory.New(db, func() time.Time { return now }), memory.New(db, func() time.Time { return now })
			shop.Workspace, billing.Workspace = "github.com/acme/shop", "github.com/acme/billing"
			store(t, shop, "", "gotcha/ci", `"CI needs NODE_OPTIONS"`)
			if out := store(t, billing, "", "gotcha/ci", `"CI of billing uses Postgres 15"`); out.Replaced {
				t.Errorf("another project's note was replaced: %+v", out)
			}
			wantValue(t, shop, "", "gotcha/ci", `"CI needs NODE_OPTIONS"`)
			wantValue(t, billing, "", "gotcha/ci", `"CI of billing uses Postgres 15"`)
			for _, change := range []func(){
				func() { call(t, billing.Delete, memory.DeleteIn{Key: "gotcha/ci"}) },
				func() { call(t, billing.BulkDelete, memory.BulkDeleteIn{Prefix: "gotcha"}) },
				func() { call(t, billing.BulkDelete, memory.BulkDeleteIn{Keys: []string{"gotcha/ci"}}) },
				func() { call(t, billing.Clear, memory.ClearIn{Namespace: "default", Confirm: true}) },
			} {
				change()
				wantValue(t, billing, "", "gotcha/ci", `"CI needs NODE_OPTIONS"`) // the only entry, of the other project
				call(t, billing.Store, memory.StoreIn{Key: "gotcha/ci", Value: json.RawMessage(`1`), IfAbsent: true})
				wantValue(t, shop, "", "gotcha/ci", `"CI needs NODE_OPTIONS"`)
			}
			call(t, billing.Delete, memory.DeleteIn{Key: "gotcha/ci"})
			if out := call(t, billing.Delete, memory.DeleteIn{Key: "gotcha/ci"}); out.Deleted || !strings.Contains(out.Message, "acme/shop") {
				t.Errorf("got %+v", out)
			}
			if out := call(t, billing.Delete, memory.DeleteIn{Key: "gotcha/ci", Workspace: "github.com/acme/shop"}); !out.Deleted {
				t.Errorf("got %+v", out)
			}
		})
	}
}

func TestGetPrefersTheOwnWorkspace(t *testing.T) {
	t.Parallel()
	in := projects(t, "a", "b", "c")
	store(t, in["a"], "", "k", `"of a"`)
	out := call(t, in["c"].Get, memory.GetIn{Key: "k"})
	if string(out.Value) != `"of a"` || out.Workspace != "a" || !strings.Contains(out.Message, "not to this project") {
		t.Errorf("the only one: %+v", out)
	}
	store(t, in["b"], "", "k", `"of b"`)
	if out = call(t, in["c"].Get, memory.GetIn{Key: "k"}); out.Found || !strings.HasSuffix(out.Message, ": a, b") {
		t.Errorf("one of two: %+v", out)
	}
	if out = call(t, in["c"].Get, memory.GetIn{Keys: []string{"k"}}); out.Found || !strings.Contains(out.Message, "several other workspaces") {
		t.Errorf("one of two, of several keys: %+v", out)
	}
	if out = call(t, in["c"].Get, memory.GetIn{Key: "k", Workspace: "b"}); string(out.Value) != `"of b"` || out.Workspace != "b" {
		t.Errorf("by name: %+v", out)
	}
	forAll := call(t, in["a"].Store, memory.StoreIn{Key: "k", Value: json.RawMessage(`"of all"`), Scope: "user"})
	if forAll.Workspace != memory.User || forAll.Replaced {
		t.Errorf("stored for all: %+v", forAll)
	}
	out = call(t, in["c"].Get, memory.GetIn{Key: "k"})
	if string(out.Value) != `"of all"` || out.Workspace != memory.User || out.Message != "" {
		t.Errorf("of all workspaces: %+v", out)
	}
	if stored := store(t, in["c"], "", "k", `"of c"`); !strings.Contains(stored.Message, "workspace user stays") {
		t.Errorf("beside the note of all: %+v", stored)
	}
	if out = call(t, in["c"].Get, memory.GetIn{Key: "k"}); string(out.Value) != `"of c"` || out.Workspace != "" {
		t.Errorf("its own: %+v", out)
	}
	if out := call(t, in["c"].Delete, memory.DeleteIn{Key: "k", Workspace: memory.User}); !out.Deleted || out.Workspace != memory.User {
		t.Errorf("deleted for all: %+v", out)
	}
	refused(t, in["c"].Store, memory.StoreIn{Key: "k", Value: json.RawMessage(`1`), Scope: "all"}, toolfold.InvalidInput)
	in["c"].ForAll = true // the setting
	if out := store(t, in["c"], "", "other", `1`); out.Workspace != memory.User {
		t.Errorf("stored by the setting: %+v", out)
	}
}

// Lists show notes of the own workspace first, on every page, and explain the other notes.
func TestListsBeginWithTheOwnWorkspace(t *testing.T) {
	t.Parallel()
	in := projects(t, "a", "b")
	for i := range 3 {
		store(t, in["a"], "", fmt.Sprint("k", i), `1`)
		store(t, in["b"], "", fmt.Sprint("k", i), `1`)
	}
	for _, order := range []string{"key", "newest"} {
		var got []string
		for page := (toolfold.Page{Limit: 2}); ; {
			out := call(t, in["b"].List, memory.ListIn{Order: order, Page: page})
			others := slices.ContainsFunc(out.Keys, func(l memory.Item) bool { return l.Workspace != "" })
			if out.Total != 6 || others != strings.Contains(out.Message, "not to this project") {
				t.Errorf("got %+v", out)
			}
			for _, l := range out.Keys {
				got = append(got, l.Workspace+l.Key)
			}
			if page.Cursor = out.NextCursor; !out.HasMore {
				break
			}
		}
		want := "k0 k1 k2 ak0 ak1 ak2"
		if order == "newest" {
			want = "k2 k1 k0 ak2 ak1 ak0"
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %v, want %s", order, got, want)
		}
	}
	var exported []string
	for page := (toolfold.Page{Limit: 2}); ; {
		out := call(t, in["b"].Export, memory.ExportIn{Page: page})
		for _, e := range out.Data {
			exported = append(exported, e.Workspace+e.Key)
		}
		if page.Cursor = out.NextCursor; !out.HasMore {
			break
		}
	}
	equal(t, exported, []string{"k0", "k1", "k2", "ak0", "ak1", "ak2"})
}

// Export and import keep the workspaces of entries.
func TestImportKeepsWorkspaces(t *testing.T) {
	t.Parallel()
	in := projects(t, "a", "b")
	store(t, in["a"], "", "k", `"a"`)
	store(t, in["b"], "", "k", `"b"`)
	data := raw(t, call(t, in["a"].Export, memory.ExportIn{IncludeMetadata: true}).Data)
	to := projects(t, "b")["b"]
	if out := call(t, to.Import, memory.ImportIn{Data: data}); out.Imported != 2 {
		t.Fatalf("got %+v", out)
	}
	wantValue(t, to, "", "k", `"b"`)
	if out := call(t, to.Get, memory.GetIn{Key: "k", Workspace: "a"}); string(out.Value) != `"a"` {
		t.Errorf("of the other: %+v", out)
	}
}

func TestNotesOfCallers(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Workspace, s.ByCaller = "host:/", true
	by := func(name string) context.Context { return callctx.With(t.Context(), toolfold.Origin{Caller: name}) }
	for _, name := range []string{"ann", "bob", ""} {
		if out, err := s.Store(by(name), memory.StoreIn{Key: "k", Value: json.RawMessage(`"` + name + `"`)}); err != nil || out.Replaced {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	for _, name := range []string{"ann", "bob", ""} {
		if out, err := s.Get(by(name), memory.GetIn{Key: "k"}); err != nil || string(out.Value) != `"`+name+`"` || out.Workspace != "" {
			t.Errorf("%q reads %+v, %v", name, out, err)
		}
	}
	if out, err := s.Get(by("ann"), memory.GetIn{Key: "k", Workspace: "caller:bob"}); err != nil || string(out.Value) != `"bob"` {
		t.Errorf("got %+v, %v", out, err)
	}
}

// A cursor of an earlier version is rejected with the reason.
func TestCursorOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	s := setup(t)
	_, err := s.List(t.Context(), memory.ListIn{Page: toolfold.Page{Limit: 1, Cursor: toolfold.CursorOf(`["default","k",0,0]`)}})
	if err == nil || !strings.Contains(err.Error(), "earlier version") {
		t.Errorf("got %v", err)
	}
}

// Storing again without tags and ttlMs keeps them, and returns the author of the replaced version.
func TestStoreAgainKeepsLabels(t *testing.T) {
	t.Parallel()
	s, now := clocked(t)
	by := func(name string) context.Context { return callctx.With(t.Context(), toolfold.Origin{Client: name}) }
	in := memory.StoreIn{Key: "k", Value: json.RawMessage(`1`), Tags: []string{"keep"}, TTLMs: new(5000)}
	first, err := s.Store(by("ann"), in)
	if err != nil || first.Previous != nil || first.Tags != nil {
		t.Fatalf("%+v, %v", first, err)
	}
	stored := now.UTC().Truncate(time.Microsecond)
	*now = now.Add(time.Second)
	second, err := s.Store(by("bob"), memory.StoreIn{Key: "k", Value: json.RawMessage(`2`)})
	if err != nil || !strings.Contains(second.Message, "tags stay") || !strings.Contains(second.Message, "expiry stays") {
		t.Fatalf("%+v, %v", second, err)
	}
	equal(t, second.Previous, &memory.Previous{Author: "ann", StoredAt: stored, Version: 1})
	equal(t, second.Tags, []string{"keep"})
	equal(t, second.ExpiresAt, first.ExpiresAt)
	got := call(t, s.Get, memory.GetIn{Key: "k"})
	equal(t, got.Labels, memory.Labels{Tags: []string{"keep"}, ExpiresAt: first.ExpiresAt})
	if found := call(t, s.List, memory.ListIn{Tags: []string{"keep"}, Page: toolfold.Page{Limit: 1}}); found.Total != 1 {
		t.Errorf("the tag does not find it: %+v", found)
	}

	third := call(t, s.Store, memory.StoreIn{Key: "k", Value: json.RawMessage(`3`), Tags: []string{}, TTLMs: new(0)})
	if third.Tags != nil || third.ExpiresAt != nil || third.Message != "stored; the earlier value is replaced" ||
		third.Previous.Author != "bob" {
		t.Errorf("got %+v", third)
	}
	got = call(t, s.Get, memory.GetIn{Key: "k"})
	if len(got.Tags) > 0 || got.ExpiresAt != nil {
		t.Errorf("got %+v", got)
	}
	refused(t, s.Store, memory.StoreIn{Key: "k", Value: json.RawMessage(`4`), TTLMs: new(-1)}, toolfold.InvalidInput)
}
