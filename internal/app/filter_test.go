package app_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/surface"
)

// Every action takes a filter: what leaves all as it is answers the same, and one that
// is none is refused before anything is done.
func TestEveryActionTakesAFilter(t *testing.T) {
	t.Parallel()
	plain, filtered := newBench(t), newBench(t)
	tried := 0
	for _, f := range plain.Families() {
		for _, a := range f.Actions {
			with := func(filter string) json.RawMessage {
				var args ordered.Map
				if err := json.Unmarshal([]byte(a.Example), &args); err != nil {
					t.Fatal(err)
				}
				args.Set(callctx.ArgJQ, filter)
				return ordered.MustJSON(args)
			}
			if a.WritesFiles() || f.Name == "telemetry" || f.Name == "metrics" { // the other bench has files and counts of its own
				continue
			}
			wrong := filtered.Runner.Call(t.Context(), a.FullName(), with(".a | }"))
			if wrong.Err == nil || !strings.Contains(string(wrong.Content), `"/jq"`) {
				t.Errorf("%s takes a filter that is none: %.300s", a.FullName(), wrong.Content)
			}
			want := plain.Runner.Call(t.Context(), a.FullName(), json.RawMessage(a.Example))
			got := filtered.Runner.Call(t.Context(), a.FullName(), with("."))
			if diff := cmp.Diff(decoded(t, anyID(want.Content)), decoded(t, anyID(got.Content))); diff != "" {
				t.Errorf("%s with jq . (-without +with):\n%.600s", a.FullName(), diff)
			}
			tried++
		}
	}
	if tried < 50 {
		t.Errorf("only %d actions were tried", tried)
	}
}

// anyID replaces ids, of which the store makes some.
func anyID(content json.RawMessage) json.RawMessage {
	return regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).ReplaceAll(content, []byte("id"))
}

func decoded(t *testing.T, content json.RawMessage) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(content, &v); err != nil {
		t.Fatalf("%v in %.300s", err, content)
	}
	delete(v, "warnings")
	return v
}

// What a filter makes of a result is the answer; what it did not read, could not make
// or was not told is said.
func TestFilters(t *testing.T) {
	t.Parallel()
	b := benchOf(t, surface.Options{ResultLimit: 12_000})
	for i := range 30 {
		entry := fmt.Sprintf(`{"key":"k%02d","value":{"n":%d,"text":%q}}`, i, i, longText(i, 3000))
		b.Runner.Call(t.Context(), "memory.store", json.RawMessage(entry))
	}
	for _, test := range []struct{ name, args, want string }{
		{"memory.get", `{"key":"k03","jq":".value.n"}`, `{"result":3}`},
		{"memory.get", `{"key":"k03","jq":".value | {n}"}`, `{"n":3}`},
		{"memory.get", `{"key":"k03","jq":""}`, longText(3, 3)},
		{"memory.get", `{"key":"k03","jq":".value.n, .found"}`, `{"results":[3,true]}`},
		{"memory.get", `{"key":"k03","include_fields":["value.n"],"jq":"."}`, `{"value":{"n":3}}`},
		{"memory.get", `{"key":"k03","jq":".vlaue"}`, `{"result":null,"warnings":["jq made nothing of it: the result has `},
		{"memory.get", `{"key":"k03","jq":".value[] | .n"}`, `jq: expected an object but got: number (3); the result has `},
		{"memory.get", `{"key":"k03","jq":7}`, `"path":"/jq"`},
		{"memory.get", `{"params":{"key":"k03","jq":".value.n"}}`, `{"result":3}`},
		{"tool_call", `{"name":"memory.get","arguments":{"key":"k03"},"jq":".value.n"}`, `{"result":3}`},
		{"tool_call", `{"name":"memory.get","arguments":{"key":"k03","jq":".value.n"},"jq":".found"}`, `{"result":3}`},
		{"memory.export", `{"prefix":"k","jq":"[.data[].value.n] | add"}`, `{"result":435}`}, // more than an answer could have
		{"memory.list", `{"prefix":"k","limit":4,"jq":".keys | length"}`, `{"result":4,"warnings":["jq read one page; cursor `},
		{"memory.list", `{"prefix":"k","limit":4,"include_fields":["keys.key"],"jq":".keys | length"}`, `["jq read one page; cursor `},
		{"memory.export", `{"prefix":"k","jq":".data"}`, `have jq make less"]}`},
		{"memory.store", `{"key":"new","value":1,"jq":".key[]"}`, `"warnings":["it was done, and this is the whole result: jq failed: `},
		{"memory.get", `{"key":"new","jq":".value"}`, `{"result":1}`},
		{"memory.get", `{"key":"k03","jql":".value"}`, `did you mean \"jq\"?`},
	} {
		answer := b.Client.Call(t.Context(), test.name, json.RawMessage(test.args))
		if got := string(answer.Content); !strings.Contains(got, test.want) || len(got) > 12_000 {
			t.Errorf("%s %s answers %.500s, want %s", test.name, test.args, got, test.want)
		}
	}
}
