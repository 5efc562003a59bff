package memory_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/toolfoldtest"
	"github.com/toolfold/toolfold/tools/memory"
)

// raw returns entries in the form in which a caller sends them back.
func raw(t *testing.T, data []memory.ExportItem) []json.RawMessage {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestExportAndImport(t *testing.T) {
	t.Parallel()
	from := setup(t)
	store(t, from, "", "a:b\x00🙂", `{"big":123456789012345678901234567890,"n":1.50}`)
	store(t, from, "other", "a:b", `{"text":"line\u2028break"}`)
	from.Workspace = "shop"
	call(t, from.Store, memory.StoreIn{Key: "labelled", Namespace: "other", Value: json.RawMessage(`1`), Tags: []string{"b", "a"},
		TTLMs: new(2 * 3600_000)})
	exported := call(t, from.Export, memory.ExportIn{IncludeMetadata: true})
	if exported.Count != 3 || exported.HasMore || exported.Data[0].Workspace != "shop" || exported.Data[0].ExpiresAt == nil {
		t.Fatalf("got %+v", exported)
	}

	to := memory.New(openStore(t), func() time.Time { return start.Add(time.Hour) })
	to.Workspace = "shop"
	out := call(t, to.Import, memory.ImportIn{Data: raw(t, exported.Data)})
	if out.Imported != 3 || out.Skipped != 0 || out.Errors != nil {
		t.Fatalf("got %+v", out)
	}
	again := call(t, to.Export, memory.ExportIn{IncludeMetadata: true})
	equal(t, again.Data, exported.Data)
	if out := call(t, to.Export, memory.ExportIn{Tags: []string{"a", "b"}, Workspace: "shop"}); out.Count != 1 {
		t.Fatalf("the tags are lost: %+v", out)
	}

	late := memory.New(openStore(t), func() time.Time { return start.Add(2 * time.Hour) })
	out = call(t, late.Import, memory.ImportIn{Data: raw(t, exported.Data)})
	if out.Imported != 2 || out.Failed != 1 || out.Errors[0] != (memory.ImportProblem{Index: 0, Message: "it has expired"}) {
		t.Fatalf("got %+v", out)
	}
}

func TestExportPagesAndMetadata(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, k := range []string{"a", "b", "c"} {
		store(t, s, "n", k, `{}`)
	}
	out := call(t, s.Export, memory.ExportIn{Page: toolfold.Page{Limit: 2}})
	equal(t, out.Data, []memory.ExportItem{
		{Key: "a", Namespace: "n", Value: json.RawMessage(`{}`)},
		{Key: "b", Namespace: "n", Value: json.RawMessage(`{}`)},
	})
	out = call(t, s.Export, memory.ExportIn{Page: toolfold.Page{Limit: 2, Cursor: out.NextCursor}})
	if out.Count != 1 || out.HasMore || out.Data[0].Key != "c" {
		t.Fatalf("got %+v", out)
	}
}

func TestImportJudgesEachEntry(t *testing.T) {
	t.Parallel()
	s := setup(t)
	data := []json.RawMessage{}
	for _, text := range []string{
		`{"key":"good","value":{}}`,
		`{"value":{}}`,
		`{"key":"list","value":[1]}`,
		`{"key":7,"value":{}}`,
		`"text"`,
		`null`,
		`{"key":"k","value":{},"storedAt":"yesterday"}`,
		`{"key":"k","value":{},"labels":[]}`,
		`{"key":"dated","value":{},"namespace":"n","storedAt":"2020-01-01T02:00:00.5+02:00"}`,
		`{"key":"k"}`,
		`{"key":"","value":1}`,
		`{"key":"k","value":1,"namespace":null,"storedAt":null}`,
		`{"key":"k","value":"` + strings.Repeat("x", 256<<10) + `"}`,
		`{"key":"` + strings.Repeat("k", 501) + `","value":1}`,
	} {
		data = append(data, json.RawMessage(text))
	}
	out := call(t, s.Import, memory.ImportIn{Data: data})
	if out.Imported != 4 || out.Skipped != 0 || out.Failed != 10 {
		t.Fatalf("got %+v", out)
	}
	equal(t, out.Errors, []memory.ImportProblem{
		{Index: 1, Message: "key is missing"},
		{Index: 3, Message: "key must be string, got number"},
		{Index: 4, Message: "an entry must be an object with key and value"},
		{Index: 5, Message: "an entry must be an object with key and value"},
		{Index: 6, Message: "storedAt must be a date-time such as 2026-01-31T12:00:00Z"},
		{Index: 7, Message: `"labels" is unknown`},
		{Index: 9, Message: "value is missing"},
		{Index: 10, Message: "key must be 1 to 500 long, got 0"},
		{Index: 12, Message: "value has 262146 bytes of compact JSON, the limit is 262144"},
		{Index: 13, Message: "key must be 1 to 500 long, got 501"},
	})
	dated := call(t, s.Get, memory.GetIn{Key: "dated", Namespace: "n"})
	if want := time.Date(2020, 1, 1, 0, 0, 0, 5e8, time.UTC); !dated.StoredAt.Equal(want) {
		t.Fatalf("stored at %v, want %v", dated.StoredAt, want)
	}
}

func TestImportOverExisting(t *testing.T) {
	t.Parallel()
	s := setup(t)
	store(t, s, "n", "a", `{"v":"old"}`)
	data := []json.RawMessage{
		json.RawMessage(`{"key":"a","value":{"v":"new"},"namespace":"m"}`),
		json.RawMessage(`{"key":"b","value":{"v":"first"}}`),
		json.RawMessage(`{"key":"b","value":{"v":"second"}}`),
	}
	out := call(t, s.Import, memory.ImportIn{Data: data, Namespace: "n"})
	if out.Imported != 1 || out.Skipped != 2 {
		t.Fatalf("got %+v", out)
	}
	wantValue(t, s, "n", "a", `{"v":"old"}`)
	wantValue(t, s, "n", "b", `{"v":"first"}`)
	out = call(t, s.Import, memory.ImportIn{Data: data, Namespace: "n", Overwrite: true})
	if out.Imported != 3 || out.Skipped != 0 {
		t.Fatalf("got %+v", out)
	}
	wantValue(t, s, "n", "a", `{"v":"new"}`)
	wantValue(t, s, "n", "b", `{"v":"second"}`)
}

func wantValue(t *testing.T, s *memory.Service, namespace, key, want string) {
	t.Helper()
	got := call(t, s.Get, memory.GetIn{Key: key, Namespace: namespace})
	if string(got.Value) != want {
		t.Fatalf("%s has %s, want %s", key, got.Value, want)
	}
}

// TestImportOfManyBadEntries checks that an entry is checked after any number of invalid ones.
func TestImportOfManyBadEntries(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var data []json.RawMessage
	for range 150 {
		data = append(data, json.RawMessage(`{"key":"k","value":1,"labels":[]}`))
	}
	out := call(t, s.Import, memory.ImportIn{Data: append(data, json.RawMessage(`{"key":"good","value":1}`))})
	if out.Imported != 1 || out.Failed != 150 || len(out.Errors) != 100 {
		t.Fatalf("got %d imported, %d failed, %d errors", out.Imported, out.Failed, len(out.Errors))
	}
}

// TestCursorsOfTheLongestKeys checks that every cursor is accepted, for all encodings of a key's
// characters.
func TestCursorsOfTheLongestKeys(t *testing.T) {
	t.Parallel()
	s := setup(t)
	runner := toolfoldtest.Runner(toolfoldtest.Mount(t, memory.Family, s))
	for _, c := range []string{"\x00", "<", "🙂"} {
		namespace := strings.Repeat(c, 100)
		for _, last := range []string{"a", "b"} {
			store(t, s, namespace, strings.Repeat(c, 499)+last, `1`)
		}
		for _, action := range []string{"memory.list", "memory.export"} {
			args := map[string]any{"namespace": namespace, "limit": 1}
			for _, more := range []bool{true, false} {
				raw, err := json.Marshal(args)
				if err != nil {
					t.Fatal(err)
				}
				answer := runner.Call(t.Context(), action, raw)
				var page toolfold.Paged
				if err := json.Unmarshal(answer.Content, &page); err != nil || answer.IsError() || page.HasMore != more {
					t.Fatalf("%s of %q answered %.200s, want hasMore %v", action, c, answer.Content, more)
				}
				args["cursor"] = page.NextCursor
			}
		}
	}
}

// One import puts an export of the shell into another store, with any number of entries.
func TestManyEntriesInOneExport(t *testing.T) {
	t.Parallel()
	in := projects(t, "shop", "site")
	fill(t, in["shop"], "n", 1990, func(i int) (key, value string) {
		return fmt.Sprintf("k%04d", i), `{"id":12345678901234567890,"rate":1.50}`
	})
	for i := range 10 {
		call(t, in["site"].Store, memory.StoreIn{Key: fmt.Sprint("tagged", i), Value: json.RawMessage(`"é"`), Tags: []string{"b", "a"},
			TTLMs: new(3600_000)})
	}
	var notices []string
	shell := callctx.With(callctx.WithRoom(t.Context(), 12<<20), callctx.Notice(func(line string) { notices = append(notices, line) }))
	exported, err := in["shop"].Export(shell, memory.ExportIn{IncludeMetadata: true})
	if err != nil || exported.Count != 2000 || len(exported.Data) != 2000 || exported.HasMore {
		t.Fatalf("exported %d, more: %v, %v", exported.Count, exported.HasMore, err)
	}
	if part, err := in["shop"].Export(shell, memory.ExportIn{Page: toolfold.Page{Limit: 1999}}); err != nil || !part.HasMore {
		t.Fatalf("%d of a limit of 1999, %v", part.Count, err)
	} else {
		equal(t, notices, []string{"exported 2,000 notes", "exported 1,999 notes; there are more: import these, and export again with cursor=" +
			part.NextCursor + " added to the same arguments"})
	}

	to := projects(t, "shop")["shop"]
	if out := call(t, to.Import, memory.ImportIn{Data: raw(t, exported.Data)}); out.Imported != 2000 || out.Failed != 0 {
		t.Fatalf("imported %d, failed %d", out.Imported, out.Failed)
	}
	again, err := to.Export(shell, memory.ExportIn{IncludeMetadata: true})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, again.Data, exported.Data)
	if out := call(t, to.Import, memory.ImportIn{Data: raw(t, exported.Data)}); out.Imported != 0 || out.Skipped != 2000 {
		t.Fatalf("imported %d again, skipped %d", out.Imported, out.Skipped)
	}
}

// Import accepts the result of export unchanged, and its message says if more pages follow.
func TestImportTakesTheAnswerOfExport(t *testing.T) {
	t.Parallel()
	from, to := setup(t), setup(t)
	for _, key := range []string{"a", "b", "c"} {
		store(t, from, "n", key, `12345678901234567890`)
	}
	source := toolfoldtest.Runner(toolfoldtest.Mount(t, memory.Family, from))
	target := toolfoldtest.Runner(toolfoldtest.Mount(t, memory.Family, to))
	for _, test := range []struct {
		args          string
		imported      int
		skipped, more bool
	}{{`{"limit":2}`, 2, false, true}, {`{}`, 1, true, false}, {`{"prefix":"absent"}`, 0, false, false}} {
		exported := source.Call(t.Context(), "memory.export", json.RawMessage(test.args))
		answer := target.Call(t.Context(), "memory.import", exported.Content)
		var out memory.ImportOut
		if err := json.Unmarshal(answer.Content, &out); err != nil || answer.IsError() {
			t.Fatalf("import of %s answered %s", exported.Content, answer.Content)
		}
		if out.Imported != test.imported || out.Skipped > 0 != test.skipped || strings.Contains(out.Message, "nextCursor") != test.more {
			t.Errorf("import of %s answered %s", exported.Content, answer.Content)
		}
	}
}

// Import takes each answer of an export to the shell, which ends before the values that a call may hold.
func TestExportStaysWithinACall(t *testing.T) {
	t.Parallel()
	from, to := setup(t), setup(t)
	keys := []string{"a", "b", "c", "d"}
	for _, key := range keys {
		store(t, from, "n", key, `[{"a":{},"b":[],"c":",[{"}`+strings.Repeat(`,"\"[{1,1",1`, 19_000)+`]`)
	}
	target := toolfoldtest.Runner(toolfoldtest.Mount(t, memory.Family, to))
	shell := callctx.WithRoom(t.Context(), 12<<20)
	var sizes []int
	for cursor := ""; ; {
		page, err := from.Export(shell, memory.ExportIn{Page: toolfold.Page{Cursor: cursor}})
		if err != nil {
			t.Fatal(err)
		}
		answer := target.Call(t.Context(), "memory.import", ordered.MustJSON(page))
		var out memory.ImportOut
		if err := json.Unmarshal(answer.Content, &out); err != nil || answer.IsError() || out.Imported != page.Count {
			t.Fatalf("import answered %.200s", answer.Content)
		}
		if sizes = append(sizes, page.Count); !page.HasMore {
			break
		}
		cursor = page.NextCursor
	}
	equal(t, sizes, []int{2, 2})
}
