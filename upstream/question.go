package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// How a question of a server finds its call:
//
//   - From 2026-07-28 on it is in the result of the call.
//   - Over streamable HTTP it comes in the stream of the response to the call, also in a resumed stream.
//   - A program, the older transport, and the stream that a session opens by GET do not name the call. There,
//     calls of tools that ask run one at a time, and a question belongs to the running one. The first question
//     of any other call waits until only one of the calls that ran at that time is left, [holdTime] at most.
//
// A request for roots is about the client and not about a call, so it holds up nothing.

// Question is a question of a server for the client of a call.
type Question struct {
	Key    string // the server's key if it asks in place of a result; otherwise empty
	Method string // one of the client's Asks
	Params json.RawMessage

	// Demand is closed when another call begins to wait for this answer. Nil if no call ever waits.
	Demand <-chan struct{}
}

// holdTime limits how long a question waits for its call to become known.
const holdTime = 10 * time.Second

// maxQuestions is the number of requests of a server that may run at a time. More are ignored.
const maxQuestions = 4096

// question is a request of the server for the client of a call. The gate's mutex guards of, running and
// isDemanded.
type question struct {
	*jsonrpc.Request
	ctx    context.Context // ends when the server takes the question back
	cancel context.CancelFunc

	of         *call      // nil if unknown, or if it belongs to no call
	running    []*call    // candidates while of is unknown
	attributed chan error // receives nil once of is known, or the reason why it cannot be
	demand     chan struct{}
	isDemanded bool // wanted is closed
}

// isQuestion reports whether a request of the server is for the client of a call.
func isQuestion(method string) bool { return method == Sample || method == Elicit || method == Roots }

// match finds the call of a new question. stream is the request whose response contains the question,
// or nil. The caller holds the lock.
func (g *gate) match(q *question, stream *jsonrpc.Request) {
	if q.of = g.callOf(stream); q.of != nil || q.Method == Roots {
		q.attributed <- nil
		return
	}
	if stream != nil {
		q.attributed <- errors.New("the call of this stream has ended")
		return
	}
	for _, c := range g.calls {
		q.running = append(q.running, c)
	}
	g.callUnnamed = g.callUnnamed || len(q.running) > 0
	switch {
	case len(q.running) == 0:
		q.attributed <- errors.New("the server has no running call")
	case len(q.running) == 1:
		g.attribute(q, q.running[0])
	default:
		if c := g.turnOf(q.running); c != nil {
			g.attribute(q, c)
			return
		}
		g.heldQuestions = append(g.heldQuestions, q)
		g.want()
		g.giveUpStuck()
	}
}

// callOf returns the call whose response is in the stream, or nil if it has ended or is not a call. The
// caller holds the lock.
func (g *gate) callOf(stream *jsonrpc.Request) *call {
	if stream == nil || g.requests[stream.ID] == nil {
		return nil
	}
	return g.requests[stream.ID].call
}

// turnOf returns the only asking call without an open question, or nil if there is not exactly one.
func (g *gate) turnOf(calls []*call) (turn *call) {
	for _, c := range calls {
		switch {
		case !c.asks || len(c.open) > 0:
		case turn != nil:
			return nil
		default:
			turn = c
		}
	}
	return turn
}

// attribute assigns a question to a call, whose tool counts as asking from then on. The caller holds
// the lock.
func (g *gate) attribute(q *question, c *call) {
	q.of, q.running = c, nil
	c.asks, c.open = true, append(c.open, q)
	if c.tool != "" {
		g.askingTools[c.tool] = true
	}
	q.attributed <- nil
	g.want()
}

// want signals the calls with open questions that another call waits for them. The caller holds the
// lock.
func (g *gate) want() {
	if len(g.queue) == 0 && len(g.heldQuestions) == 0 {
		return
	}
	for _, c := range g.calls {
		for _, q := range c.open {
			if !q.isDemanded {
				q.isDemanded = true
				close(q.demand)
			}
		}
	}
}

// giveUpStuck refuses all held questions if every candidate call waits for one of them: no call would
// end before they are answered. The caller holds the lock.
func (g *gate) giveUpStuck() {
	for _, q := range g.heldQuestions {
		if len(q.running) > len(g.heldQuestions) || slices.ContainsFunc(q.running, func(c *call) bool { return len(c.open) > 0 }) {
			return
		}
	}
	for _, q := range slices.Clone(g.heldQuestions) {
		g.giveUp(q, nil)
	}
}

// giveUp refuses a question whose call is still unknown; why may be nil. The caller holds the lock.
func (g *gate) giveUp(q *question, why error) {
	at := slices.Index(g.heldQuestions, q)
	if at < 0 {
		return
	}
	g.heldQuestions = slices.Delete(g.heldQuestions, at, at+1)
	if why == nil {
		why = g.notKnown(q)
	}
	q.attributed <- why
	g.advance()
}

// notKnown returns the reason for refusing a question whose call is unknown. If no candidate has an
// open question, calls of their tools run one at a time from then on. Tools that have answered a call
// without asking are excepted. The caller holds the lock.
func (g *gate) notKnown(q *question) error {
	why := fmt.Sprintf("%d calls of this server run, in all sessions that share it, so it is not known whose client it asks", len(q.running))
	if !slices.ContainsFunc(q.running, func(c *call) bool { return len(c.open) > 0 }) {
		var tools []string
		for _, c := range q.running {
			if c.tool != "" && !g.quietTools[c.tool] && !slices.Contains(tools, c.tool) {
				g.askingTools[c.tool] = true
				tools = append(tools, c.tool)
			}
		}
		if slices.Sort(tools); len(tools) > 0 {
			why += ": call again, calls of " + strings.Join(tools, ", ") + " run one at a time from now on"
		}
	}
	return errors.New(why)
}

// exclude removes an ended call from the candidates of all questions. The caller holds the lock.
func (g *gate) exclude(c *call) {
	for _, q := range slices.Clone(g.heldQuestions) {
		q.running = slices.DeleteFunc(q.running, func(running *call) bool { return running == c })
		if len(q.running) == 1 {
			g.heldQuestions = slices.DeleteFunc(g.heldQuestions, func(other *question) bool { return other == q })
			g.attribute(q, q.running[0])
		}
	}
	g.giveUpStuck()
}

// ghostTime is how long a cancelled call may still ask. A program may ignore the cancellation, and its
// question must not be taken for a question of the next call.
const ghostTime = time.Second

// addGhost replaces a cancelled call by one that refuses all questions, for [ghostTime] or until the
// server answers it. The caller holds the lock.
func (g *gate) addGhost(token string, c *call) {
	ghost := &call{id: c.id, ghost: true, asks: true, tell: func(event) {}, ask: func(context.Context, Question) (json.RawMessage, error) {
		return nil, errors.New("the call that asks was cancelled")
	}}
	g.calls[token] = ghost
	for _, q := range g.heldQuestions {
		if at := slices.Index(q.running, c); at >= 0 {
			q.running[at] = ghost
		}
	}
	time.AfterFunc(ghostTime, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.calls[token] == ghost {
			g.drop(token)
		}
	})
}

// settleGhost ends a cancelled call that the server answered after all. The caller holds the lock.
func (g *gate) settleGhost(id jsonrpc.ID) {
	for token, c := range g.calls {
		if c.ghost && c.id == id {
			g.drop(token)
			return
		}
	}
}

// drop forgets a call, and lets the next one run. The caller holds the lock.
func (g *gate) drop(token string) {
	c := g.calls[token]
	delete(g.calls, token)
	g.exclude(c)
	g.advance()
}

// queuedCall is a call that waits for its turn.
type queuedCall struct {
	token string
	call  *call
	turn  chan struct{} // closed when the call may run
}

// enter begins a call under its progress token. It returns nil if the call may run at once.
func (g *gate) enter(token string, c *call) *queuedCall {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.asks = c.asks || g.askingTools[c.tool]
	if !c.asks || !g.callUnnamed {
		g.calls[token] = c
		return nil
	}
	w := &queuedCall{token, c, make(chan struct{})}
	g.queue = append(g.queue, w)
	if g.advance(); g.calls[token] == c {
		return nil
	}
	g.want()
	return w
}

// advance lets the next queued call run if no call of an asking tool runs. The caller holds the lock.
func (g *gate) advance() {
	for _, running := range g.calls {
		if running.asks {
			return
		}
	}
	if len(g.queue) > 0 {
		next := g.queue[0]
		g.queue = g.queue[1:]
		g.calls[next.token] = next.call
		close(next.turn)
	}
}

// unqueue ends a call that no longer waits for its turn. It may already run.
func (g *gate) unqueue(w *queuedCall) {
	g.mu.Lock()
	g.queue = slices.DeleteFunc(g.queue, func(other *queuedCall) bool { return other == w })
	_, runs := g.calls[w.token]
	g.mu.Unlock()
	if runs {
		g.leave(w.token, false)
	}
}

// inTurn begins a call, in its turn if its tool asks.
func (s *Session) inTurn(ctx context.Context, token string, c *call, queue func(waits bool)) error {
	w := s.gate.enter(token, c)
	if w == nil {
		return nil
	}
	if queue != nil {
		queue(true)
		defer queue(false)
	}
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
		s.gate.unqueue(w)
		return ctx.Err()
	case <-s.gone:
		s.gate.unqueue(w)
		return ErrGone
	}
}

// ask answers a question through the client of its call.
func (g *gate) ask(q *question) {
	defer q.cancel()
	result, err := g.answerTo(q)
	response := &jsonrpc.Response{ID: q.ID, Result: result}
	if err != nil {
		response.Result, response.Error = nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
	}
	if q.ctx.Err() == nil {
		_ = g.answer(g.life, response) // if the connection is gone, nothing waits for the answer
		return
	}
	g.mu.Lock()
	delete(g.serverRequests, q.ID) // the server took the question back
	g.mu.Unlock()
}

// answerTo returns the answer of the client. It waits until the call of the question is known and its
// caller has received all earlier events.
func (g *gate) answerTo(q *question) (json.RawMessage, error) {
	if !slices.Contains(g.client.Asks, q.Method) {
		return nil, fmt.Errorf("%s is not passed on to clients here", q.Method)
	}
	if err := g.know(q); err != nil {
		return nil, err
	}
	question := Question{Method: q.Method, Params: q.Params, Demand: q.demand}
	if q.of == nil || q.of.ask == nil {
		if g.client.Ask == nil {
			return nil, errors.New("there is no client to ask")
		}
		return g.client.Ask(q.ctx, question)
	}
	defer g.removeQuestion(q)
	g.flush(q.of)
	return q.of.ask(q.ctx, question)
}

// know waits until the call of a question is known, or returns the reason why it cannot be.
func (g *gate) know(q *question) error {
	late := time.NewTimer(holdTime)
	defer late.Stop()
	var why error
	select {
	case err := <-q.attributed:
		return err
	case <-late.C:
	case <-q.ctx.Done():
		why = q.ctx.Err()
	}
	g.mu.Lock()
	g.giveUp(q, why)
	g.mu.Unlock()
	return <-q.attributed
}

// removeQuestion removes a question from its call.
func (g *gate) removeQuestion(q *question) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q.of.open = slices.DeleteFunc(q.of.open, func(other *question) bool { return other == q })
}

// flush waits until the caller of c has received all events so far.
func (g *gate) flush(c *call) {
	done := make(chan struct{})
	g.mu.Lock()
	waits := g.hear(c, event{then: func() { close(done) }})
	g.mu.Unlock()
	if waits {
		<-done
	}
}

// askOf asks the client of a call a question that came in place of a result.
func (g *gate) askOf(ctx context.Context, c Call, q Question) (json.RawMessage, error) {
	ask := c.Ask
	if ask == nil {
		ask = g.client.Ask
	}
	switch {
	case c.Capabilities == nil && !slices.Contains(g.client.Asks, q.Method), ask == nil:
		return nil, fmt.Errorf("%s is not passed on to clients here", cmp.Or(q.Method, "a question without a method"))
	}
	return ask(ctx, q)
}
