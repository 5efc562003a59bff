package memory_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// Entries exported in pages and imported elsewhere are equal byte for byte. Entries that are too
// large for a response are named. Import rejects them and stores no part of them.
func TestExportAndImportThroughAnswers(t *testing.T) {
	t.Parallel()
	from, to := workbench.New(t, surface.Options{}), workbench.New(t, surface.Options{})
	values := map[string]string{}
	for i := range 300 {
		values[fmt.Sprintf("n/%03d \"é\x00", i)] = string(ordered.MustJSON(map[string]any{
			"text": workbench.LongText(i, i*i%14_000), "number": json.RawMessage("1.50"),
			"big": json.RawMessage("123456789012345678901"), "<&>": nil,
		}))
	}
	long := map[string]bool{"long": true, "longest": true}
	values["long"] = string(ordered.MustJSON(workbench.LongText(1, 30_000)))
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

func mustCall(t *testing.T, b *workbench.Bench, name string, args map[string]any) json.RawMessage {
	t.Helper()
	answer := b.Client.Call(t.Context(), name, ordered.MustJSON(args))
	if answer.Err != nil {
		t.Fatalf("%s: %s", name, answer.Content)
	}
	return answer.Content
}

// Import rejects a value that a response cut at any place.
func TestImportRejectsTruncatedFiles(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	for _, value := range []any{workbench.LongText(1, 60_000), map[string]any{"a": []any{1, workbench.LongText(2, 60_000)}}} {
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

// The error for overwrite, which is a parameter of import, names ifAbsent of store. Nothing is
// stored.
func TestOverwriteNamesIfAbsent(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{Mode: surface.Consolidated, Level: lazy.Full})
	for _, overwrite := range []string{"true", "false"} {
		answer := b.Runner.Call(t.Context(), "memory.store", json.RawMessage(`{"key":"a","value":1,"overwrite":`+overwrite+`}`))
		want := []toolfold.Problem{{Path: "/overwrite", Kind: toolfold.ProblemStray, BelongsTo: []string{"import"}, Suggest: "ifAbsent"}}
		if answer.Err == nil || !reflect.DeepEqual(answer.Err.Problems, want) ||
			!strings.Contains(answer.Err.Message, `did you mean "ifAbsent"?`) {
			t.Errorf("overwrite %s: %s", overwrite, answer.Content)
		}
	}
	if answer := b.Runner.Call(t.Context(), "memory.get", json.RawMessage(`{"key":"a"}`)); !strings.Contains(string(answer.Content),
		`"found":false`) {
		t.Errorf("stored: %s", answer.Content)
	}
}
