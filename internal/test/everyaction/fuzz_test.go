package everyaction_test

import (
	"encoding/json"
	"testing"

	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/surface"
)

// Every call, with any name and arguments, returns a result object or an error with a code.
func FuzzCall(f *testing.F) {
	b := workbench.New(f, surface.Options{})
	for _, e := range b.Entries() {
		f.Add(e.Tool, []byte(e.Example()))
	}
	for _, args := range []string{``, `null`, `[]`, `{`, `{"action":{}}`, `{"action":"store","key":"\u0000","value":{"a":1e400}}`} {
		f.Add("memory", []byte(args))
	}
	f.Fuzz(func(t *testing.T, name string, args []byte) {
		answer := b.Runner.Call(t.Context(), name, args)
		var content map[string]json.RawMessage
		if err := json.Unmarshal(answer.Content, &content); err != nil {
			t.Fatalf("%s %s answered %s: %v", name, args, answer.Content, err)
		}
		if _, failed := content["error"]; answer.IsError() && !failed {
			t.Fatalf("%s %s: %v, content %s", name, args, answer.Err, answer.Content)
		}
		if answer.IsError() && answer.Err.Code == "INTERNAL_ERROR" {
			t.Fatalf("%s %s: %s", name, args, answer.Content)
		}
	})
}
