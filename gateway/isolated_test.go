package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// fleet starts stateful programs: each counts its calls.
type fleet struct {
	mu      sync.Mutex
	running map[*countedProgram]bool
	started int
	broken  error // error of each start; nil if starts succeed
}

// countedProgram is a program of a fleet.
type countedProgram struct {
	fleet  *fleet
	client upstream.Client
	count  int
	over   bool // the login of its caller; guarded by the lock of the fleet
	gone   chan struct{}
}

func (f *fleet) connect(_ context.Context, _ gateway.Upstream, c upstream.Client) (gateway.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.started++; f.broken != nil {
		return nil, f.broken
	}
	p := &countedProgram{fleet: f, client: c, gone: make(chan struct{})}
	f.running[p] = true
	return p, nil
}

// runs returns the number of running programs.
func (f *fleet) runs() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.running)
}

// List implements [gateway.Session].
func (p *countedProgram) List(context.Context) (upstream.Answer, error) {
	p.fleet.mu.Lock()
	over := p.over
	p.fleet.mu.Unlock()
	if over {
		return upstream.Answer{}, upstream.ErrLogin
	}
	return upstream.Answer{Tools: []json.RawMessage{
		json.RawMessage(`{"name":"count","inputSchema":{"type":"object"}}`), json.RawMessage(`{"name":"ask","inputSchema":{"type":"object"}}`),
		json.RawMessage(`{"name":"die","inputSchema":{"type":"object"}}`),
	}, Resources: []json.RawMessage{
		json.RawMessage(`{"uri":"file:///ada/plan","name":"plan of ada"}`), json.RawMessage(`{"uri":"ui://chart","name":"chart"}`),
	}}, nil
}

// Call implements [gateway.Session].
func (p *countedProgram) Call(ctx context.Context, c upstream.Call) (json.RawMessage, error) {
	if c.Tool == "die" {
		p.Close()
		return nil, errors.New("it ended: exit status 3")
	}
	if c.Tool == "ask" { // like servers of 2025-11-25, without naming the call
		answer, err := p.client.Ask(ctx, upstream.Question{Method: upstream.Elicit})
		if err != nil {
			return nil, &upstream.ProtocolError{Message: err.Error()}
		}
		return json.RawMessage(`{"content":[],"structuredContent":` + string(answer) + `}`), nil
	}
	p.fleet.mu.Lock()
	defer p.fleet.mu.Unlock()
	p.count++
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":"count %d, roots %t"}]}`, p.count,
		slices.Contains(p.client.Asks, upstream.Roots)), nil
}

// Watch implements [gateway.Session].
func (p *countedProgram) Watch(context.Context, string, bool) error { return nil }

// Gone implements [gateway.Session].
func (p *countedProgram) Gone() <-chan struct{} { return p.gone }

// Close implements [gateway.Session].
func (p *countedProgram) Close() {
	p.fleet.mu.Lock()
	defer p.fleet.mu.Unlock()
	if p.fleet.running[p] {
		delete(p.fleet.running, p)
		close(p.gone)
	}
}

// isolatedGateway returns a gateway to a fleet, with at most two sessions, and a function that calls its
// tools.
func isolatedGateway(t *testing.T, f *fleet) (*gateway.Gateway, func(from toolfold.Origin, tool string) string) {
	t.Helper()
	f.running = map[*countedProgram]bool{}
	g, err := gateway.New(gateway.Options{Connect: f.connect, Upstreams: []gateway.Upstream{{
		Name: "srv", Server: upstream.Server{Argv: []string{"srv"}}, Isolated: true, MaxSessions: 2, SessionIdle: time.Minute,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if err := g.Learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := surface.New(surface.Options{})
	if err := s.Put(g.Families()...); err != nil {
		t.Fatal(err)
	}
	return g, func(from toolfold.Origin, tool string) string {
		answer := s.Client.Call(callctx.With(callctx.WithClient(t.Context(), person{0}), from), tool, nil)
		if answer.Err != nil {
			return answer.Err.Error() + " " + answer.Err.Hint
		}
		return string(answer.Content) + string(answer.Reply)
	}
}

// expect checks the answer of a call.
func expect(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("it is answered %s, want %s", got, want)
	}
}

// Each client session has its own program, and so has each bearer token without a session. Roots are
// requested only if they belong to one client.
func TestSessionsAreIsolated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{}
		_, call := isolatedGateway(t, f)
		a, b := toolfold.Origin{Session: "a", Token: "x"}, toolfold.Origin{Token: "x"}
		expect(t, call(a, "count"), "count 1, roots true")
		expect(t, call(a, "count"), "count 2, roots true")
		expect(t, call(b, "count"), "count 1, roots false")
		expect(t, call(a, "count"), "count 3, roots true")
		if synctest.Wait(); f.runs() != 2 {
			t.Errorf("%d programs run", f.runs())
		}
		none := call(toolfold.Origin{Client: "c"}, "count")
		expect(t, none, "this call has no session")
		expect(t, none, "with a bearer token")
		third := call(toolfold.Origin{Session: "c"}, "count")
		expect(t, third, "the server srv has 2 processes, the limit of maxSessions")
		expect(t, third, "the limit of maxSessions")
		expect(t, call(a, "ask"), "elicitation/create")
	})
}

// A program ends with its session and with the gateway.
func TestProgramsEndWithSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{}
		g, call := isolatedGateway(t, f)
		a, b, c := toolfold.Origin{Session: "a"}, toolfold.Origin{Session: "b"}, toolfold.Origin{Session: "c"}
		call(a, "count")
		call(b, "count")
		g.SessionEnded("a")
		if synctest.Wait(); f.runs() != 1 {
			t.Errorf("%d programs run when one session has ended", f.runs())
		}
		expect(t, call(c, "count"), "count 1")
		expect(t, call(b, "count"), "count 2")
		if g.Close(); f.runs() != 0 {
			t.Errorf("%d programs run when the gateway is closed", f.runs())
		}
	})
}

// A program ends after a time without calls, or by itself. The session is told that the state is lost,
// and then gets another program.
func TestIdleProgramsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{}
		_, call := isolatedGateway(t, f)
		a, b := toolfold.Origin{Session: "a"}, toolfold.Origin{Session: "b"}
		call(a, "count")
		call(b, "count")
		time.Sleep(50 * time.Second)
		call(b, "count")
		time.Sleep(50 * time.Second)
		if synctest.Wait(); f.runs() != 1 {
			t.Errorf("%d programs run when one was idle", f.runs())
		}
		again := call(a, "count")
		expect(t, again, "its state is lost: it was idle for 1m0s")
		expect(t, again, "call again")
		expect(t, call(a, "count"), "count 1")
		expect(t, call(b, "count"), "count 3")

		for p := range maps.Clone(f.running) {
			p.Close()
		}
		synctest.Wait()
		expect(t, call(b, "count"), "its state is lost: it ended")
		expect(t, call(b, "count"), "count 1")
		expect(t, call(b, "die"), "exit status 3") // reports the lost state
		expect(t, call(b, "count"), "count 1")
	})
}

// After a failed start, a pause applies to all sessions before the next start.
func TestIsolatedProgramsThatDoNotStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{}
		_, call := isolatedGateway(t, f)
		f.broken = errors.New("no such program")
		before := f.started
		expect(t, call(toolfold.Origin{Session: "a"}, "count"), "no such program")
		expect(t, call(toolfold.Origin{Session: "b"}, "count"), "no such program; next start in")
		if got := f.started - before; got != 1 {
			t.Errorf("%d starts", got)
		}
		f.broken = nil
		time.Sleep(2 * time.Second)
		expect(t, call(toolfold.Origin{Session: "b"}, "count"), "count 1")
	})
}
