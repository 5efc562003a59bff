package ask

import (
	"context"
	"encoding/json"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
)

// Declined is the code of a call whose user did not agree.
const Declined = "USER_DECLINED"

// CanAsk reports whether [User] and [Confirm] reach a user. They do not in steps of agents and
// workflows, or in tasks, except calls that became a task for their client.
func CanAsk(ctx context.Context) bool {
	client := callctx.ClientOf(ctx)
	return client != nil && client.Offers(callctx.MethodElicit)
}

// Confirm asks the user to approve the change that text describes. If the user declines or does not
// answer, the error has the code [Declined] and reports that nothing was done, in the word given,
// such as "deleted". If there is no user to ask, Confirm returns nil.
func Confirm(ctx context.Context, text, done string) error {
	if !CanAsk(ctx) {
		return nil
	}
	filled, err := User(ctx, Form{Name: "confirm", Text: text, Schema: json.RawMessage(`{"type":"object","properties":{}}`)})
	if err != nil {
		return toolfold.Errorf(Declined, "the user could not be asked, so nothing was %s: %v", done, err).
			WithHint("ask the user in your own words")
	}
	return filled.Refused(done)
}

// Refused returns the error, with the code [Declined], for a form that the user did not fill in;
// nil if it was filled in. done is as for [Confirm].
func (f Filled) Refused(done string) error {
	switch {
	case f.Accepted():
		return nil
	case f.Action == "decline":
		return toolfold.Errorf(Declined, "the user declined: nothing was %s", done).WithHint("do not call again unless the user asks for it")
	}
	return toolfold.Errorf(Declined, "the user closed the question: nothing was %s", done).WithHint("ask the user how to go on")
}
