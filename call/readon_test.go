package call_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/surface"
)

// An answer that is cut names the way to read the rest.
func TestReadingOn(t *testing.T) {
	t.Parallel()
	b := workbench.Crammed(t, surface.Options{})
	t.Run("lists", func(t *testing.T) { listsReadOn(t, b) })
	t.Run("texts", func(t *testing.T) { textsReadOn(t, b) })
	t.Run("items", func(t *testing.T) { itemsReadOn(t, b) })
	t.Run("runs", func(t *testing.T) { runsReadOn(t, b) })
}

// The cursors of a list lead to all entries, each once.
func listsReadOn(t *testing.T, b *workbench.Bench) {
	for _, test := range []struct{ name, args, list, id string }{
		{"memory.list", `"limit":1000`, "keys", "key"},
		{"memory.export", `"prefix":"entry"`, "data", "key"},
		{"memory.export", `"prefix":"entry","limit":1000`, "data", "key"},
		{"memory.search", `"query":"entry","limit":100`, "results", "key"},
		{"session.list", `"limit":100`, "sessions", "sessionId"},
		{"task.list", `"limit":100,"include_fields":["tasks.taskId","tasks.input"]`, "tasks", "taskId"},
		{"task.list", `"limit":100`, "tasks", "taskId"},
		{"ability.list", `"limit":100`, "abilities", "abilityId"},
		{"agent.list", `"limit":100`, "agents", "agentId"},
		{"queue.list", `"limit":100`, "queues", "queueId"},
	} {
		seen, cursor, calls := map[string]bool{}, "", 0
		for {
			var page map[string]json.RawMessage
			answer := b.Client.Call(t.Context(), test.name, json.RawMessage(fmt.Sprintf(`{%s,"cursor":%q}`, test.args, cursor)))
			if err := json.Unmarshal(answer.Content, &page); err != nil || answer.Err != nil {
				t.Fatalf("%s: %v %.500s", test.name, err, answer.Content)
			}
			var entries []map[string]any
			if err := json.Unmarshal(page[test.list], &entries); err != nil {
				t.Fatalf("%s: %v in %.500s", test.name, err, answer.Content)
			}
			for _, e := range entries {
				id := fmt.Sprint(e[test.id])
				if seen[id] {
					t.Fatalf("%s answers %s twice", test.name, id)
				}
				seen[id] = true
			}
			cursor = ""
			_ = json.Unmarshal(page["nextCursor"], &cursor)
			if calls++; cursor == "" || calls > 100 {
				break
			}
		}
		if len(seen) < workbench.CrammedEntries {
			t.Errorf("%s %s: %d entries in %d calls", test.name, test.args, len(seen), calls)
		}
	}
}

var leadsOn = regexp.MustCompile(`((?:[\w.]|\[\d+:\d*\])+\[\d+:\]) has \d+ more characters`)

// A cut text can be read to its end by following the answers.
func textsReadOn(t *testing.T, b *workbench.Bench) {
	want := workbench.LongText(7, 100_000)
	for _, test := range []struct{ name, args, path string }{
		{"memory.get", `"key":"text"`, "value"},
		{"tool_call", `"name":"memory.get","arguments":{"key":"text"}`, "value"},
	} {
		got, fields := "", ""
		for range 20 {
			answer := b.Client.Call(t.Context(), test.name, json.RawMessage(`{`+test.args+fields+`}`))
			if answer.Err != nil {
				t.Fatalf("%s", answer.Content)
			}
			var part struct {
				Value    string
				Warnings []string
			}
			if err := json.Unmarshal(answer.Content, &part); err != nil {
				t.Fatal(err)
			}
			next := leadsOn.FindStringSubmatch(strings.Join(part.Warnings, "\n"))
			if next == nil {
				got += part.Value
				break
			}
			got += beforeCut(t, part.Value)
			fields = fmt.Sprintf(`,"include_fields":[%q]`, next[1])
		}
		if got != want {
			t.Errorf("%s: read %d of %d bytes", test.name, len(got), len(want))
		}
	}
}

// beforeCut returns the text before the mark of a cut.
func beforeCut(t *testing.T, text string) string {
	t.Helper()
	if !shorten.IsCut(text) {
		t.Errorf("a text that was cut ends with %q", text[max(0, len(text)-40):])
	}
	return text[:strings.LastIndex(text, "… [cut: ")]
}

// The field that a cut names works for items of lists.
func itemsReadOn(t *testing.T, b *workbench.Bench) {
	args := `{"keys":["entry 03","entry 04","entry 05"]%s}`
	answer := b.Client.Call(t.Context(), "memory.get", json.RawMessage(fmt.Sprintf(args, "")))
	next := leadsOn.FindStringSubmatch(string(answer.Content))
	if next == nil || !strings.HasPrefix(next[1], "entries[") {
		t.Fatalf("no cut named in %.300s … %s", answer.Content, answer.Content[len(answer.Content)-900:])
	}
	rest := b.Client.Call(t.Context(), "memory.get", json.RawMessage(fmt.Sprintf(args, fmt.Sprintf(`,"include_fields":[%q]`, next[1]))))
	var item, from int
	if _, err := fmt.Sscanf(strings.NewReplacer("[", " ", ":", " ", "]", " ", ".value.text", "").Replace(next[1]), "entries %d %d %d", &item,
		new(int), &from); err != nil {
		t.Fatalf("%v in %s", err, next[1])
	}
	var part struct {
		Entries []struct{ Value struct{ Text string } }
	}
	if err := json.Unmarshal(rest.Content, &part); err != nil || len(part.Entries) != 1 {
		t.Fatalf("%v: %s answered %.300s", err, next[1], rest.Content)
	}
	want := call.Project(ordered.MustJSON(map[string]string{"t": workbench.LongText(item+3, 20_000)}), []string{fmt.Sprintf("t[%d:]", from)})
	if got := ordered.MustJSON(map[string]string{"t": part.Entries[0].Value.Text}); string(got) != string(want) {
		t.Errorf("%s answered %.200s, want %.200s", next[1], got, want)
	}
}

// The answer of an action that cannot be repeated is stored, and can be read to its end by the call
// that the answer names.
func runsReadOn(t *testing.T, b *workbench.Bench) {
	register := `{"agentId":"reader","description":"Reads.","workflow":[{"stepId":"s","name":"s","type":"tool",` +
		`"config":{"tool":"memory.get","arguments":{"key":"text"}}}]}`
	if answer := b.Client.Call(t.Context(), "agent.register", json.RawMessage(register)); answer.Err != nil {
		t.Fatalf("%s", answer.Content)
	}
	first := b.Client.Call(t.Context(), "agent", json.RawMessage(`{"action":"run","params":{"agentId":"reader"}}`))
	if len(first.Content) > callctx.DefaultRoom {
		t.Errorf("an answer of %d bytes", len(first.Content))
	}
	var answer struct {
		Output   struct{ S struct{ Value string } }
		Warnings []string
	}
	if err := json.Unmarshal(first.Content, &answer); err != nil || len(answer.Warnings) != 1 {
		t.Fatalf("%v: %.500s", err, first.Content)
	}
	named := regexp.MustCompile(`tools (\{"action":"rest","params":\{"id":"[^"]+"\}\})`).FindStringSubmatch(answer.Warnings[0])
	next := leadsOn.FindStringSubmatch(answer.Warnings[0])
	if named == nil || next == nil {
		t.Fatalf("the warning does not lead on: %s", answer.Warnings[0])
	}
	got := beforeCut(t, answer.Output.S.Value)
	for range 20 {
		args := strings.TrimSuffix(named[1], "}") + fmt.Sprintf(`,"include_fields":[%q]}`, next[1])
		answer := b.Client.Call(t.Context(), "tools", json.RawMessage(args))
		var part struct {
			Answer struct {
				Output struct{ S struct{ Value string } }
			}
			Warnings []string
		}
		if err := json.Unmarshal(answer.Content, &part); err != nil || answer.Err != nil {
			t.Fatalf("%v: %s answered %.500s", err, args, answer.Content)
		}
		if next = leadsOn.FindStringSubmatch(strings.Join(part.Warnings, "\n")); next == nil {
			got += part.Answer.Output.S.Value
			break
		}
		got += beforeCut(t, part.Answer.Output.S.Value)
	}
	if want := workbench.LongText(7, 100_000); got != want {
		t.Errorf("read %d of %d bytes", len(got), len(want))
	}
	gone := b.Client.Call(t.Context(), "tools.rest", json.RawMessage(`{"id":"00000000-0000-4000-8000-000000000009"}`))
	if !strings.Contains(string(gone.Content), `"found":false`) || !strings.Contains(string(gone.Content), "hint") {
		t.Errorf("an answer that is gone: %s", gone.Content)
	}
}

// If a list is a little too long, its last items are omitted. The other items are complete.
func TestCutListsHaveWholeItems(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	items := make([]any, 0, 200)
	for i := range 200 {
		items = append(items, map[string]any{"time": "2026-07-28T09:00:00Z", "value": i,
			"labels": map[string]any{"host": strings.Repeat("h", 120)}})
	}
	store := b.Client.Call(t.Context(), "memory.store", ordered.MustJSON(map[string]any{"key": "a", "value": items}))
	answer := b.Client.Call(t.Context(), "memory.get", json.RawMessage(`{"key":"a"}`))
	if store.Err != nil || answer.Err != nil {
		t.Fatalf("%s, %s", store.Content, answer.Content)
	}
	var got struct {
		Value    []map[string]any
		Warnings []string
	}
	if err := json.Unmarshal(answer.Content, &got); err != nil {
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
