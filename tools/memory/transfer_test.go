package memory_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/toolfold/toolfold/tools/memory"
)

// raw is entries as a caller sends them back.
func raw(t *testing.T, data []memory.Exported) []json.RawMessage {
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
	exported := call(t, from.Export, memory.ExportIn{IncludeMetadata: true})
	if exported.Count != 2 || exported.HasMore {
		t.Fatalf("got %+v", exported)
	}

	to := memory.New(openStore(t), func() time.Time { return start.Add(time.Hour) })
	out := call(t, to.Import, memory.ImportIn{Data: raw(t, exported.Data)})
	if out.Imported != 2 || out.Skipped != 0 || out.Errors != nil {
		t.Fatalf("got %+v", out)
	}
	again := call(t, to.Export, memory.ExportIn{IncludeMetadata: true})
	equal(t, again.Data, exported.Data)
}

func TestExportPagesAndMetadata(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, k := range []string{"a", "b", "c"} {
		store(t, s, "n", k, `{}`)
	}
	out := call(t, s.Export, memory.ExportIn{Limit: 2})
	equal(t, out.Data, []memory.Exported{
		{Key: "a", Namespace: "n", Value: json.RawMessage(`{}`)},
		{Key: "b", Namespace: "n", Value: json.RawMessage(`{}`)},
	})
	out = call(t, s.Export, memory.ExportIn{Limit: 2, Cursor: out.NextCursor})
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
		`{"key":"k","value":[1]}`,
		`{"key":7,"value":{}}`,
		`"text"`,
		`null`,
		`{"key":"k","value":{},"storedAt":"yesterday"}`,
		`{"key":"k","value":{},"tags":[]}`,
		`{"key":"dated","value":{},"namespace":"n","storedAt":"2020-01-01T02:00:00.5+02:00"}`,
		`{"key":"k"}`,
	} {
		data = append(data, json.RawMessage(text))
	}
	out := call(t, s.Import, memory.ImportIn{Data: data})
	if out.Imported != 2 || out.Skipped != 0 {
		t.Fatalf("got %+v", out)
	}
	equal(t, out.Errors, []memory.Rejected{
		{Index: 1, Message: "key is missing"},
		{Index: 2, Message: "value must be a JSON object"},
		{Index: 3, Message: "key must be a string"},
		{Index: 4, Message: "an entry must be an object with key and value"},
		{Index: 5, Message: "an entry must be an object with key and value"},
		{Index: 6, Message: "storedAt must be a time such as 2026-01-31T12:00:00Z"},
		{Index: 7, Message: `an entry has no member "tags"`},
		{Index: 9, Message: "value is missing"},
	})
	dated := call(t, s.Get, memory.KeyIn{Key: "dated", Namespace: "n"})
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
	got := call(t, s.Get, memory.KeyIn{Key: key, Namespace: namespace})
	if string(got.Value) != want {
		t.Fatalf("%s has %s, want %s", key, got.Value, want)
	}
}
