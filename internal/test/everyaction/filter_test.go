package everyaction_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/surface"
)

// Every action accepts a filter. The identity returns the same result, and an invalid filter is
// rejected before the action runs.
func TestEveryActionTakesAFilter(t *testing.T) {
	t.Parallel()
	plain, filtered := workbench.New(t, surface.Options{}), workbench.New(t, surface.Options{})
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
			if a.WritesFiles() || f.Name == "telemetry" || f.Name == "metrics" { // the other bench has its own files and counts
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

// anyID replaces ids, because the store generates some.
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
