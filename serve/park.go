package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

const (
	// promptWait limits how long a prompt waits for its client's model or user.
	promptWait = 10 * time.Minute
	// maxPrompts limits the prompts that wait at a time, maxClientPrompts the prompts of one
	// client.
	maxPrompts       = 1000
	maxClientPrompts = maxPrompts / 2
)

// prompts limits the prompts that wait for the models and users of clients. At the limit, the
// oldest prompt of the client with the most prompts fails.
type prompts struct {
	mu        sync.Mutex
	byClient  map[string][]*pendingPrompt // the oldest first
	count     int
	endReason func() error // the reason why no prompt may wait; nil = prompts may wait
}

// end fails all waiting prompts and all later ones.
func (p *prompts) end(why func() error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endReason = why
	for _, list := range p.byClient {
		for _, prompt := range list {
			prompt.fail(why())
		}
	}
}

type pendingPrompt struct{ fail context.CancelCauseFunc }

// wait registers a prompt. Its context ends when the prompt may wait no longer. done ends the wait.
func (p *prompts) wait(ctx context.Context, client string) (_ context.Context, done func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.endReason != nil {
		return nil, nil, p.endReason()
	}
	if len(p.byClient[client]) >= maxClientPrompts {
		return nil, nil, fmt.Errorf("%d prompts of this client wait for its answer: it has to answer some first", maxClientPrompts)
	}
	if p.count >= maxPrompts {
		busiest := slices.MaxFunc(slices.Collect(maps.Keys(p.byClient)), func(a, b string) int {
			return len(p.byClient[a]) - len(p.byClient[b])
		})
		oldest := p.byClient[busiest][0]
		oldest.fail(errors.New("the prompt waited too long for its client while other prompts had to wait"))
		p.remove(busiest, oldest)
	}
	if p.byClient == nil {
		p.byClient = map[string][]*pendingPrompt{}
	}
	ctx, fail := context.WithCancelCause(ctx)
	ctx, stop := context.WithTimeoutCause(ctx, promptWait, fmt.Errorf("the client did not answer within %s", promptWait))
	prompt := &pendingPrompt{fail}
	p.byClient[client] = append(p.byClient[client], prompt)
	p.count++
	return ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		stop()
		fail(nil)
		p.remove(client, prompt)
	}, nil
}

func (p *prompts) remove(client string, prompt *pendingPrompt) {
	list := p.byClient[client]
	i := slices.Index(list, prompt)
	if i < 0 {
		return
	}
	p.count--
	if p.byClient[client] = slices.Delete(list, i, i+1); len(list) == 1 {
		delete(p.byClient, client)
	}
}

// From 2026-07-28 on a server does not send requests. A call that asks its client's model or user
// is answered with the questions, and the client repeats the call with the answers. Meanwhile the
// call stays pending here, running, under a state that only its client knows and that is valid for
// one retry.

// questionDelay is the time in which a call may ask further questions, so that they all go out in
// one round.
const questionDelay = 10 * time.Millisecond

const processDigits = 8

// pendingCalls holds the calls whose clients have to answer.
type pendingCalls struct {
	process string // prefix of every state of this process: processDigits hexadecimal digits and a hyphen
	prompts prompts

	mu    sync.Mutex
	calls map[string]*pendingCall // by state
}

// pendingCall is a call that may ask its client.
type pendingCall struct {
	key    string // see [request.callKey]
	client string
	calls  *pendingCalls
	cancel context.CancelCauseFunc
	done   chan toolfold.Answer // receives the answer once

	mu           sync.Mutex
	request      *request                   // the newest
	arrived      time.Time                  // when it came
	state        string                     // set while the client has to answer
	questions    map[string]*question       // unanswered questions, by key
	earlyAnswers map[string]json.RawMessage // answers that came with the first request, by key
	newQuestion  chan struct{}              // capacity 1; signals a new question
}

// question is a question on its way to the client and back.
type question struct {
	callctx.Question
	answer chan json.RawMessage
}

// fits reports whether answer has the form of an answer to method.
func fits(method string, answer json.RawMessage) bool {
	var members struct{ Action, Role, Roots json.RawMessage }
	if json.Unmarshal(answer, &members) != nil {
		return false
	}
	switch method {
	case callctx.MethodElicit:
		return members.Action != nil
	case callctx.MethodSample:
		return members.Role != nil
	}
	return members.Roots != nil
}

// callModern runs a call of a client of 2026-07-28 that can be asked. It returns the answer, or the
// questions that the client has to answer first. Answers that come before their question are kept
// for it; invalid answers are dropped and the question is asked again.
func (s *Server) callModern(
	ctx context.Context, r *request, name string, run func(context.Context) toolfold.Answer,
) (answer toolfold.Answer, asks *ordered.Map, failed *protocolError) {
	key, state := r.callKey(name), textOfJSON(r.params.state)
	responses, failed := readResponses(r.params.responses)
	switch {
	case failed != nil:
		return answer, nil, failed
	case state == "" && !slices.Contains([]string{"", "null", `""`}, string(r.params.state)):
		return answer, nil, &protocolError{code: mcp.INVALID_PARAMS,
			message: "requestState must be the text that came with the questions; without it, a new call begins"}
	}
	var p *pendingCall
	if state == "" {
		p = s.pendingCalls.start(ctx, r, key, responses, run)
	} else if p = s.pendingCalls.leave(state, key); p != nil {
		p.goOn(r)
		p.take(responses)
	}
	switch {
	case p != nil:
		answer, asks = p.wait(ctx)
	case strings.HasPrefix(state, s.pendingCalls.process):
		return answer, nil, errCallEnded
	case s.letters != nil:
		return s.letters.pass(ctx, r, key, responses)
	default:
		return answer, nil, &protocolError{code: mcp.INVALID_PARAMS,
			message: "this call waits in another server process; route this client's requests to one process, or start again"}
	}
	if asks != nil && s.letters != nil {
		if _, err := s.letters.attend(ctx); err != nil {
			s.log.Warn("a call can only be continued at this server: the store of sessions does not answer", "err", err)
		}
	}
	return answer, asks, nil
}

// callKey is the same for all requests that may continue a call: they have the method and tool in name, the caller, and
// the caller's rights, which differ at other addresses.
func (r *request) callKey(name string) string {
	rights := "all"
	if r.caller.rights != nil {
		rights = "rights " + r.caller.rights.Text
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", name, r.caller.id, rights))
	return hex.EncodeToString(sum[:])
}

// readResponses reads a client's answers to questions, by key.
func readResponses(raw json.RawMessage) (responses map[string]json.RawMessage, failed *protocolError) {
	if raw != nil && json.Unmarshal(raw, &responses) != nil {
		return nil, &protocolError{code: mcp.INVALID_PARAMS,
			message: "inputResponses must be an object, with an answer under each key of inputRequests"}
	}
	return responses, nil
}

// start starts a call. The call outlives a request that ends with a question, but it ends with a
// cancelled request.
func (l *pendingCalls) start(
	ctx context.Context, r *request, key string, earlyAnswers map[string]json.RawMessage, run func(context.Context) toolfold.Answer,
) *pendingCall {
	running, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	p := &pendingCall{
		key: key, client: r.clientKey(), request: r, arrived: time.Now(), calls: l, cancel: cancel, earlyAnswers: earlyAnswers,
		done: make(chan toolfold.Answer, 1), questions: map[string]*question{}, newQuestion: make(chan struct{}, 1),
	}
	go func() {
		p.done <- run(r.declared().in(running, p))
		p.mu.Lock()
		defer p.mu.Unlock()
		l.leave(p.state, key) // for a client that did not come back in time
	}()
	return p
}

// leave takes a call with a key out of pendingCalls; nil if it is not there.
func (l *pendingCalls) leave(state, key string) *pendingCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.calls[state]
	if !ok || p.key != key {
		return nil
	}
	delete(l.calls, state)
	return p
}

// some reports whether calls wait for their clients.
func (l *pendingCalls) some() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.calls) > 0
}

// wait returns the answer of a call, or its questions.
func (p *pendingCall) wait(ctx context.Context) (answer toolfold.Answer, asks *ordered.Map) {
	var delayOver <-chan time.Time
	for {
		select {
		case answer := <-p.done:
			p.cancel(nil)
			return answer, nil
		case <-p.newQuestion:
			delayOver = time.After(questionDelay)
		case <-delayOver:
			if asks := p.suspend(); asks != nil {
				return answer, asks
			}
			delayOver = nil
		case <-ctx.Done():
			p.cancel(context.Cause(ctx))
			return toolfold.Errorf(toolfold.Cancelled, "the call was cancelled").Answer(), nil
		}
	}
}

// goOn makes r the newest request of the call.
func (p *pendingCall) goOn(r *request) {
	p.mu.Lock()
	before := p.request
	p.request, p.arrived = r, time.Now()
	p.mu.Unlock()
	before.goOn(r)
}

// newest returns the newest request of the call, and when it came.
func (p *pendingCall) newest() (*request, time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.request, p.arrived
}

// Offers implements [callctx.Client].
func (p *pendingCall) Offers(method string) bool {
	r, _ := p.newest()
	return r.Offers(method)
}

// Declared implements [callctx.Client].
func (p *pendingCall) Declared() json.RawMessage {
	r, _ := p.newest()
	return r.declared().Declared()
}

// Seen implements [callctx.Client]. Over HTTP it is the time of the call's newest request: other
// requests may come from another client of the same name.
func (p *pendingCall) Seen() time.Time {
	r, arrived := p.newest()
	if r.questions != nil {
		return time.Unix(0, r.questions.seen.Load())
	}
	return arrived
}

// Ask implements [callctx.Client].
func (p *pendingCall) Ask(ctx context.Context, form callctx.Question) (json.RawMessage, error) {
	ctx, done, err := p.calls.prompts.wait(ctx, p.client)
	if err != nil {
		return nil, err
	}
	defer done()
	defer pause(ctx)()
	q := &question{form, make(chan json.RawMessage, 1)}
	key := p.ask(q)
	p.wake()
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.questions, key)
		if p.calls.leave(p.state, p.key) != nil {
			p.cancel(nil) // the client did not come back, so no client would get the rest
		}
		return nil, context.Cause(ctx)
	}
}

// ask adds a question and returns its key. If its answer is there already, it is not sent.
func (p *pendingCall) ask(q *question) (key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key = q.Key
	if answer, ok := p.earlyAnswers[key]; ok && key != "" {
		delete(p.earlyAnswers, key)
		if fits(q.Method, answer) {
			q.answer <- answer
			return key
		}
	}
	if _, taken := p.questions[key]; taken || key == "" {
		key = uuid.NewString()
	}
	p.questions[key] = q
	return key
}

// wake wakes the request that waits, or the next one.
func (p *pendingCall) wake() {
	select {
	case p.newQuestion <- struct{}{}:
	default: // a signal is pending and covers this question too
	}
}

// suspend returns the questions that the client has to answer before it calls again; nil if all were
// answered meanwhile.
func (p *pendingCall) suspend() *ordered.Map {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.questions) == 0 {
		return nil
	}
	p.state = p.calls.process + uuid.NewString()
	p.request.mu.Lock()
	p.request.awaitsClient = true
	p.request.mu.Unlock()
	requests := ordered.Map{}
	for _, key := range slices.Sorted(maps.Keys(p.questions)) {
		q := p.questions[key]
		params := q.Params
		if params == nil {
			params = struct{}{}
		}
		requests.Set(key, ordered.Map{{Key: "method", Value: q.Method}, {Key: "params", Value: params}})
	}
	p.calls.mu.Lock()
	defer p.calls.mu.Unlock()
	if p.calls.calls == nil {
		p.calls.calls = map[string]*pendingCall{}
	}
	p.calls.calls[p.state] = p
	return &ordered.Map{
		{Key: "resultType", Value: mcp.ResultTypeInputRequired}, {Key: "inputRequests", Value: requests}, {Key: "requestState", Value: p.state},
	}
}

// take passes the client's answers to the questions that wait for them. Unanswered questions are
// asked again.
func (p *pendingCall) take(responses map[string]json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, answer := range responses {
		if q, ok := p.questions[key]; ok && fits(q.Method, answer) {
			q.answer <- answer
			delete(p.questions, key)
		}
	}
	if len(p.questions) > 0 {
		p.wake()
	}
}
