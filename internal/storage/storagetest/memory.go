package storagetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/memory"
)

// Memory returns the tests of the store of the memory family.
func Memory() Suite {
	return Suite{
		Name: "memory",
		Behaviours: map[string]func(*testing.T, *storage.DB){
			"put and get":           putAndGet,
			"any key":               anyKey,
			"order and pages":       orderAndPages,
			"scopes":                scopes,
			"import":                importEntries,
			"delete":                deleteEntries,
			"store one key at once": storeAtOnce,
			"import at once":        importAtOnce,
			"search":                searchIndex,
			"search a scope":        searchScope,
			"search large":          searchLarge,
			"search latest":         searchLatest,
			"add":                   addEntries,
			"labels":                labels,
			"newest first":          newestFirst,
			"workspaces":            workspaces,
			"expire":                expireEntries,
			"vectors":               vectors,
			"history":               history,
			"history of deleted":    historyOfDeleted,
			"history is bounded":    historyIsBounded,
			"restore at once":       restoreAtOnce,
			"marks of files":        marksOfFiles,
		},
		Durabilities: map[string]func(*testing.T, string){
			"purge whole": purgeWhole,
			"reopen":      reopen,
		},
	}
}

var noon = time.Date(2026, 1, 31, 12, 0, 0, 123456000, time.UTC)

// entry is an entry as the store has it if it was stored once.
func entry(namespace, key, value string) memory.Entry {
	return memory.Entry{Namespace: namespace, Key: key, Value: json.RawMessage(value), StoredAt: noon, Version: 1}
}

// worded returns entries as the family stores them.
func worded(list ...memory.Entry) []memory.Entry {
	for i, e := range list {
		list[i].Words = memory.IndexText(e)
	}
	return list
}

func put(t *testing.T, s memory.Store, e memory.Entry) (replaced bool) {
	t.Helper()
	e.Words = memory.IndexText(e)
	old, err := s.Put(t.Context(), e, nil)
	noError(t, err)
	return old != nil
}

func get(t *testing.T, s memory.Store, namespace, key string) memory.Entry {
	t.Helper()
	return getAt(t, s, memory.Place{Namespace: namespace, Key: key})
}

func getAt(t *testing.T, s memory.Store, at memory.Place) memory.Entry {
	t.Helper()
	e, found, err := s.Get(t.Context(), at, time.Time{})
	noError(t, err)
	if !found {
		t.Fatalf("there is no entry at %+v", at)
	}
	return e
}

// everything returns all entries of a store as namespace/key=value.
func everything(t *testing.T, s memory.Store) []string {
	t.Helper()
	entries, err := s.Entries(t.Context(), memory.Scope{}, memory.Page{})
	noError(t, err)
	list := []string{}
	for _, e := range entries {
		list = append(list, e.Namespace+"/"+e.Key+"="+string(e.Value))
	}
	return list
}

func putAndGet(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{})
	first := entry("n", "k", `{"big":123456789012345678901234567890,"spelt":1.50}`)
	if put(t, s, first) {
		t.Fatal("a new entry replaced something")
	}
	equal(t, get(t, s, "n", "k"), first)
	second := entry("n", "k", `{}`)
	second.StoredAt, second.Version = noon.Add(time.Microsecond), 2
	if !put(t, s, second) {
		t.Fatal("the second entry of a key replaced nothing")
	}
	equal(t, get(t, s, "n", "k"), second)
	third := second
	third.Author = "ann"
	old, err := s.Put(t.Context(), third, func(e, old memory.Entry) memory.Entry {
		e.Value = json.RawMessage(`[` + string(old.Value) + `]`)
		return e
	})
	noError(t, err)
	equal(t, *old, second)
	third.Value, third.Version = json.RawMessage(`[{}]`), 3
	equal(t, get(t, s, "n", "k"), third)
	for _, at := range []memory.Place{{Namespace: "n", Key: "none"}, {Namespace: "none", Key: "k"}} {
		if e, found, err := s.Get(t.Context(), at, time.Time{}); found || err != nil {
			t.Fatalf("an entry that is not there: %v, %v", e, err)
		}
	}
}

// oddKeys returns keys that are difficult to quote, encode or compare, in byte order.
func oddKeys() []string {
	list := []string{
		"\x00", "\x00\x00", " ", "  ", "%", "'", "' OR 1=1 --", "*", "?", "A", "Z", `\`, "_", "a", "a\x00b", "a:b", "a:b:c",
		"é", "e\u0301", "ß", "\u2028", "中文", "\uffff", "🙂", "🙂🙂", "\U0010ffff",
		manyRunes(500), strings.Repeat("🙂", 500), strings.Repeat("\x00", 500), strings.Repeat("k", 500),
	}
	slices.Sort(list)
	return list
}

// manyRunes returns a text of n different four-byte characters, which no database can compress.
func manyRunes(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteRune(rune(0x10000 + i*i%0xfffd*16))
	}
	return b.String()
}

func anyKey(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{})
	for i, k := range oddKeys() {
		e := entry("n", k, fmt.Sprintf(`{"i":%d}`, i))
		if put(t, s, e) {
			t.Fatalf("%q replaced another key", k)
		}
		e.Namespace = string([]rune(k)[:min(100, len([]rune(k)))])
		put(t, s, e)
		equal(t, get(t, s, e.Namespace, k), e)
	}
	for i, k := range oddKeys() {
		equal(t, get(t, s, "n", k), entry("n", k, fmt.Sprintf(`{"i":%d}`, i)))
		page, err := s.Headings(t.Context(), memory.Scope{Namespace: "n", Prefix: k}, memory.Page{Limit: 1})
		noError(t, err)
		equal(t, page[0].Key, k)
	}
	deleted, err := s.Delete(t.Context(), memory.Scope{Namespace: "n"}, oddKeys())
	noError(t, err)
	equal(t, deleted, oddKeys())
}

func orderAndPages(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{})
	var want []string
	for _, n := range []string{"B", "a", "é"} {
		for _, k := range oddKeys() {
			put(t, s, entry(n, k, `{}`))
			want = append(want, n+"/"+k)
		}
	}
	var got []string
	page := memory.Page{Limit: 4}
	for {
		list, err := s.Headings(t.Context(), memory.Scope{}, page)
		noError(t, err)
		if len(list) == 0 {
			break
		}
		for _, e := range list {
			if e.Size != 2 || !e.StoredAt.Equal(noon) {
				t.Fatalf("got %+v", e)
			}
			got = append(got, e.Namespace+"/"+e.Key)
			page.After = memory.Place{Namespace: e.Namespace, Key: e.Key}
		}
	}
	equal(t, got, want)
}

func scopes(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{})
	for _, e := range []memory.Entry{entry("a", "x1", `{}`), entry("a", "x2", `{"v":1}`), entry("a", "y", `{}`), entry("b", "x1", `{}`)} {
		put(t, s, e)
	}
	for _, test := range []struct {
		scope memory.Scope
		want  int
	}{
		{memory.Scope{}, 4},
		{memory.Scope{Namespace: "a"}, 3},
		{memory.Scope{Prefix: "x"}, 3},
		{memory.Scope{Namespace: "a", Prefix: "x"}, 2},
		{memory.Scope{Namespace: "a", Prefix: "x1"}, 1},
		{memory.Scope{Namespace: "c"}, 0},
		{memory.Scope{Prefix: "X"}, 0},
	} {
		scope, want := test.scope, test.want
		n, err := s.Count(t.Context(), scope)
		noError(t, err)
		list, err := s.Entries(t.Context(), scope, memory.Page{})
		noError(t, err)
		if n != want || len(list) != want {
			t.Fatalf("%+v has %d entries and %d are listed, want %d", scope, n, len(list), want)
		}
	}
	totals, err := s.Totals(t.Context(), memory.Scope{})
	noError(t, err)
	equal(t, totals, []memory.Totals{{Namespace: "a", Count: 3, Bytes: 11}, {Namespace: "b", Count: 1, Bytes: 2}})
	totals, err = s.Totals(t.Context(), memory.Scope{Namespace: "c"})
	noError(t, err)
	equal(t, totals, []memory.Totals{})
}

func importEntries(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{})
	put(t, s, entry("n", "b", `{"v":0}`))
	list := []memory.Entry{entry("n", "c", `{"v":1}`), entry("n", "b", `{"v":1}`), entry("n", "a", `{"v":1}`), entry("n", "c", `{"v":2}`)}
	n, err := s.Import(t.Context(), worded(list...), false, noon)
	noError(t, err)
	equal(t, n, 2)
	equal(t, everything(t, s), []string{`n/a={"v":1}`, `n/b={"v":0}`, `n/c={"v":1}`})
	n, err = s.Import(t.Context(), list, true, noon)
	noError(t, err)
	equal(t, n, 4)
	equal(t, everything(t, s), []string{`n/a={"v":1}`, `n/b={"v":1}`, `n/c={"v":2}`})
	n, err = s.Import(t.Context(), worded(nil...), true, noon)
	noError(t, err)
	equal(t, n, 0)
}

func deleteEntries(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{})
	for _, k := range []string{"a", "b", "p%1", "p%2", "p_", "q"} {
		put(t, s, entry("n", k, `{}`))
		put(t, s, entry("other", k, `{}`))
	}
	deleted, err := s.Delete(t.Context(), memory.Scope{Namespace: "n"}, []string{"b", "none", "a", "b"})
	noError(t, err)
	equal(t, deleted, []string{"b", "a"})
	for _, c := range []struct {
		namespace, prefix string
		naming, want      int
		first             []string
	}{
		{"n", "p%", 9, 2, []string{"p%1", "p%2"}},
		{"", "", 9, 0, []string{}},
		{"n", "", 1, 2, []string{"p_"}},
	} {
		n, first, err := s.DeleteAll(t.Context(), memory.Scope{Namespace: c.namespace, Prefix: c.prefix}, c.naming)
		noError(t, err)
		equal(t, n, c.want)
		equal(t, first, c.first)
	}
	n, err := s.Count(t.Context(), memory.Scope{})
	noError(t, err)
	equal(t, n, 6)
}

// storeAtOnce stores one key from many callers: exactly one creates it, and the final value is one
// caller's.
func storeAtOnce(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{})
	const callers, times = 8, 20
	fresh := make([]int, callers)
	noError(t, each(callers, func(i int) error {
		for j := range times {
			old, err := s.Put(t.Context(), worded(entry("n", "k", fmt.Sprintf(`{"by":"%d-%d"}`, i, j)))[0], nil)
			if err != nil {
				return err
			}
			if old == nil {
				fresh[i]++
			}
		}
		return nil
	}))
	stored := 0
	for _, n := range fresh {
		stored += n
	}
	if stored != 1 {
		t.Fatalf("%d callers learned that the key is new, want one", stored)
	}
	if list := everything(t, s); len(list) != 1 || !strings.HasSuffix(list[0], fmt.Sprintf(`-%d"}`, times-1)) {
		t.Fatalf("got %v, want the last value of one caller", list)
	}
}

// importAtOnce has callers import the same entries in opposite orders while other callers delete
// them.
func importAtOnce(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{})
	var list []memory.Entry
	for i := range 50 {
		list = append(list, worded(entry("n", fmt.Sprintf("k%02d", i), `{"text":"one two three"}`))...)
	}
	reversed := slices.Clone(list)
	slices.Reverse(reversed)
	noError(t, each(6, func(i int) error {
		var err error
		switch i % 3 {
		case 0:
			_, err = s.Import(t.Context(), list, true, noon)
		case 1:
			_, err = s.Import(t.Context(), reversed, true, noon)
		case 2:
			_, _, err = s.DeleteAll(t.Context(), memory.Scope{Namespace: "n", Prefix: "k"}, 9)
		}
		return err
	}))
	n, err := s.Import(t.Context(), list, true, noon)
	noError(t, err)
	equal(t, n, 50)
	equal(t, len(matching(t, s, "two")), 50)
}

func reopen(t *testing.T, url string) {
	var want []string
	for i, k := range oddKeys() {
		db := mustOpen(t, url)
		put(t, db.Memory(memory.History{}), entry("n", k, fmt.Sprintf(`{"i":%d}`, i)))
		want = append(want, fmt.Sprintf(`n/%s={"i":%d}`, k, i))
		equal(t, everything(t, db.Memory(memory.History{})), want)
		noError(t, db.Close())
	}
}

// addEntries stores only missing entries; expired ones count as missing.
func addEntries(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{})
	first := worded(entry("n", "k", `1`))[0]
	first.ExpiresAt = noon.Add(time.Hour)
	second := worded(entry("n", "k", `2`))[0]
	for i, test := range []struct {
		e    memory.Entry
		at   time.Duration
		want bool
	}{{first, 0, true}, {second, time.Minute, false}, {second, time.Hour, true}, {first, 2 * time.Hour, false}} {
		test.e.StoredAt = noon.Add(test.at)
		added, err := s.Add(t.Context(), test.e)
		noError(t, err)
		if added != test.want {
			t.Fatalf("call %d: added is %v", i, added)
		}
	}
	equal(t, everything(t, s), []string{"n/k=2"})

	var made atomic.Int64
	noError(t, each(8, func(int) error {
		added, err := s.Add(t.Context(), worded(entry("n", "once", `1`))[0])
		if added {
			made.Add(1)
		}
		return err
	}))
	equal(t, made.Load(), int64(1))
}

// labels limits lists, counts and searches to tags and workspaces.
func labels(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{})
	add := func(key, workspace string, tags ...string) memory.Entry {
		e := entry("n", key, `{"text":"word"}`)
		e.Workspace, e.Tags = workspace, tags
		put(t, s, e)
		return e
	}
	a := add("a", "here", "urgent", "中'\" %")
	b := add("b", "there", "urgent")
	add("c", "")
	equal(t, getAt(t, s, memory.Place{Namespace: "n", Key: "a", Workspace: "here"}), a)
	for _, test := range []struct {
		scope memory.Scope
		want  string
	}{
		{memory.Scope{}, "a b c"},
		{memory.Scope{Tags: []string{"urgent"}}, "a b"},
		{memory.Scope{Tags: []string{"urgent", "中'\" %"}}, "a"},
		{memory.Scope{Tags: []string{"urg"}}, ""},
		{memory.Scope{Workspace: "there"}, "b"},
		{memory.Scope{Workspace: "there", Tags: []string{"urgent"}, Namespace: "n", Prefix: "b"}, "b"},
		{memory.Scope{Workspace: "urgent"}, ""},
		{memory.Scope{Namespace: "other", Tags: []string{"urgent"}}, ""},
	} {
		keys := []string{}
		headings, err := s.Headings(t.Context(), test.scope, memory.Page{})
		noError(t, err)
		for _, h := range headings {
			keys = append(keys, h.Key)
		}
		latest, err := s.Newest(t.Context(), test.scope, memory.Moment{}, 10)
		noError(t, err)
		ids, err := s.Matching(t.Context(), test.scope, match("word"), 10)
		noError(t, err)
		n, err := s.Count(t.Context(), test.scope)
		noError(t, err)
		if strings.Join(keys, " ") != test.want || len(latest) != len(keys) || len(ids) != len(keys) || n != len(keys) {
			t.Fatalf("%+v: got %v, %d newest, %d matches, %d counted", test.scope, keys, len(latest), len(ids), n)
		}
	}
	b.Tags = nil // an entry has the tags of its last store
	put(t, s, b)
	n, err := s.Count(t.Context(), memory.Scope{Tags: []string{"urgent"}})
	noError(t, err)
	equal(t, n, 1)
	entries, err := s.Load(t.Context(), matching(t, s, "word"))
	noError(t, err)
	for _, e := range entries {
		equal(t, e, getAt(t, s, memory.Place{Namespace: "n", Key: e.Key, Workspace: e.Workspace}))
	}
}

// workspaces are part of an entry's identity and limit lists and deletions.
func workspaces(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{})
	for _, w := range []string{"b", "a", manyRunes(125)} {
		for _, key := range []string{"k", manyRunes(500)} {
			e := entry("n", key, `1`)
			e.Workspace, e.Author = w, "ann"
			if key != "k" {
				e.Namespace = manyRunes(100) // the longest possible name
			}
			if put(t, s, e) {
				t.Fatal("an entry of another workspace was replaced")
			}
			equal(t, getAt(t, s, memory.Place{Namespace: e.Namespace, Key: key, Workspace: w}), e)
		}
	}
	list := func(scope memory.Scope, page memory.Page) (names []string) {
		headings, err := s.Headings(t.Context(), scope, page)
		noError(t, err)
		for _, h := range headings {
			names = append(names, h.Workspace)
		}
		return names
	}
	equal(t, list(memory.Scope{Namespace: "n", Key: "k"}, memory.Page{}), []string{"a", "b", manyRunes(125)})
	equal(t, list(memory.Scope{Key: "k", Except: "b"}, memory.Page{}), []string{"a", manyRunes(125)})
	equal(t, list(memory.Scope{Key: "k", Workspace: "b"}, memory.Page{}), []string{"b"})
	after := memory.Page{After: memory.Place{Namespace: "n", Key: "k", Workspace: "a"}, Limit: 1}
	equal(t, list(memory.Scope{Namespace: "n"}, after), []string{"b"})
	gone, err := s.Delete(t.Context(), memory.Scope{Namespace: "n", Workspace: "a"}, []string{"k"})
	noError(t, err)
	equal(t, gone, []string{"k"})
	n, first, err := s.DeleteAll(t.Context(), memory.Scope{Namespace: "n", Workspace: "b"}, 9)
	noError(t, err)
	equal(t, n, 1)
	equal(t, first, []string{"k"})
	equal(t, list(memory.Scope{Namespace: "n"}, memory.Page{}), []string{manyRunes(125)})
}

// newestFirst pages through entries by time, then by id.
func newestFirst(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{})
	for i, at := range []int{3, 1, 2, 2, 2} {
		e := entry("n", fmt.Sprint(i), `1`)
		e.StoredAt = noon.Add(time.Duration(at) * time.Hour)
		put(t, s, e)
	}
	var got []string
	for after := (memory.Moment{}); ; {
		page, err := s.Newest(t.Context(), memory.Scope{}, after, 2)
		noError(t, err)
		if len(page) == 0 {
			break
		}
		for _, h := range page {
			got = append(got, h.Key)
			after = memory.Moment{StoredAt: h.StoredAt, ID: h.ID}
		}
	}
	equal(t, got, []string{"0", "4", "3", "2", "1"})
}

// expireEntries checks that an entry is gone for every reader once it expires, even before it is
// removed.
func expireEntries(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{})
	stay := entry("n", "stay", `{"text":"word"}`)
	put(t, s, stay)
	for i := range 5 {
		e := entry("n", fmt.Sprint("gone", i), `{"text":"word"}`)
		e.ExpiresAt = noon.Add(time.Hour)
		put(t, s, e)
		equal(t, get(t, s, "n", e.Key), e)
	}
	count := func(now time.Time) [7]int {
		scope := memory.Scope{Namespace: "n", Now: now}
		headings, err := s.Headings(t.Context(), scope, memory.Page{})
		noError(t, err)
		entries, err := s.Entries(t.Context(), scope, memory.Page{})
		noError(t, err)
		latest, err := s.Newest(t.Context(), scope, memory.Moment{}, 10)
		noError(t, err)
		ids, err := s.Matching(t.Context(), scope, match("word"), 10)
		noError(t, err)
		counted, err := s.Count(t.Context(), scope)
		noError(t, err)
		existing, err := s.Existing(t.Context(), scope, []string{"gone0", "gone1", "gone2", "gone3", "gone4", "none", "stay"})
		noError(t, err)
		totals, err := s.Totals(t.Context(), scope)
		noError(t, err)
		return [7]int{len(headings), len(entries), len(latest), len(ids), counted, len(existing), totals[0].Count}
	}
	before, after := noon.Add(time.Hour-time.Microsecond), noon.Add(time.Hour)
	equal(t, count(before), [7]int{6, 6, 6, 6, 6, 6, 6})
	equal(t, count(after), [7]int{1, 1, 1, 1, 1, 1, 1})

	if _, found, err := s.Get(t.Context(), memory.Place{Namespace: "n", Key: "gone0"}, after); found || err != nil {
		t.Fatalf("an expired entry was read: %v", err)
	}
	scope := memory.Scope{Namespace: "n", Now: after}
	deleted, err := s.Delete(t.Context(), scope, []string{"gone0"})
	noError(t, err)
	equal(t, deleted, []string{})
	again := entry("n", "gone0", `"anew"`)
	again.StoredAt = after
	if put(t, s, again) {
		t.Fatal("a new entry replaced an expired one")
	}
	imported, err := s.Import(t.Context(), worded(entry("n", "gone1", `"anew"`), entry("n", "stay", `"anew"`)), false, after)
	noError(t, err)
	equal(t, imported, 1)

	for _, want := range []int{2, 1, 0} {
		removed, err := s.Expire(t.Context(), after, 2)
		noError(t, err)
		equal(t, removed, want)
	}
	equal(t, everything(t, s), []string{`n/gone0="anew"`, `n/gone1="anew"`, `n/stay={"text":"word"}`})
	n, _, err := s.DeleteAll(t.Context(), scope, 1)
	noError(t, err)
	equal(t, n, 3)
}
