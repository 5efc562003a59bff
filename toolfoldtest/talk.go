package toolfoldtest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
)

// Talk compares answers of actions with the expectations of a test.
type Talk struct {
	T *testing.T

	// Call runs an action and returns the content of its answer.
	Call func(action, args string) string
}

// Over returns a talk with families. It calls their actions by any name, best the full name.
func Over(t *testing.T, families ...*toolfold.Family) Talk {
	runner := Runner(families...)
	return Talk{T: t, Call: func(action, args string) string {
		return string(runner.Call(t.Context(), action, json.RawMessage(args)).Content)
	}}
}

// Expect fails the test if the answer is not want.
func (k Talk) Expect(action, args, want string) {
	k.T.Helper()
	if diff := cmp.Diff(want, k.Call(action, args)); diff != "" {
		k.T.Errorf("%s %s: %s", action, args, diff)
	}
}

// ExpectPages fails the test if the pages of a list are not want. Each page is asked for with the cursor of
// the page before. Want leaves the cursors out, and args are the arguments of the first page.
func (k Talk) ExpectPages(action, args string, want ...string) {
	k.T.Helper()
	request := args
	for i, page := range want {
		answer := k.Call(action, request)
		var next struct{ NextCursor string }
		if err := json.Unmarshal([]byte(answer), &next); err != nil {
			k.T.Fatal(err)
		}
		if diff := cmp.Diff(page, strings.Replace(answer, `,"nextCursor":"`+next.NextCursor+`"`, "", 1)); diff != "" {
			k.T.Errorf("%s %s: %s", action, request, diff)
		}
		if more := i+1 < len(want); more != (next.NextCursor != "") {
			k.T.Fatalf("%s %s: page %d of %d has the cursor %q", action, request, i+1, len(want), next.NextCursor)
		}
		request = strings.TrimSuffix(args, "}") + `,"cursor":"` + next.NextCursor + `"}`
	}
}

// Refuse fails the test if the answer is not an error with the code, with a message that contains message, and
// with a hint that contains hint.
func (k Talk) Refuse(action, args, code, message, hint string) {
	k.T.Helper()
	answer := k.Call(action, args)
	var failed struct{ Error toolfold.Error }
	if err := json.Unmarshal([]byte(answer), &failed); err != nil {
		k.T.Fatal(err)
	}
	e := failed.Error
	if e.Code != code || !strings.Contains(e.Message, message) || !strings.Contains(e.Hint, hint) {
		k.T.Errorf("%s %s answered %s, want %s, %q and %q", action, args, answer, code, message, hint)
	}
}
