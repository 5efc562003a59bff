package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/ask"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/script/js"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Confirm is the name of calls that ask the user. A run stops at such a call if its client cannot be asked, and the
// call is among [Result.Unknown]: its outcome is yes or no, see [Confirmed].
const Confirm = js.Confirm

// Answers is how the user answers a question of a run, by its id and the number of the call.
const Answers = "answers on the page or by: toolfold script run --id %s --outcome %d=yes"

// maxDetails limits the details that a question shows, in characters.
const maxDetails = 2000

// Confirmed returns the record of a question that the user answered on the page or at the shell.
func Confirmed(yes bool) json.RawMessage { return Settled(ordered.MustJSON(yes)) }

// Ask asks the user the question of a call of [Confirm]. It returns nil if the user agrees, and an error with the
// code [ask.Declined] if not. Other errors mean that there is no answer.
func Ask(ctx context.Context, call int, args json.RawMessage) error {
	const nothing = `{"type":"object","properties":{}}`
	filled, err := ask.User(ctx, ask.Form{Name: "confirm", Text: question(call, args), Schema: json.RawMessage(nothing)})
	if err != nil {
		return err
	}
	if !filled.Accepted() {
		return declined(map[bool]string{true: "declined", false: "closed the question"}[filled.Action == "decline"])
	}
	return nil
}

// question returns the text of a question. The number of the call is a part of it, so that an answer is never
// taken for that of the same words at another call.
func question(call int, args json.RawMessage) string {
	var in struct {
		Text    string          `json:"text"`
		Details json.RawMessage `json:"details"`
	}
	if json.Unmarshal(args, &in) != nil {
		in.Text = string(args) // shortened
	}
	text := fmt.Sprintf("A script asks, at its call %d: %s", call, in.Text)
	var details bytes.Buffer
	if len(in.Details) > 0 && json.Indent(&details, in.Details, "", " ") == nil {
		text += "\n" + shorten.To(details.String(), maxDetails)
	}
	return text
}

func declined(how string) *toolfold.Error {
	return toolfold.Errorf(ask.Declined, "the user %s", how).WithHint("do not run it again unless the user asks for it")
}

// asks reports whether a call asks the user.
func (r *run) asks(name string) bool { return name == Confirm && slices.Contains(r.stored, name) }

// confirm asks the user. Answered is false if there is no answer.
func (r *run) confirm(ctx context.Context, c *call) (value json.RawMessage, failure *js.ToolError, answered bool) {
	yes := ordered.MustJSON(true)
	if c.record != nil { // stated
		if string(c.record.Value) == string(yes) {
			return yes, nil, true
		}
		return nil, toolError(c.Name, declined("declined")), true
	}
	err := Ask(ctx, c.Seq, c.Args)
	if err == nil {
		return yes, nil, true
	}
	if refused, ok := errors.AsType[*toolfold.Error](err); ok && refused.Code == ask.Declined {
		return nil, toolError(c.Name, refused), true
	}
	return nil, nil, false
}

// unanswered returns the failure of a run with a question that has no answer.
func (r *run) unanswered(c *call) *Failure {
	return r.toAnswer(fail(engine.Interrupted, "%s; nobody could be asked", shorten.To(question(c.Seq, c.Args), 300)), c)
}

// toAnswer adds to a failure how the user answers the question of a call.
func (r *run) toAnswer(f *Failure, c *call) *Failure {
	switch {
	case r.journal.ID() == "":
		f.Code = toolfold.ClientLacks
		return f.hint("this run is not recorded: run it by script.run from a client that can be asked, or where its runs are recorded")
	case r.base != "":
		return f.hint("within a step nobody is asked: run the script by script.run, or take the question out of it")
	}
	return f.hint("the user " + fmt.Sprintf(Answers, r.journal.ID(), c.Seq))
}
