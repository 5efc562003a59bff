package everyaction_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/surface"
)

// Whatever other names a parameter has, a call by any of them is the call by its own, under every name of the
// action. Descriptions name them, lists do not, and a misspelt one leads to the parameter.
func TestOtherNamesOfParameters(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	open := func(string) bool { return false }
	found := 0
	for _, e := range b.Entries() {
		args := workbench.Arguments(e)
		for _, p := range e.Params() {
			value := args[p.Name]
			if value == nil {
				value = "x"
			}
			for _, other := range p.Also {
				found++
				renamed := maps.Clone(args)
				delete(renamed, p.Name)
				renamed[other] = value
				if refused := b.Runner.Refusal(t.Context(), e.Tool, ordered.MustJSON(renamed), "", open); refused != nil {
					t.Errorf("%s with %s is refused: %v", e.Title(), other, refused)
				}
				renamed[p.Name] = value
				if refused := b.Runner.Refusal(t.Context(), e.Tool, ordered.MustJSON(renamed), "", open); refused != nil {
					t.Errorf("%s with the same in %s and %s is refused: %v", e.Title(), other, p.Name, refused)
				}
				renamed[other] = "something else"
				if refused := b.Runner.Refusal(t.Context(), e.Tool, ordered.MustJSON(renamed), "", open); refused == nil ||
					refused.Problems[0].Path != "/"+p.Name {
					t.Errorf("%s with another %s than %s: %v", e.Title(), other, p.Name, refused)
				}
				described := string(b.Runner.Call(t.Context(), "tools", ordered.MustJSON(map[string]any{"action": "describe",
					"names": []string{e.Action.FullName()}})).Content)
				if !strings.Contains(described, "also "+other) {
					t.Errorf("the description of %s does not name %s: %s", e.Action.FullName(), other, described)
				}
				if strings.Contains(string(e.InputSchema()), `"`+other+`":`) {
					t.Errorf("%s is listed of %s", other, e.Title())
				}
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d other names were tried", found)
	}
	answer := string(b.Runner.Call(t.Context(), "metrics.query", json.RawMessage(`{"metricName":"m","stepp":"1h"}`)).Content)
	if !strings.Contains(answer, `"suggest":"bucket"`) {
		t.Error(answer)
	}
}
