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

	"github.com/toolfold/toolfold/storage"
	"github.com/toolfold/toolfold/tools"
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
func refused[In, Out any](t *testing.T, action func(context.Context, In) (Out, error), in In, code string) *tools.Error {
	t.Helper()
	_, err := action(t.Context(), in)
	var told *tools.Error
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
	got := call(t, s.Get, memory.KeyIn{Key: "team/rules"})
	if !got.Found || string(got.Value) != `{"n":12345678901234567890.10,"e":1E+2}` {
		t.Fatalf("got %+v", got)
	}
	if want := "2026-01-31T11:00:00.123456Z"; got.StoredAt.Format(time.RFC3339Nano) != want {
		t.Fatalf("stored at %v, want %s", got.StoredAt, want)
	}
	if other := call(t, s.Get, memory.KeyIn{Key: "team/rules", Namespace: "other"}); other.Found || other.Message == "" {
		t.Fatalf("got %+v", other)
	}
}

func TestValueLimit(t *testing.T) {
	t.Parallel()
	s := setup(t)
	fits := `{"a":"` + strings.Repeat("x", 1<<20-8) + `"}`
	store(t, s, "", "fits", fits)
	in := memory.StoreIn{Key: "more", Value: json.RawMessage(`{"a":"` + strings.Repeat("x", 1<<20-7) + `"}`)}
	told := refused(t, s.Store, in, memory.ValueTooLarge)
	if !strings.Contains(told.Message, "1048577") || !strings.Contains(told.Message, "1048576") {
		t.Fatalf("got %q", told.Message)
	}
	for _, value := range []string{`[]`, `"x"`, `null`, ``, `{`} {
		refused(t, s.Store, memory.StoreIn{Key: "k", Value: json.RawMessage(value)}, tools.InvalidInput)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	s := setup(t)
	store(t, s, "", "a", `{}`)
	if out := call(t, s.Delete, memory.KeyIn{Key: "a", Namespace: "other"}); out.Deleted {
		t.Fatalf("got %+v", out)
	}
	if out := call(t, s.Delete, memory.KeyIn{Key: "a"}); !out.Deleted {
		t.Fatalf("got %+v", out)
	}
	if out := call(t, s.Delete, memory.KeyIn{Key: "a"}); out.Deleted || out.Message == "" {
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
	in := memory.ListIn{Prefix: "k", Limit: 5}
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
	if out := call(t, s.List, memory.ListIn{Namespace: "a", Limit: 8}); out.HasMore || len(out.Keys) != 8 {
		t.Fatalf("got %+v", out)
	}
	if out := call(t, s.List, memory.ListIn{Namespace: "none", Limit: 8}); out.Keys == nil || out.Total != 0 {
		t.Fatalf("got %+v", out)
	}
}

func TestBadCursor(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, k := range []string{"k1", "k2"} {
		store(t, s, "a", k, `{}`)
	}
	next := call(t, s.List, memory.ListIn{Namespace: "a", Limit: 1}).NextCursor
	for name, in := range map[string]memory.ListIn{
		"noise":           {Cursor: "!"},
		"not a place":     {Cursor: "e30"},
		"other namespace": {Cursor: next, Namespace: "b"},
		"other prefix":    {Cursor: next, Prefix: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			if told := refused(t, s.List, in, tools.InvalidInput); told.Hint == "" {
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
		if told := refused(t, s.BulkDelete, in, tools.InvalidInput); told.Hint == "" {
			t.Fatal("no hint")
		}
	}
	if total := call(t, s.List, memory.ListIn{Limit: 9}).Total; total != 1 {
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
