package everyaction_test

import (
	"encoding/json"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/surface"
)

// No answer to a client exceeds the limit, whatever the store contains and however much a call asks
// for. Every cut answer has a note.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	const limit = 12_000
	b := workbench.Crammed(t, surface.Options{ResultLimit: limit})
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

// demanding returns the example of an action, and the same with the highest limit and every result
// field by name.
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
