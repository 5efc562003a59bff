package ask

import (
	"context"
	"encoding/json"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
)

// Declined is the code of a call whose user did not agree.
const Declined = "USER_DECLINED"

// CanAsk reports whether [User] and [Confirm] reach a user. They do not in the steps of
// agents and workflows, nor in tasks but calls that their client took one for.
func CanAsk(ctx context.Context) bool {
	asked := callctx.ClientOf(ctx)
	return asked != nil && asked.Offers(callctx.MethodElicit)
}

// Confirm asks the user whether to go on with the change that the text describes. If the user declines, or
// does not answer, it returns an error with the code [Declined] that reports what was not done, in the word
// given, such as "deleted". If there is no user to ask, the call goes on.
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

// Refused is the error of a call whose user did not fill its form in, with the code
// [Declined]; nil for one that was filled in. Done names what was not done then.
func (f Filled) Refused(done string) error {
	switch {
	case f.Accepted():
		return nil
	case f.Action == "decline":
		return toolfold.Errorf(Declined, "the user declined: nothing was %s", done).WithHint("do not call again unless the user asks for it")
	}
	return toolfold.Errorf(Declined, "the user closed the question: nothing was %s", done).WithHint("ask the user how to go on")
}
