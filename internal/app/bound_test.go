package app_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/surface"
)

// crammedEntries is how many of each thing there are.
const crammedEntries = 22

// crammed is a workbench in which everything that can be long is.
func crammed(t *testing.T, o surface.Options) *bench {
	t.Helper()
	b := benchOf(t, o)
	do := func(name, args string, filling ...any) {
		t.Helper()
		if answer := b.Runner.Call(t.Context(), name, json.RawMessage(fmt.Sprintf(args, filling...))); answer.Err != nil {
			t.Fatalf("%s: %s", name, answer.Content)
		}
	}
	for i := range crammedEntries {
		do("memory.store", `{"key":"entry %02d","value":{"text":%q,"list":[%s1]}}`, i, longText(i, 20_000), strings.Repeat("1,", 2000))
		do("session.create", `{"initiator":"a","task":%q,"metadata":{"x":%q}}`, longText(i, 4900), longText(i, 20_000))
		do("task.submit", `{"name":%q,"description":%q,"type":"wait","scheduledAt":"2099-01-01T00:00:00Z","input":{"x":%q}}`, longText(i, 190),
			longText(i, 1900), longText(i, 50_000))
		do("ability.register", `{"abilityId":"ability-%d","content":%q,"description":%q,"tags":["x"]}`, i, longText(i, 20_000), longText(i, 1900))
		do("agent.register", `{"agentId":"agent-%d","description":%q,"systemPrompt":%q,"capabilities":[%q]}`, i, longText(i, 900),
			longText(i, 9000), longText(i, 190))
		do("queue.create", `{"name":"queue %d","description":%q}`, i, longText(i, 400))
	}
	do("memory.store", `{"key":"text","value":%q}`, longText(7, 100_000))
	return b
}

// longText is a text of n characters, many of which take more than a byte.
func longText(seed, n int) string {
	var s strings.Builder
	for i := 0; i < n; i++ {
		s.WriteRune([]rune("abcdefghij \"\nßé漢")[(i*i+seed*7+i/16)%16])
	}
	return s.String()
}

// Whatever is in the store, no answer to a client exceeds the limit, also not
// where a call asks for as much as it may, and every answer that is cut says so.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	const limit = 12_000
	b := crammed(t, surface.Options{ResultLimit: limit})
	for _, f := range b.Families() {
		for _, a := range f.Actions {
			for how, args := range demanding(a) {
				answer := b.Client.Call(t.Context(), a.FullName(), args)
				if len(answer.Content) > limit {
					t.Errorf("%s %s: an answer of %d bytes", a.FullName(), how, len(answer.Content))
				}
				if !json.Valid(answer.Content) {
					t.Errorf("%s %s: answered %.300s", a.FullName(), how, answer.Content)
				}
			}
		}
	}
}

// demanding are the example of an action, and the same with the highest limit
// and every result field by name.
func demanding(a *toolfold.Action) map[string]json.RawMessage {
	var args ordered.Map
	if err := json.Unmarshal([]byte(a.Example), &args); err != nil {
		panic(err)
	}
	calls := map[string]json.RawMessage{"as declared": json.RawMessage(a.Example)}
	for _, p := range a.Params() {
		if p.Name == callctx.ArgLimit {
			args.Set(p.Name, 50)
			if p.Max != nil {
				args.Set(p.Name, *p.Max)
			}
		}
		for _, filter := range []string{"status", "prefix", "tags", "category", "namespace"} {
			if p.Name == filter && !isRequired(a, filter) {
				args.Set(p.Name, nil)
			}
		}
	}
	calls["at its limit"] = ordered.MustJSON(args)
	if !a.Forwards() {
		var fields []string
		for _, p := range a.Results() {
			fields = append(fields, p.Name)
			for _, inner := range p.Members() {
				fields = append(fields, p.Name+"."+inner.Name)
			}
		}
		args.Set(callctx.ArgFields, fields)
		calls["with all fields"] = ordered.MustJSON(args)
	}
	return calls
}

func isRequired(a *toolfold.Action, name string) bool {
	for _, p := range a.Required.Params() {
		if p.Name == name {
			return true
		}
	}
	return false
}

// What does not fit into an answer is read on by what the answer names.
func TestReadingOn(t *testing.T) {
	t.Parallel()
	b := crammed(t, surface.Options{})
	t.Run("lists", func(t *testing.T) { listsReadOn(t, b) })
	t.Run("texts", func(t *testing.T) { textsReadOn(t, b) })
	t.Run("items", func(t *testing.T) { itemsReadOn(t, b) })
	t.Run("runs", func(t *testing.T) { runsReadOn(t, b) })
}

// Lists go on at their cursors until everything was seen, once.
func listsReadOn(t *testing.T, b *bench) {
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
		if len(seen) < crammedEntries {
			t.Errorf("%s %s: %d entries in %d calls", test.name, test.args, len(seen), calls)
		}
	}
}

var leadsOn = regexp.MustCompile(`((?:[\w.]|\[\d+:\d*\])+\[\d+:\]) has \d+ more characters`)

// A text that was cut is read to its end by what the answers name.
func textsReadOn(t *testing.T, b *bench) {
	want := longText(7, 100_000)
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

// beforeCut returns what stands before the mark of a text that was cut.
func beforeCut(t *testing.T, text string) string {
	t.Helper()
	if !shorten.IsCut(text) {
		t.Errorf("a text that was cut ends with %q", text[max(0, len(text)-40):])
	}
	return text[:strings.LastIndex(text, "… [cut: ")]
}

// What is asked for within a list is what the cut names.
func itemsReadOn(t *testing.T, b *bench) {
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
	want := call.Project(ordered.MustJSON(map[string]string{"t": longText(item+3, 20_000)}), []string{fmt.Sprintf("t[%d:]", from)})
	if got := ordered.MustJSON(map[string]string{"t": part.Entries[0].Value.Text}); string(got) != string(want) {
		t.Errorf("%s answered %.200s, want %.200s", next[1], got, want)
	}
}

// The answer of an action that cannot be repeated is kept, and read to its end
// by the call that the answer names.
func runsReadOn(t *testing.T, b *bench) {
	register := `{"agentId":"reader","description":"Reads.","workflow":[{"stepId":"s","name":"s","type":"tool",` +
		`"config":{"tool":"memory.get","arguments":{"key":"text"}}}]}`
	if answer := b.Client.Call(t.Context(), "agent.register", json.RawMessage(register)); answer.Err != nil {
		t.Fatalf("%s", answer.Content)
	}
	first := b.Client.Call(t.Context(), "agent", json.RawMessage(`{"action":"run","params":{"agentId":"reader"}}`))
	if len(first.Content) > callctx.DefaultRoom {
		t.Errorf("an answer of %d bytes", len(first.Content))
	}
	var told struct {
		Output   struct{ S struct{ Value string } }
		Warnings []string
	}
	if err := json.Unmarshal(first.Content, &told); err != nil || len(told.Warnings) != 1 {
		t.Fatalf("%v: %.500s", err, first.Content)
	}
	named := regexp.MustCompile(`tools (\{"action":"rest","params":\{"id":"[^"]+"\}\})`).FindStringSubmatch(told.Warnings[0])
	next := leadsOn.FindStringSubmatch(told.Warnings[0])
	if named == nil || next == nil {
		t.Fatalf("the warning does not lead on: %s", told.Warnings[0])
	}
	got := beforeCut(t, told.Output.S.Value)
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
	if want := longText(7, 100_000); got != want {
		t.Errorf("read %d of %d bytes", len(got), len(want))
	}
	gone := b.Client.Call(t.Context(), "tools.rest", json.RawMessage(`{"id":"00000000-0000-4000-8000-000000000009"}`))
	if !strings.Contains(string(gone.Content), `"found":false`) || !strings.Contains(string(gone.Content), "hint") {
		t.Errorf("an answer that is gone: %s", gone.Content)
	}
}
