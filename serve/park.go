package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/carried"
	"github.com/toolfold/toolfold/internal/sampling"
)

const (
	// promptWait bounds how long a prompt waits for its client's model.
	promptWait = 10 * time.Minute
	// maxPrompts bounds the prompts that wait at a time, maxClientPrompts those
	// of one client.
	maxPrompts       = 1000
	maxClientPrompts = 32
)

// prompts bounds the prompts that wait for the models of clients. When they are
// too many, the oldest of the client with the most of them fails.
type prompts struct {
	mu       sync.Mutex
	byClient map[string][]*waiting // the oldest first
	count    int
}

type waiting struct{ fail context.CancelCauseFunc }

// wait begins the wait for a client's model: the context of it ends when it may
// wait no longer. Done ends it.
func (p *prompts) wait(ctx context.Context, client string) (_ context.Context, done func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.byClient[client]) >= maxClientPrompts {
		return nil, nil, fmt.Errorf("%d prompts of this client wait for its model: it has to answer some first", maxClientPrompts)
	}
	if p.count >= maxPrompts {
		busiest := slices.MaxFunc(slices.Collect(maps.Keys(p.byClient)), func(a, b string) int {
			return len(p.byClient[a]) - len(p.byClient[b])
		})
		oldest := p.byClient[busiest][0]
		oldest.fail(errors.New("the prompt waited too long for its client's model while others had to wait"))
		p.remove(busiest, oldest)
	}
	if p.byClient == nil {
		p.byClient = map[string][]*waiting{}
	}
	ctx, fail := context.WithCancelCause(ctx)
	ctx, stop := context.WithTimeoutCause(ctx, promptWait, fmt.Errorf("the client's model did not answer within %s", promptWait))
	prompt := &waiting{fail}
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

func (p *prompts) remove(client string, prompt *waiting) {
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

// From 2026-07-28 on a server does not send requests: a call that needs the
// client's model is answered with what it wants to ask, and the client sends
// the call again with the answers. Meanwhile the call stays parked here,
// running, under a state that only its client knows and that is good for one
// retry.

// parking holds the calls whose clients have to answer.
type parking struct {
	prompts prompts

	mu    sync.Mutex
	calls map[string]*parked // by state
}

// parked is a call that may ask its client's model.
type parked struct {
	tool    string // with the id of its caller
	client  string
	offers  *mcp.SamplingCapability // of its client's model
	parking *parking
	cancel  context.CancelFunc
	done    chan toolfold.Answer // the answer, once

	mu      sync.Mutex
	state   string               // while the client has to answer
	asked   map[string]*question // without an answer yet, by id
	changed chan struct{}        // has room for one: something was asked
}

// question is a prompt on its way to the client and back.
type question struct {
	prompt sampling.Prompt
	answer chan mcp.InputResponse
}

// callModern runs a call of a client of 2026-07-28 that offers its model. It
// returns the answer, or else what the client is to answer first.
func (s *Server) callModern(
	ctx context.Context, r *request, name string, run func(context.Context) toolfold.Answer,
) (answer toolfold.Answer, asks *mcp.CallToolResult) {
	tool, state := name+" "+r.caller.id, textOfJSON(r.params.state) // what one caller parked no other goes on with
	if state == "" {
		return s.parking.start(ctx, r, tool, run).wait(ctx)
	}
	var responses mcp.InputResponses
	if raw := r.params.responses; raw != nil && json.Unmarshal(raw, &responses) != nil {
		return toolfold.Errorf(toolfold.InvalidInput,
			"inputResponses must be an object, with an answer under each key of inputRequests").Answer(), nil
	}
	p := s.parking.leave(state, tool)
	if p == nil {
		return toolfold.Errorf(toolfold.InvalidInput, "the call of this requestState has ended, or was continued already").
			WithHint("call again without requestState").Answer(), nil
	}
	p.take(responses)
	return p.wait(ctx)
}

// start starts a call. It lives on when the request that started it ends with
// a question, and ends with a request that is cancelled.
func (l *parking) start(ctx context.Context, r *request, tool string, run func(context.Context) toolfold.Answer) *parked {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &parked{
		tool: tool, client: r.clientKey(), offers: r.sampling(), parking: l, cancel: cancel,
		done: make(chan toolfold.Answer, 1), asked: map[string]*question{}, changed: make(chan struct{}, 1),
	}
	go func() {
		p.done <- run(carried.With[sampling.Sampler](running, p))
		p.mu.Lock()
		defer p.mu.Unlock()
		l.leave(p.state, tool) // no client came back in time
	}()
	return p
}

// leave takes a call of a tool out of the parking; nil when it is not there.
func (l *parking) leave(state, tool string) *parked {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.calls[state]
	if !ok || p.tool != tool {
		return nil
	}
	delete(l.calls, state)
	return p
}

// wait returns the answer of a call, or what it asks.
func (p *parked) wait(ctx context.Context) (answer toolfold.Answer, asks *mcp.CallToolResult) {
	for {
		select {
		case answer := <-p.done:
			p.cancel()
			return answer, nil
		case <-p.changed:
			if asks := p.park(); asks != nil {
				return answer, asks
			}
		case <-ctx.Done():
			p.cancel()
			return toolfold.Errorf(toolfold.Cancelled, "the call was cancelled").Answer(), nil
		}
	}
}

// Sample implements [sampling.Sampler].
func (p *parked) Sample(ctx context.Context, prompt sampling.Prompt) (sampling.Completion, error) {
	if err := checkTools(p.offers, prompt); err != nil {
		return sampling.Completion{}, err
	}
	ctx, done, err := p.parking.prompts.wait(ctx, p.client)
	if err != nil {
		return sampling.Completion{}, err
	}
	defer done()
	defer pause(ctx)()
	id, q := uuid.NewString(), &question{prompt, make(chan mcp.InputResponse, 1)}
	p.mu.Lock()
	p.asked[id] = q
	p.mu.Unlock()
	p.tell()
	select {
	case response := <-q.answer:
		if err := response.DecodeFor(mcp.MethodSamplingCreateMessage); err != nil {
			return sampling.Completion{}, fmt.Errorf("reading the client's answer: %w", err)
		}
		return completion(response.Sampling)
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.asked, id)
		if p.parking.leave(p.state, p.tool) != nil {
			p.cancel() // the client did not come back, so the rest would reach no client
		}
		return sampling.Completion{}, context.Cause(ctx)
	}
}

// tell wakes the request that waits, or the next one.
func (p *parked) tell() {
	select {
	case p.changed <- struct{}{}:
	default: // it is about to be told of an earlier question, and of this
	}
}

// park returns what the client is to answer before it calls again; nil when
// everything was answered meanwhile.
func (p *parked) park() *mcp.CallToolResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.asked) == 0 {
		return nil
	}
	p.state = uuid.NewString()
	b := server.NewInputRequestBuilder(p.state)
	for id, q := range p.asked {
		b.Sample(id, sampleParams(q.prompt))
	}
	p.parking.mu.Lock()
	defer p.parking.mu.Unlock()
	if p.parking.calls == nil {
		p.parking.calls = map[string]*parked{}
	}
	p.parking.calls[p.state] = p
	return b.ToolResult()
}

// take passes the client's answers to the prompts that wait for them. Prompts
// without an answer are asked again.
func (p *parked) take(responses mcp.InputResponses) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, response := range responses {
		if q, ok := p.asked[id]; ok {
			q.answer <- response
			delete(p.asked, id)
		}
	}
	if len(p.asked) > 0 {
		p.tell()
	}
}
