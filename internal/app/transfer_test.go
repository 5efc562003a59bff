package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/surface"
)

// What a client exports in pages and imports elsewhere is there as it was, byte
// for byte. Entries that no answer can hold are named, and import refuses them:
// no part of them is stored.
func TestExportAndImportThroughAnswers(t *testing.T) {
	t.Parallel()
	from, to := benchOf(t, surface.Options{}), benchOf(t, surface.Options{})
	values := map[string]string{}
	for i := range 300 {
		values[fmt.Sprintf("n/%03d \"é\x00", i)] = string(ordered.MustJSON(map[string]any{
			"text": longText(i, i*i%14_000), "number": json.RawMessage("1.50"), "big": json.RawMessage("123456789012345678901"), "<&>": nil,
		}))
	}
	long := map[string]bool{"long": true, "longest": true}
	values["long"] = string(ordered.MustJSON(longText(1, 30_000)))
	values["longest"] = string(ordered.MustJSON(strings.Repeat("x", 256<<10-2)))
	for key, value := range values {
		mustCall(t, from, "memory.store", map[string]any{"key": key, "value": json.RawMessage(value)})
	}
	omitted, imported, cursor := map[string]bool{}, 0, ""
	for calls := 0; ; calls++ {
		var page struct {
			Data       []json.RawMessage
			NextCursor string
			Message    string
			Warnings   []string
		}
		content := mustCall(t, from, "memory.export", map[string]any{"cursor": cursor})
		if err := json.Unmarshal(content, &page); err != nil || page.Warnings != nil {
			t.Fatalf("%v, warnings %q", err, page.Warnings)
		}
		lost := 0
		for _, raw := range page.Data {
			var e struct {
				Key     string
				Bytes   int
				Omitted bool
				Value   json.RawMessage
			}
			if err := json.Unmarshal(raw, &e); err != nil {
				t.Fatal(err)
			}
			if e.Omitted {
				omitted[e.Key] = true
				if lost++; e.Bytes != len(values[e.Key]) || e.Value != nil || !strings.Contains(page.Message, "toolfold call memory.export") {
					t.Errorf("%s is omitted as %s: %q", e.Key, raw, page.Message)
				}
			}
		}
		var report struct {
			Imported, Failed int
			Errors           []struct{ Message string }
		}
		if err := json.Unmarshal(mustCall(t, to, "memory.import", map[string]any{"data": page.Data}), &report); err != nil {
			t.Fatal(err)
		}
		if imported += report.Imported; report.Failed != lost || lost > 0 &&
			!strings.Contains(fmt.Sprint(report.Errors), "too long for the answer") {
			t.Errorf("%d were omitted, import failed for %d: %v", lost, report.Failed, report.Errors)
		}
		if cursor = page.NextCursor; cursor == "" {
			t.Logf("%d entries in %d calls", imported, calls+1)
			break
		}
	}
	if fmt.Sprint(omitted) != fmt.Sprint(long) {
		t.Errorf("omitted were %v, want %v", omitted, long)
	}
	for key, want := range values {
		var got struct{ Value json.RawMessage }
		answer := to.Runner.Call(t.Context(), "memory.get", ordered.MustJSON(map[string]any{"key": key}))
		if err := json.Unmarshal(answer.Content, &got); err != nil {
			t.Fatal(err)
		}
		if long[key] {
			want = ""
		}
		if string(got.Value) != want {
			t.Errorf("%q has %d bytes after import, want %d", key, len(got.Value), len(want))
		}
	}
}

func mustCall(t *testing.T, b *bench, name string, args map[string]any) json.RawMessage {
	t.Helper()
	answer := b.Client.Call(t.Context(), name, ordered.MustJSON(args))
	if answer.Err != nil {
		t.Fatalf("%s: %s", name, answer.Content)
	}
	return answer.Content
}

// A value as an answer cut it is refused by import, wherever the cut is in it.
func TestImportRefusesWhatWasCut(t *testing.T) {
	t.Parallel()
	b := benchOf(t, surface.Options{})
	for _, value := range []any{longText(1, 60_000), map[string]any{"a": []any{1, longText(2, 60_000)}}} {
		mustCall(t, b, "memory.store", map[string]any{"key": "a", "value": value})
		var got struct{ Value json.RawMessage }
		if err := json.Unmarshal(mustCall(t, b, "memory.get", map[string]any{"key": "a"}), &got); err != nil {
			t.Fatal(err)
		}
		content := mustCall(t, b, "memory.import", map[string]any{"data": []any{map[string]any{"key": "b", "value": got.Value}}})
		if !strings.Contains(string(content), "it is not whole") || !strings.Contains(string(content), `"imported":0`) {
			t.Errorf("import of %.40s…%s: %s", got.Value, got.Value[len(got.Value)-50:], content)
		}
	}
}

// Of a list that is little too long the last items are left out; none loses a
// member.
func TestCutListsHaveWholeItems(t *testing.T) {
	t.Parallel()
	b := benchOf(t, surface.Options{})
	items := make([]any, 0, 200)
	for i := range 200 {
		items = append(items, map[string]any{"time": "2026-07-28T09:00:00Z", "value": i,
			"labels": map[string]any{"host": strings.Repeat("h", 120)}})
	}
	mustCall(t, b, "memory.store", map[string]any{"key": "a", "value": items})
	var got struct {
		Value    []map[string]any
		Warnings []string
	}
	if err := json.Unmarshal(mustCall(t, b, "memory.get", map[string]any{"key": "a"}), &got); err != nil {
		t.Fatal(err)
	}
	if n := len(got.Value); n < 100 || n >= 200 || !strings.Contains(fmt.Sprint(got.Warnings),
		fmt.Sprintf("value[%d:] has %d more items", n, 200-n)) {
		t.Fatalf("%d items, warnings %q", n, got.Warnings)
	}
	for i, item := range got.Value {
		labels, _ := item["labels"].(map[string]any)
		if host, _ := labels["host"].(string); len(item) != 3 || len(host) != 120 || shorten.IsCut(host) {
			t.Errorf("item %d is %v", i, item)
		}
	}
}
