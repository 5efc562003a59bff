package serve

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold/engine"
	"github.com/toolfold/toolfold/tools"
)

const (
	// parkedFor is how long a call waits for its client to come back with the
	// answers of its model.
	parkedFor = 10 * time.Minute
	// maxParked is how many calls may wait at a time.
	maxParked = 1000
)

// From 2026-07-28 on a server does not send requests: a call that needs the
// client's model is answered with what it wants to ask, and the client sends
// the call again with the answers. Meanwhile the call stays parked here,
// running, under a name that only its client knows.

// lot holds the parked calls.
type lot struct {
	mu    sync.Mutex
	calls map[string]*parked
}

// parked is a call that may ask its client's model.
type parked struct {
	id     string
	tool   string
	cancel context.CancelFunc
	expire *time.Timer
	done   chan tools.Answer // the answer, once

	mu      sync.Mutex
	asked   map[string]*question // without an answer yet, by id
	changed chan struct{}        // has room for one: something was asked
}

// question is a prompt on its way to the client and back.
type question struct {
	prompt engine.Prompt
	answer chan mcp.InputResponse
}

// callModern runs a call of a client of 2026-07-28 that offers its model.
func (s *Server) callModern(ctx context.Context, request mcp.CallToolRequest, run func(context.Context) tools.Answer) (*mcp.CallToolResult, error) {
	call := request.Params.Arguments.(routed)
	if request.Params.RequestState == "" {
		p, err := s.parking.park(ctx, call.name, run)
		if err != nil {
			return result(tools.Fail(err)), nil
		}
		return s.parking.wait(ctx, p), nil
	}
	p, err := s.parking.find(request.Params.RequestState, call.name)
	if err != nil {
		return result(tools.Fail(err)), nil
	}
	p.take(request.Params.InputResponses)
	return s.parking.wait(ctx, p), nil
}

// park starts a call. It lives on when the request that started it ends with
// a question, and ends with a request that is cancelled.
func (l *lot) park(ctx context.Context, tool string, run func(context.Context) tools.Answer) (*parked, *tools.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) >= maxParked {
		return nil, tools.Errorf(tools.Internal, "too many calls wait for their clients").WithHint("try again later")
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &parked{
		id: uuid.NewString(), tool: tool, cancel: cancel,
		done: make(chan tools.Answer, 1), asked: map[string]*question{}, changed: make(chan struct{}, 1),
	}
	p.expire = time.AfterFunc(parkedFor, func() { l.drop(p) })
	if l.calls == nil {
		l.calls = map[string]*parked{}
	}
	l.calls[p.id] = p
	go func() { p.done <- run(engine.WithSampler(running, p)) }()
	return p, nil
}

func (l *lot) find(id, tool string) (*parked, *tools.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.calls[id]
	if !ok || p.tool != tool {
		return nil, tools.Errorf(tools.InvalidInput, "the call that asked for input is gone").
			WithHint("call again without requestState")
	}
	p.expire.Reset(parkedFor)
	return p, nil
}

// drop ends a call and forgets it.
func (l *lot) drop(p *parked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p.expire.Stop()
	p.cancel()
	delete(l.calls, p.id)
}

// wait returns the answer of a call, or what it asks.
func (l *lot) wait(ctx context.Context, p *parked) *mcp.CallToolResult {
	for {
		select {
		case answer := <-p.done:
			l.drop(p)
			return result(answer)
		case <-p.changed:
			if asks := p.questions(); asks != nil {
				return asks
			}
		case <-ctx.Done():
			l.drop(p)
			return result(tools.Fail(tools.Errorf(tools.Internal, "the call was cancelled")))
		}
	}
}

// Sample implements [engine.Sampler].
func (p *parked) Sample(ctx context.Context, prompt engine.Prompt) (engine.Completion, error) {
	id, q := uuid.NewString(), &question{prompt, make(chan mcp.InputResponse, 1)}
	p.mu.Lock()
	p.asked[id] = q
	p.mu.Unlock()
	select {
	case p.changed <- struct{}{}:
	default: // the client is about to be told of an earlier one, and of this
	}
	select {
	case response := <-q.answer:
		if err := response.DecodeFor(mcp.MethodSamplingCreateMessage); err != nil {
			return engine.Completion{}, fmt.Errorf("reading the client's answer: %w", err)
		}
		return completion(response.Sampling)
	case <-ctx.Done():
		p.mu.Lock()
		delete(p.asked, id)
		p.mu.Unlock()
		return engine.Completion{}, context.Cause(ctx)
	}
}

// questions is what the client is to answer before it calls again; nil when
// everything was answered meanwhile.
func (p *parked) questions() *mcp.CallToolResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.asked) == 0 {
		return nil
	}
	b := server.NewInputRequestBuilder(p.id)
	for id, q := range p.asked {
		b.Sample(id, sampleParams(q.prompt))
	}
	return b.ToolResult()
}

// take hands the client's answers to those who asked. What stays without an
// answer is asked again.
func (p *parked) take(responses mcp.InputResponses) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, response := range responses {
		if q, ok := p.asked[id]; ok {
			q.answer <- response
			delete(p.asked, id)
		}
	}
	if len(p.asked) == 0 {
		return
	}
	select {
	case p.changed <- struct{}{}:
	default:
	}
}
