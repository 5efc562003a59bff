package ask_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/ask"
	"github.com/toolfold/toolfold/internal/call/callctx"
)

// person gives the same answer to every question.
type person json.RawMessage

func (p person) Offers(method string) bool { return method == callctx.MethodElicit }

func (p person) Seen() time.Time { return time.Time{} }

func (p person) Declared() json.RawMessage { return json.RawMessage(`{"elicitation":{}}`) }

func (p person) Ask(context.Context, callctx.Question) (json.RawMessage, error) {
	return json.RawMessage(p), nil
}

func TestUser(t *testing.T) {
	t.Parallel()
	form := ask.Form{Text: "How many?", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}
	for answer, want := range map[string]ask.Filled{
		`{"action":"accept","content":{"n":3}}`:   {Action: "accept", Content: json.RawMessage(`{"n":3}`)},
		`{"action":"decline","content":{"n":3}}`:  {Action: "decline"},
		`{"action":"cancel"}`:                     {Action: "cancel"},
		`{"action":"accept","content":{"n":"3"}}`: {},
		`{"action":"accept"}`:                     {},
		`[]`:                                      {},
	} {
		got, err := ask.User(callctx.WithClient(t.Context(), person(answer)), form)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (want.Action != "") {
			t.Errorf("%s: %v %s", answer, err, diff)
		}
	}
}

func TestLacking(t *testing.T) {
	t.Parallel()
	_, user := ask.User(t.Context(), ask.Form{Schema: json.RawMessage(`{}`)})
	_, roots := ask.Roots(callctx.WithClient(t.Context(), person(`{}`)))
	for capability, err := range map[string]error{"elicitation": user, "roots": roots} {
		var e *toolfold.Error
		if !errors.As(err, &e) || e.Code != toolfold.ClientLacks || e.Lacking != capability {
			t.Errorf("without %s: %v", capability, err)
		}
	}
}
