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
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
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

// refused runs an action that must fail with this code.
func refused[In, Out any](t *testing.T, action func(context.Context, In) (Out, error), in In, code string) *toolfold.Error {
	t.Helper()
	_, err := action(t.Context(), in)
	var failure *toolfold.Error
	if !errors.As(err, &failure) || failure.Code != code {
		t.Fatalf("%+v: got %v, want %s", in, err, code)
	}
	return failure
}

func store(t *testing.T, s *memory.Service, namespace, key, value string) memory.StoreOut {
	t.Helper()
	return call(t, s.Store, memory.StoreIn{Key: key, Namespace: namespace, Value: json.RawMessage(value)})
}

// fill stores n entries by one import; entry returns the key and the value of each.
func fill(t *testing.T, s *memory.Service, namespace string, n int, entry func(i int) (key, value string)) {
	t.Helper()
	var in memory.ImportIn
	in.Namespace = namespace
	for i := range n {
		key, value := entry(i)
		name, err := json.Marshal(key)
		if err != nil {
			t.Fatal(err)
		}
		in.Data = append(in.Data, fmt.Appendf(nil, `{"key":%s,"value":%s}`, name, value))
	}
	if out := call(t, s.Import, in); out.Imported != n {
		t.Fatalf("%d of %d entries are stored: %+v", out.Imported, n, out.Errors)
	}
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
	var failure *toolfold.Error
	if !errors.As(err, &failure) || failure.Code != memory.ValueTooLarge || failure.Hint == "" ||
		!strings.Contains(failure.Message, "262145") || !strings.Contains(failure.Message, "262144") {
		t.Fatalf("got %v", err)
	}
	for _, value := range []string{``, `{`} {
		refused(t, s.Store, memory.StoreIn{Key: "k", Value: json.RawMessage(value)}, toolfold.InvalidInput)
	}
}

// TestStoreAnyValue checks that every JSON value comes back unchanged, and that text with an object
// or list is stored as the object or list.
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
		Entries: []memory.GetItem{{Key: "b", Value: json.RawMessage(`{"v":2}`), StoredAt: at},
			{Key: "a", Value: json.RawMessage(`1`), StoredAt: at}},
	})
	out := call(t, s.Get, memory.GetIn{Keys: []string{"none", "a"}})
	if out.Found || len(out.Entries) != 1 || out.Message == "" {
		t.Fatalf("got %+v", out)
	}
	equal(t, out.Missing, []string{"none"})
	for _, in := range []memory.GetIn{{}, {Key: "a", Keys: []string{"b"}}} {
		if failure := refused(t, s.Get, in, toolfold.InvalidInput); failure.Hint == "" {
			t.Fatal("no hint")
		}
	}
}

// TestAnswersAreBounded checks that no response exceeds a mebibyte, whatever is stored, and that
// the rest can be read on.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var keys []string
	for i := range 12 {
		key := fmt.Sprintf("%02d%s", i, strings.Repeat("\x00", 498))
		keys = append(keys, key)
		store(t, s, strings.Repeat("\x01", 100), key, `"found `+strings.Repeat("x", 200<<10)+`"`)
	}
	fill(t, s, "many", 400, func(i int) (string, string) { return fmt.Sprintf("%03d%s", i, strings.Repeat("\x00", 490)), `"found"` })
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
	count := 0
	for in := (memory.ListIn{Page: toolfold.Page{Limit: 1000}}); ; {
		out := call(t, s.List, in)
		bounded(t, out)
		count += len(out.Keys)
		if in.Cursor = out.NextCursor; !out.HasMore {
			break
		}
	}
	equal(t, count, 412)
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

// TestBulkListsAreBounded checks that the declaration rejects a call with too many items, under
// every name.
func TestBulkListsAreBounded(t *testing.T) {
	t.Parallel()
	for _, a := range memory.Family.Declared().Actions {
		entries := []*entry.Entry{entry.Select(a)}
		for _, old := range a.Legacy {
			entries = append(entries, entry.Spell(a, old))
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

// Cursors of other lists and filters are rejected before the service is called.
func TestBadCursor(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for name, in := range map[string]memory.ListIn{
		"noise":       {Page: toolfold.Page{Cursor: "!"}},
		"not a place": {Page: toolfold.Page{Cursor: "e30"}},
	} {
		t.Run(name, func(t *testing.T) {
			if failure := refused(t, s.List, in, toolfold.InvalidInput); failure.Hint == "" {
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
	out := call(t, s.Stats, memory.StatsIn{Detailed: true, Page: toolfold.Page{Limit: 9}})
	equal(t, out, memory.StatsOut{
		TotalEntries: 3, NamespaceCount: 2, GeneratedAt: start.UTC().Truncate(time.Microsecond),
		ByNamespace: map[string]memory.NamespaceStats{
			"a": {Count: 2, Bytes: 9, Keys: []string{"k1", "k2"}},
			"b": {Count: 1, Bytes: 2, Keys: []string{"k1"}},
		},
	})
	out = call(t, s.Stats, memory.StatsIn{Namespace: "b", Page: toolfold.Page{Limit: 9}})
	equal(t, out.ByNamespace, map[string]memory.NamespaceStats{"b": {Count: 1, Bytes: 2}})
}

// Every namespace is on one page, and the sums include all.
func TestStatsPages(t *testing.T) {
	t.Parallel()
	s := setup(t)
	want := map[string]memory.NamespaceStats{}
	for i := range 7 {
		namespace := fmt.Sprint("project ", i)
		store(t, s, namespace, "k", `{}`)
		want[namespace] = memory.NamespaceStats{Count: 1, Bytes: 2}
	}
	got, pages := map[string]memory.NamespaceStats{}, 0
	for page := (toolfold.Page{Limit: 3}); ; pages++ {
		out := call(t, s.Stats, memory.StatsIn{Page: page})
		for namespace, stats := range out.ByNamespace {
			if _, again := got[namespace]; again {
				t.Errorf("%s is on two pages", namespace)
			}
			got[namespace] = stats
		}
		if out.TotalEntries != 7 || out.NamespaceCount != 7 || out.HasMore != (out.NextCursor != "") {
			t.Errorf("page %d: %+v", pages, out)
		}
		if page.Cursor = out.NextCursor; page.Cursor == "" {
			break
		}
	}
	equal(t, got, want)
	if pages != 2 {
		t.Errorf("%d more pages, want 2", pages)
	}
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
		if failure := refused(t, s.BulkDelete, in, toolfold.InvalidInput); failure.Hint == "" {
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
	db := storagetest.Open(t, "memory:")
	return db.Memory(memory.History{})
}

// A service with its own namespace uses it unless a call names another.
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
	if out := call(t, s.Search, memory.SearchIn{Query: "mine default rule", Page: toolfold.Page{Limit: 10}}); len(out.Results) != 1 ||
		out.Results[0].Namespace != "project" {
		t.Errorf("found %+v", out.Results)
	}
	if out := call(t, s.Delete, memory.DeleteIn{Key: "rule"}); !out.Deleted || out.Namespace != "project" {
		t.Errorf("deleted %+v", out)
	}
	if out := call(t, s.Get, memory.GetIn{Key: "rule", Namespace: "default"}); !out.Found {
		t.Error("the entry of the other namespace is gone")
	}
}

// clocked returns a service whose clock the test sets.
func clocked(t *testing.T) (*memory.Service, *time.Time) {
	t.Helper()
	now := start
	return memory.New(openStore(t), func() time.Time { return now }), &now
}

func TestTags(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for key, tags := range map[string][]string{"a": {"urgent", "billing", "urgent"}, "b": {"urgent"}, "c": nil} {
		call(t, s.Store, memory.StoreIn{Key: key, Value: json.RawMessage(`"an invoice"`), Tags: tags})
	}
	equal(t, call(t, s.Get, memory.GetIn{Key: "a"}).Tags, []string{"billing", "urgent"})
	page := toolfold.Page{Limit: 10}
	for _, test := range []struct {
		tags []string
		want int
	}{{nil, 3}, {[]string{"urgent"}, 2}, {[]string{"urgent", "billing"}, 1}, {[]string{"none"}, 0}} {
		list := call(t, s.List, memory.ListIn{Tags: test.tags, Page: page})
		found := call(t, s.Search, memory.SearchIn{Query: "invoice", Tags: test.tags, Page: page})
		exported := call(t, s.Export, memory.ExportIn{Tags: test.tags, Page: page})
		if len(list.Keys) != test.want || list.Total != test.want || found.Count != test.want || exported.Count != test.want {
			t.Errorf("%v: %d listed of %d, %d found, %d exported, want %d", test.tags, len(list.Keys), list.Total, found.Count, exported.Count,
				test.want)
		}
		if (list.Message != "") != (test.want == 0) || (found.Message != "") != (test.want == 0) {
			t.Errorf("%v: the messages are %q and %q", test.tags, list.Message, found.Message)
		}
	}
	if out := call(t, s.Search, memory.SearchIn{Query: "billing", Page: page}); out.Count != 1 || out.Results[0].Key != "a" {
		t.Errorf("a tag as a word finds %+v", out.Results)
	}
}

func TestListNewest(t *testing.T) {
	t.Parallel()
	s, now := clocked(t)
	for _, key := range []string{"c", "a", "b", "a"} {
		*now = now.Add(time.Second)
		store(t, s, "", key, `1`)
	}
	var got []string
	in := memory.ListIn{Order: "newest", Page: toolfold.Page{Limit: 2}}
	for {
		out := call(t, s.List, in)
		for _, k := range out.Keys {
			got = append(got, k.Key)
		}
		if in.Cursor = out.NextCursor; !out.HasMore {
			break
		}
	}
	equal(t, got, []string{"a", "b", "c"})
}

func TestTimeToLive(t *testing.T) {
	t.Parallel()
	s, now := clocked(t)
	in := memory.StoreIn{Key: "k", Value: json.RawMessage(`"a lock"`), TTLMs: new(1500)}
	at := now.UTC().Truncate(time.Microsecond).Add(1500 * time.Millisecond)
	equal(t, call(t, s.Store, in).ExpiresAt, &at)
	equal(t, call(t, s.Get, memory.GetIn{Key: "k"}).ExpiresAt, &at)
	in.IfAbsent = true
	if failure := refused(t, s.Store, in, memory.KeyExists); failure.Hint == "" {
		t.Error("no hint")
	}
	*now = now.Add(1500 * time.Millisecond)
	if out := call(t, s.Get, memory.GetIn{Key: "k"}); out.Found {
		t.Errorf("got %+v after its time", out)
	}
	if out := call(t, s.Search, memory.SearchIn{Query: "lock", Page: toolfold.Page{Limit: 1}}); out.Count != 0 {
		t.Errorf("found %+v after its time", out)
	}
	if out := call(t, s.Stats, memory.StatsIn{}); out.TotalEntries != 0 {
		t.Errorf("counted %+v after its time", out)
	}
	if out := call(t, s.Store, in); out.Replaced {
		t.Errorf("got %+v, want a new entry", out)
	}
	in.IfAbsent, in.TTLMs = false, new(0)
	if out := call(t, s.Store, in); !out.Replaced || out.ExpiresAt != nil {
		t.Errorf("got %+v, want the entry replaced, without an end", out)
	}
}

// TestExpiredEntriesAreRemoved checks that expired entries are removed in batches when other entries are
// stored.
func TestExpiredEntriesAreRemoved(t *testing.T) {
	t.Parallel()
	db := openStore(t)
	now := start
	s := memory.New(db, func() time.Time { return now })
	for i := range 450 {
		call(t, s.Store, memory.StoreIn{Key: fmt.Sprint(i), Value: json.RawMessage(`1`), TTLMs: new(1000)})
	}
	left := func() int {
		t.Helper()
		n, err := db.Count(t.Context(), memory.Scope{}) // without a time, so expired entries count too
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	now = now.Add(time.Hour)
	for _, want := range []int{251, 51, 1, 1} {
		store(t, s, "", "new", `1`)
		equal(t, left(), want)
	}
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, key := range []string{"a1", "a2", "b"} {
		store(t, s, "", key, `1`)
	}
	for key, want := range map[string]int{"a1": 1, "none": 0} {
		out := call(t, s.Delete, memory.DeleteIn{Key: key, DryRun: true})
		if out.Deleted || *out.WouldDelete != want || out.Message == "" {
			t.Errorf("%s: got %+v", key, out)
		}
	}
	for _, test := range []struct {
		in       memory.BulkDeleteIn
		want     []string
		notFound int
	}{
		{memory.BulkDeleteIn{Prefix: "a"}, []string{"a1", "a2"}, 0},
		{memory.BulkDeleteIn{Keys: []string{"b", "none"}}, []string{"b"}, 1},
	} {
		test.in.DryRun = true
		out := call(t, s.BulkDelete, test.in)
		if out.Deleted != 0 || len(out.DeletedKeys) != 0 || *out.WouldDelete != len(test.want) || out.NotFound != test.notFound {
			t.Errorf("%+v: got %+v", test.in, out)
		}
		equal(t, out.Keys, test.want)
	}
	if total := call(t, s.List, memory.ListIn{Page: toolfold.Page{Limit: 9}}).Total; total != 3 {
		t.Errorf("%d entries are left, want all", total)
	}
}

func TestClearOfUnknownNamespace(t *testing.T) {
	t.Parallel()
	s := setup(t)
	store(t, s, "", "a", `1`)
	out := call(t, s.Clear, memory.ClearIn{Namespace: "defualt", Confirm: true})
	if out.Cleared != 0 || !strings.Contains(out.Message, `"defualt"`) {
		t.Errorf("got %+v", out)
	}
	if out := call(t, s.Clear, memory.ClearIn{Namespace: "default", Confirm: true}); out.Cleared != 1 || out.Message != "" {
		t.Errorf("got %+v", out)
	}
}

// TestWorkspaces checks that the notes of all projects are found, and that notes of this project
// come before other notes that match about as well. Results name the workspaces.
func TestWorkspaces(t *testing.T) {
	t.Parallel()
	db := openStore(t)
	now := start
	in := map[string]*memory.Service{}
	for _, name := range []string{"", "shop", "site"} {
		in[name] = memory.New(db, func() time.Time { return now })
		in[name].Workspace = name
	}
	call(t, in[""].Store, memory.StoreIn{Key: "old", Value: json.RawMessage(`"Deploys run from main"`), Scope: memory.User})
	store(t, in["shop"], "", "shop", `"Deploys run from the branch main"`)
	now = now.Add(time.Hour)
	store(t, in["site"], "", "site", `"Deploys run from release"`)
	store(t, in["site"], "", "both", `"Deploys of the shop and the site run from one machine on Fridays"`)

	page := toolfold.Page{Limit: 9}
	for name, want := range map[string]string{"shop": "shop", "site": "site"} {
		out := call(t, in[name].Search, memory.SearchIn{Query: "where do deploys run from", Page: page})
		if len(out.Results) != 4 || out.Results[0].Key != want {
			t.Errorf("%s finds %+v", name, out.Results)
		}
		for _, h := range out.Results {
			if (h.Workspace == "") != (h.Key == name || h.Key == "both" && name == "site") {
				t.Errorf("%s sees %s as of %q", name, h.Key, h.Workspace)
			}
		}
		// A clearly better match comes first, from any workspace.
		out = call(t, in[name].Search, memory.SearchIn{Query: "deploys machine fridays", Page: page})
		if out.Results[0].Key != "both" {
			t.Errorf("%s finds %+v", name, out.Results)
		}
	}
	for filter, want := range map[string]int{"": 4, "site": 2, ".": 1, "none": 0} {
		list := call(t, in["shop"].List, memory.ListIn{Workspace: filter, Page: page})
		found := call(t, in["shop"].Search, memory.SearchIn{Query: "deploys", Workspace: filter, Page: page})
		exported := call(t, in["shop"].Export, memory.ExportIn{Workspace: filter, Page: page})
		if list.Total != want || found.Count != want || exported.Count != want {
			t.Errorf("%q: %d listed, %d found, %d exported, want %d", filter, list.Total, found.Count, exported.Count, want)
		}
	}
	if out := call(t, in["shop"].Get, memory.GetIn{Key: "site"}); out.Workspace != "site" {
		t.Errorf("got %+v", out)
	}
}
