package toolfoldtest

import (
	"encoding/json"
	"testing"

	"github.com/toolfold/toolfold"
)

// Examples runs the example of every action of families, in declared order on the services they are mounted
// on, and fails the test if one is rejected. It then sends each example with an unknown parameter to the
// actions that change something, and fails the test if one accepts it.
func Examples(t *testing.T, families ...*toolfold.Family) {
	t.Helper()
	runner := Runner(families...)
	for _, f := range families {
		for _, a := range f.Actions {
			if answer := runner.Call(t.Context(), a.FullName(), json.RawMessage(a.Example)); answer.IsError() {
				t.Errorf("the example of %s is refused: %s", a.FullName(), answer.Content)
			}
		}
	}
	const strange = "toolfoldtest_unknown"
	for _, f := range families {
		for _, a := range f.Actions {
			args := map[string]any{}
			if err := json.Unmarshal([]byte(a.Example), &args); err != nil {
				t.Fatalf("the example of %s: %v", a.FullName(), err)
			}
			args[strange] = 1
			raw, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			if answer := runner.Call(t.Context(), a.FullName(), raw); a.Effect != toolfold.Reads &&
				(answer.Err == nil || answer.Err.Code != toolfold.InvalidInput) {
				t.Errorf("%s takes a parameter %s: %s", a.FullName(), strange, answer.Content)
			}
		}
	}
}
