package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/cmd/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/memory"
)

var start = time.Date(2026, 1, 31, 12, 0, 0, 123456789, time.FixedZone("", 3600))

// setup returns a service whose clock stands still.
func setup(t *testing.T) *memory.Service {
	t.Helper()
	return memory.New(openStore(t), func() time.Time { return start })
}

// call runs an action that must succeed.
func call[In, Out any](t *testing.T, action func(context.Context, In) (Out, error), in In) Out {
	t.Helper()
	out, err := action(t.Context(), in)
	if err != nil {
		t.Fatalf("%+v: %v", in, err)
	}
	return out
}

// refused runs an action that must fail with a code.
func refused[In, Out any](t *testing.T, action func(context.Context, In) (Out, error), in In, code string) *toolfold.Error {
	t.Helper()
	_, err := action(t.Context(), in)
	var told *toolfold.Error
	if !errors.As(err, &told) || told.Code != code {
		t.Fatalf("%+v: got %v, want %s", in, err, code)
	}
	return told
}

func store(t *testing.T, s *memory.Service, namespace, key, value string) memory.StoreOut {
	t.Helper()
	return call(t, s.Store, memory.StoreIn{Key: key, Namespace: namespace, Value: json.RawMessage(value)})
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
}

func TestFamily(t *testing.T) {
	t.Parallel()
	if err := memory.Family.Validate(); err != nil {
		t.Fatal(err)
	}
}

func TestStoreAndGet(t *testing.T) {
	t.Parallel()
	s := setup(t)
	first := store(t, s, "", "team/rules", `{"freeze": "Friday"}`)
	if first.Replaced || first.Namespace != "default" || !first.Success {
		t.Fatalf("got %+v", first)
	}
	second := store(t, s, "default", "team/rules", `{"n": 12345678901234567890.10, "e": 1E+2}`)
	if !second.Replaced || second.Message == first.Message {
		t.Fatalf("got %+v", second)
	}
	got := call(t, s.Get, memory.GetIn{Key: "team/rules"})
	if !got.Found || string(got.Value) != `{"n":12345678901234567890.10,"e":1E+2}` {
		t.Fatalf("got %+v", got)
	}
	if want := "2026-01-31T11:00:00.123456Z"; got.StoredAt.Format(time.RFC3339Nano) != want {
		t.Fatalf("stored at %v, want %s", got.StoredAt, want)
	}
	if other := call(t, s.Get, memory.GetIn{Key: "team/rules", Namespace: "other"}); other.Found || other.Message == "" {
		t.Fatalf("got %+v", other)
	}
}

func TestValueLimit(t *testing.T) {
	t.Parallel()
	s := setup(t)
	store(t, s, "", "fits", `{"a":"`+strings.Repeat("x", 256<<10-8)+`"}`)
	_, err := s.Store(t.Context(), memory.StoreIn{Key: "more", Value: json.RawMessage(`{"a":"` + strings.Repeat("x", 256<<10-7) + `"}`)})
	var told *toolfold.Error
	if !errors.As(err, &told) || told.Code != memory.ValueTooLarge || told.Hint == "" ||
		!strings.Contains(told.Message, "262145") || !strings.Contains(told.Message, "262144") {
		t.Fatalf("got %v", err)
	}
	for _, value := range []string{``, `{`} {
		refused(t, s.Store, memory.StoreIn{Key: "k", Value: json.RawMessage(value)}, toolfold.InvalidInput)
	}
}

// TestStoreAnyValue holds that every JSON value comes back as it was written,
// and that text which holds an object or list is stored as that.
func TestStoreAnyValue(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for value, want := range map[string]string{
		`"text"`:                      `"text"`,
		`"\u00e9 as sent"`:            `"\u00e9 as sent"`,
		`12345678901234567890.10`:     `12345678901234567890.10`,
		`[1, true, null]`:             `[1,true,null]`,
		`{"z":1, "a":{"y":2,"b":[]}}`: `{"z":1,"a":{"y":2,"b":[]}}`,
		`" {\"z\":1, \"a\":2}"`:       `{"z":1,"a":2}`,
		`"[1]"`:                       `[1]`,
		`"{not JSON}"`:                `"{not JSON}"`,
		`"7"`:                         `"7"`,
		`false`:                       `false`,
	} {
		store(t, s, "", "k", value)
		wantValue(t, s, "", "k", want)
	}
}

func TestGetSeveral(t *testing.T) {
	t.Parallel()
	s := setup(t)
	store(t, s, "", "a", `1`)
	store(t, s, "", "b", `{"v":2}`)
	at := start.UTC().Truncate(time.Microsecond)
	equal(t, call(t, s.Get, memory.GetIn{Keys: []string{"b", "a", "b"}}), memory.GetOut{
		Found: true, Namespace: "default",
		Entries: []memory.Kept{{Key: "b", Value: json.RawMessage(`{"v":2}`), StoredAt: at}, {Key: "a", Value: json.RawMessage(`1`), StoredAt: at}},
	})
	out := call(t, s.Get, memory.GetIn{Keys: []string{"none", "a"}})
	if out.Found || len(out.Entries) != 1 || out.Message == "" {
		t.Fatalf("got %+v", out)
	}
	equal(t, out.Missing, []string{"none"})
	for _, in := range []memory.GetIn{{}, {Key: "a", Keys: []string{"b"}}} {
		if told := refused(t, s.Get, in, toolfold.InvalidInput); told.Hint == "" {
			t.Fatal("no hint")
		}
	}
}

// TestAnswersAreBounded holds that no answer exceeds a mebibyte, whatever is
// stored, and that what is left out can be read on.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var keys []string
	for i := range 12 {
		key := fmt.Sprintf("%02d%s", i, strings.Repeat("\x00", 498))
		keys = append(keys, key)
		store(t, s, strings.Repeat("\x01", 100), key, `"found `+strings.Repeat("x", 200<<10)+`"`)
	}
	for i := range 400 {
		store(t, s, "many", fmt.Sprintf("%03d%s", i, strings.Repeat("\x00", 490)), `"found"`)
	}
	namespace := strings.Repeat("\x01", 100)
	read := map[string]bool{}
	for in := (memory.GetIn{Keys: keys, Namespace: namespace}); len(in.Keys) > 0; {
		out := call(t, s.Get, in)
		bounded(t, out)
		for _, e := range out.Entries {
			read[e.Key] = true
		}
		in.Keys = out.Left
	}
	equal(t, len(read), len(keys))

	bounded(t, call(t, s.Search, memory.SearchIn{Query: "found", Page: toolfold.Page{Limit: 100}}))
	bounded(t, call(t, s.Stats, memory.StatsIn{Detailed: true}))
	listed := 0
	for in := (memory.ListIn{Page: toolfold.Page{Limit: 1000}}); ; {
		out := call(t, s.List, in)
		bounded(t, out)
		listed += len(out.Keys)
		if in.Cursor = out.NextCursor; !out.HasMore {
			break
		}
	}
	equal(t, listed, 412)
	for _, limit := range []int{0, 1000} {
		exported := 0
		for in := (memory.ExportIn{Page: toolfold.Page{Limit: limit}, IncludeMetadata: true}); ; {
			out := call(t, s.Export, in)
			bounded(t, out)
			exported += out.Count
			if in.Cursor = out.NextCursor; !out.HasMore {
				break
			}
		}
		equal(t, exported, 412)
	}
	bounded(t, call(t, s.BulkDelete, memory.BulkDeleteIn{Namespace: "many", Prefix: "3"}))
}

func bounded(t *testing.T, out any) {
	t.Helper()
	raw, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > 1<<20 {
		t.Fatalf("%T has %d bytes", out, len(raw))
	}
}

// TestBulkListsAreBounded holds that a call with too many items is refused by
// the declaration, under every name.
func TestBulkListsAreBounded(t *testing.T) {
	t.Parallel()
	for _, a := range memory.Family.Declared().Actions {
		entries := []*toolfold.Entry{toolfold.Select(a)}
		for _, old := range a.Legacy {
			entries = append(entries, toolfold.Spell(a, old))
		}
		for _, e := range entries {
			for _, p := range e.Params() {
				if p.Kind == toolfold.KindArray && p.MaxItems == 0 {
					t.Errorf("%s of %s has no bound", p.Name, e.Title())
				}
			}
		}
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	s := setup(t)
	store(t, s, "", "a", `{}`)
	if out := call(t, s.Delete, memory.DeleteIn{Key: "a", Namespace: "other"}); out.Deleted {
		t.Fatalf("got %+v", out)
	}
	if out := call(t, s.Delete, memory.DeleteIn{Key: "a"}); !out.Deleted {
		t.Fatalf("got %+v", out)
	}
	if out := call(t, s.Delete, memory.DeleteIn{Key: "a"}); out.Deleted || out.Message == "" {
		t.Fatalf("got %+v", out)
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for i := range 7 {
		store(t, s, "b", fmt.Sprintf("k%d", i), `{}`)
		store(t, s, "a", fmt.Sprintf("k%d", i), `{}`)
	}
	store(t, s, "a", "other", `{}`)
	var got []string
	in := memory.ListIn{Prefix: "k", Page: toolfold.Page{Limit: 5}}
	for {
		out := call(t, s.List, in)
		if out.Total != 14 || out.HasMore != (out.NextCursor != "") {
			t.Fatalf("got %+v", out)
		}
		for _, h := range out.Keys {
			got = append(got, h.Namespace+h.Key)
		}
		if in.Cursor = out.NextCursor; !out.HasMore {
			break
		}
	}
	want := strings.Fields("ak0 ak1 ak2 ak3 ak4 ak5 ak6 bk0 bk1 bk2 bk3 bk4 bk5 bk6")
	equal(t, got, want)
	if out := call(t, s.List, memory.ListIn{Namespace: "a", Page: toolfold.Page{Limit: 8}}); out.HasMore || len(out.Keys) != 8 {
		t.Fatalf("got %+v", out)
	}
	if out := call(t, s.List, memory.ListIn{Namespace: "none", Page: toolfold.Page{Limit: 8}}); out.Keys == nil || out.Total != 0 {
		t.Fatalf("got %+v", out)
	}
}

func TestBadCursor(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, k := range []string{"k1", "k2"} {
		store(t, s, "a", k, `{}`)
	}
	next := call(t, s.List, memory.ListIn{Namespace: "a", Page: toolfold.Page{Limit: 1}}).NextCursor
	for name, in := range map[string]memory.ListIn{
		"noise":           {Page: toolfold.Page{Cursor: "!"}},
		"not a place":     {Page: toolfold.Page{Cursor: "e30"}},
		"other namespace": {Page: toolfold.Page{Cursor: next}, Namespace: "b"},
		"other prefix":    {Page: toolfold.Page{Cursor: next}, Prefix: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			if told := refused(t, s.List, in, toolfold.InvalidInput); told.Hint == "" {
				t.Fatal("no hint")
			}
		})
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	s := setup(t)
	store(t, s, "a", "k1", `{"v":1}`)
	store(t, s, "a", "k2", `{}`)
	store(t, s, "b", "k1", `{}`)
	out := call(t, s.Stats, memory.StatsIn{Detailed: true})
	equal(t, out, memory.StatsOut{
		TotalEntries: 3, NamespaceCount: 2, GeneratedAt: start.UTC().Truncate(time.Microsecond),
		ByNamespace: map[string]memory.NamespaceStats{
			"a": {Count: 2, Bytes: 9, Keys: []string{"k1", "k2"}},
			"b": {Count: 1, Bytes: 2, Keys: []string{"k1"}},
		},
	})
	out = call(t, s.Stats, memory.StatsIn{Namespace: "b"})
	equal(t, out.ByNamespace, map[string]memory.NamespaceStats{"b": {Count: 1, Bytes: 2}})
}

func TestBulkDelete(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, k := range []string{"a1", "a2", "a3", "b%", "b_", "bx"} {
		store(t, s, "", k, `{}`)
	}
	out := call(t, s.BulkDelete, memory.BulkDeleteIn{Keys: []string{"a2", "a1", "gone", "a1"}})
	if out.Deleted != 2 || out.NotFound != 1 || out.Namespace != "default" {
		t.Fatalf("got %+v", out)
	}
	equal(t, out.DeletedKeys, []string{"a1", "a2"})
	out = call(t, s.BulkDelete, memory.BulkDeleteIn{Prefix: "b%", Keys: []string{}})
	equal(t, out.DeletedKeys, []string{"b%"})
	out = call(t, s.BulkDelete, memory.BulkDeleteIn{Prefix: "b"})
	equal(t, out.DeletedKeys, []string{"b_", "bx"})
	out = call(t, s.BulkDelete, memory.BulkDeleteIn{Prefix: "b"})
	equal(t, out.DeletedKeys, []string{})
	for _, in := range []memory.BulkDeleteIn{{}, {Keys: []string{"a3"}, Prefix: "a"}} {
		if told := refused(t, s.BulkDelete, in, toolfold.InvalidInput); told.Hint == "" {
			t.Fatal("no hint")
		}
	}
	if total := call(t, s.List, memory.ListIn{Page: toolfold.Page{Limit: 9}}).Total; total != 1 {
		t.Fatalf("%d entries are left, want 1", total)
	}
}

func TestClear(t *testing.T) {
	t.Parallel()
	s := setup(t)
	store(t, s, "scratch", "a", `{}`)
	store(t, s, "kept", "a", `{}`)
	refused(t, s.Clear, memory.ClearIn{Namespace: "scratch"}, memory.ConfirmationRequired)
	if out := call(t, s.Clear, memory.ClearIn{Namespace: "scratch", Confirm: true}); out.Cleared != 1 {
		t.Fatalf("got %+v", out)
	}
	call(t, s.Clear, memory.ClearIn{Confirm: true})
	if out := call(t, s.Stats, memory.StatsIn{}); out.TotalEntries != 1 {
		t.Fatalf("got %+v", out)
	}
}

func openStore(t *testing.T) memory.Store {
	t.Helper()
	db, err := storage.Open(t.Context(), "memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db.Memory()
}

// A service with a namespace of its own keeps to it, unless a call names another.
func TestOwnNamespace(t *testing.T) {
	t.Parallel()
	s := setup(t)
	store(t, s, "", "rule", `"default"`)
	s.Namespace = "project"
	if out := store(t, s, "", "rule", `"mine"`); out.Namespace != "project" || out.Replaced {
		t.Errorf("stored as %+v", out)
	}
	if out := call(t, s.Get, memory.GetIn{Key: "rule"}); string(out.Value) != `"mine"` {
		t.Errorf("read %s", out.Value)
	}
	for _, namespace := range []string{"", "default"} {
		if out := call(t, s.List, memory.ListIn{Namespace: namespace, Page: toolfold.Page{Limit: 10}}); out.Total != 1 {
			t.Errorf("%q lists %d entries", namespace, out.Total)
		}
	}
	if out := call(t, s.Search, memory.SearchIn{Query: "mine default rule", Page: toolfold.Page{Limit: 10}}); len(out.Results) != 1 || out.Results[0].Namespace != "project" {
		t.Errorf("found %+v", out.Results)
	}
	if out := call(t, s.Delete, memory.DeleteIn{Key: "rule"}); !out.Deleted || out.Namespace != "project" {
		t.Errorf("deleted %+v", out)
	}
	if out := call(t, s.Get, memory.GetIn{Key: "rule", Namespace: "default"}); !out.Found {
		t.Error("the entry of the other namespace is gone")
	}
}
