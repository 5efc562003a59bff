package upstream

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A question whose call stays unknown is refused after holdTime. From then on, calls of the tools that
// may have asked run one at a time, except those of a tool that has answered before without asking.
func TestHeldQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		defer end()
		g := newGate(life, Server{Argv: []string{"x"}}, Client{Asks: []string{Elicit}}, nil)
		answers := make(chan *jsonrpc.Response, 10)
		g.answer = func(_ context.Context, m jsonrpc.Message) error {
			answers <- m.(*jsonrpc.Response)
			return nil
		}
		enter := func(token, tool string) *call {
			c := &call{tool: tool, tell: func(event) {}}
			if g.enter(token, c) != nil {
				t.Errorf("a call of %s has to wait", tool)
			}
			return c
		}
		enter("0", "reads").result = json.RawMessage("{}")
		g.leave("0", false)
		enter("1", "reads")
		enter("2", "other")
		begun := time.Now()
		g.take([]byte(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}`), nil, nil)
		refused := <-answers
		if took := time.Since(begun); took != holdTime {
			t.Errorf("it was refused after %s", took)
		}
		const want = "2 calls of this server run, in all sessions that share it, so it is not known whose client it asks: " +
			"call again, calls of other run one at a time from now on"
		if refused.Error == nil || !strings.Contains(refused.Error.Error(), want) {
			t.Errorf("it was refused with %v", refused.Error)
		}
		enter("3", "reads")
		enter("4", "other")
		w := g.enter("5", &call{tool: "other", tell: func(event) {}})
		if w == nil {
			t.Fatal("a second call of other does not wait for its turn")
		}
		g.leave("4", false)
		<-w.turn
	})
}

// A message in a stream whose call has ended belongs to no other call.
func TestQuestionOfEndedStream(t *testing.T) {
	t.Parallel()
	life, end := context.WithCancel(t.Context())
	defer end()
	g := newGate(life, Server{URL: "x"}, Client{Asks: []string{Elicit}}, nil)
	answers := make(chan *jsonrpc.Response, 1)
	g.answer = func(_ context.Context, m jsonrpc.Message) error {
		answers <- m.(*jsonrpc.Response)
		return nil
	}
	g.enter("1", &call{tool: "other", tell: func(e event) { t.Errorf("another call hears %s", e.log) },
		ask: func(_ context.Context, q Question) (json.RawMessage, error) {
			t.Errorf("the client of another call is asked %s", q.Params)
			return nil, nil
		}})
	ended := &jsonrpc.Request{ID: idOf(7)}
	g.take([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x"}}`), ended, nil)
	g.take([]byte(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}`), ended, nil)
	if refused := <-answers; refused.Error == nil || !strings.Contains(refused.Error.Error(), "the call of this stream has ended") {
		t.Errorf("it is answered with %s %v", refused.Result, refused.Error)
	}
	g.leave("1", false)
}
