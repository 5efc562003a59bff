package call_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/toolfoldtest"
)

type checkOut struct {
	Checked  int      `json:"checked" doc:"How many."`
	Warnings []string `json:"warnings" doc:"What it found."`
}

type checkIn struct {
	DryRun bool `json:"dryRun"`
}

type checker struct{}

func (checker) Check(context.Context, checkIn) (checkOut, error) {
	return checkOut{Checked: 1, Warnings: []string{"a hinge is loose"}}, nil
}

var doors = toolfold.Family{
	Name: "door", Summary: "Looks after doors", Category: "house", Tier: toolfold.Core,
	Actions: []*toolfold.Action{{
		Name: "check", Legacy: toolfold.Was("door_check_all"), Summary: "Check the doors.", Effect: toolfold.Reads, Example: `{}`,
		Optional:    toolfold.Fields{toolfold.Bool{Name: "dryRun", Doc: "Only count them."}},
		BecomesTask: true, Previews: "dryRun", Run: toolfold.Method(checker.Check),
	}},
}

// An action's own warnings are kept, followed by the call's, both for a new and for a stored
// result.
func TestOwnWarnings(t *testing.T) {
	t.Parallel()
	r := toolfoldtest.Runner(toolfoldtest.Mount(t, doors, checker{}))
	const name, args = "door_check_all", `{"zzz":1}`
	const want = `{"checked":1,"warnings":["a hinge is loose","door_check_all has no parameter \"zzz\": ignored"]}`
	first := r.Call(t.Context(), name, json.RawMessage(args))
	if string(first.Content) != want {
		t.Errorf("answered\n%s, want\n%s", first.Content, want)
	}
	result := r.Call(t.Context(), "door.check", json.RawMessage(`{}`))
	if again := r.Recall(t.Context(), name, json.RawMessage(args), result.Content, false); string(again.Content) != want {
		t.Errorf("a kept result is answered\n%s, want\n%s", again.Content, want)
	}
}

// A call that only shows what its action would do is never kept as a task, however its argument is spelt.
func TestPreviewsRunAtOnce(t *testing.T) {
	t.Parallel()
	r := toolfoldtest.Runner(toolfoldtest.Mount(t, doors, checker{}))
	ctx := call.WithDeferral(t.Context(), func(context.Context, *call.Call) (toolfold.Answer, bool) {
		return toolfold.Answer{Content: json.RawMessage(`{"task":1}`)}, true
	})
	const result, task = `{"checked":1,"warnings":["a hinge is loose"]}`, `{"task":1}`
	for _, c := range []struct{ name, args, want string }{
		{"door_check_all", `{"dryRun":true}`, result},
		{"door_check_all", `{"dryRun":false}`, task},
		{"door_check_all", `{}`, task},
		{"door", `{"action":"check","params":{"dryRun":true}}`, result},
		{"door", `{"action":"check","params":"{\"dryRun\":\"true\"}"}`, result},
		{"door.check", `{"dryRun":null}`, task},
	} {
		if got := r.Call(ctx, c.name, json.RawMessage(c.args)); string(got.Content) != c.want {
			t.Errorf("%s %s is answered %s, want %s", c.name, c.args, got.Content, c.want)
		}
	}
}
