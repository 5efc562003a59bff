package call

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
)

// Policies are the rules that sessions have for the files their calls write.
type Policies interface {
	// Active returns those of the sessions that have not ended.
	Active(ctx context.Context, sessions []string) ([]string, error)

	// Claim refuses, with a [*toolfold.Error], files that a policy of one of the
	// sessions does not let its calls write. It is called before anything is
	// written.
	Claim(ctx context.Context, sessions, files []string) error
}

// Bounds of what a [Guard] remembers.
const (
	maxConnections = 10_000 // the oldest is forgotten
	maxEntered     = 100    // active sessions of one connection
)

// TooManySessions is the code of the refusal to enter one more session.
const TooManySessions = "TOO_MANY_SESSIONS"

// Guard is middleware that holds the calls of a session to its policies. A call
// is part of the sessions of its context, such as those of the agent's run that
// makes it, and of the active ones that its connection has entered. It is safe
// for concurrent use.
type Guard struct {
	policies Policies

	mu      sync.Mutex
	entered map[string][]string // sessions by connection
	order   []string            // connections, the oldest first
}

// NewGuard returns a guard that asks policies.
func NewGuard(policies Policies) *Guard {
	return &Guard{policies: policies, entered: map[string][]string{}}
}

// Calls is the [Middleware].
func (g *Guard) Calls(next Func) Func {
	return func(ctx context.Context, c *Call) toolfold.Answer {
		if c.Entry == nil || c.Entry.Action.Effect == toolfold.Reads {
			return next(ctx, c)
		}
		ctx, err := g.within(ctx, c)
		if err == nil {
			err = g.claim(ctx, c)
		}
		if err != nil {
			return c.runner.fail(ctx, c, err)
		}
		answer := next(ctx, c)
		if answer.Err == nil && c.Entry.Action.Enters && c.Origin.Session != "" {
			g.enter(c, answer.Content)
		}
		return answer
	}
}

// within returns the context of a call that comes over a connection, and
// forgets the sessions that have ended. It refuses to enter too many: to forget
// one instead would be a way out of its policies.
func (g *Guard) within(ctx context.Context, c *Call) (context.Context, error) {
	g.mu.Lock()
	ids := g.entered[c.Origin.Session]
	g.mu.Unlock()
	if len(ids) == 0 {
		return ctx, nil
	}
	active, err := g.policies.Active(ctx, ids)
	if err != nil {
		return ctx, err
	}
	if c.Entry.Action.Enters && len(active) >= maxEntered {
		return ctx, toolfold.Errorf(TooManySessions, "this connection is part of %d active sessions, which is the most; nothing was done", maxEntered).
			WithHint("end one that is done with session.complete")
	}
	g.mu.Lock()
	g.entered[c.Origin.Session] = slices.DeleteFunc(slices.Clone(g.entered[c.Origin.Session]), func(id string) bool {
		return slices.Contains(ids, id) && !slices.Contains(active, id)
	})
	g.mu.Unlock()
	return toolfold.InSessions(ctx, active...), nil
}

// claim asks whether a call may write the files that it would. A call that
// will be refused for its arguments writes none.
func (g *Guard) claim(ctx context.Context, c *Call) error {
	sessions := toolfold.SessionsOf(ctx)
	if !c.Entry.Action.WritesFiles() || len(sessions) == 0 {
		return nil
	}
	if _, valid := c.Arguments(); !valid {
		return nil
	}
	files, err := c.Entry.Action.Targets(ctx, c.args.encode(c.Entry))
	if err != nil || len(files) == 0 {
		return err
	}
	return g.policies.Claim(ctx, sessions, files)
}

// enter notes the session that a call has made its connection part of.
func (g *Guard) enter(c *Call, content json.RawMessage) {
	var result struct {
		SessionID string `json:"sessionId"`
	}
	args, _ := c.Arguments()
	id, given := args["sessionId"].(string)
	if !given && json.Unmarshal(content, &result) == nil {
		id = result.SessionID
	}
	id = strings.ToLower(id)
	g.mu.Lock()
	defer g.mu.Unlock()
	ids, known := g.entered[c.Origin.Session]
	if id == "" || slices.Contains(ids, id) {
		return
	}
	if !known {
		if len(g.order) == maxConnections {
			delete(g.entered, g.order[0])
			g.order = g.order[1:]
		}
		g.order = append(g.order, c.Origin.Session)
	}
	g.entered[c.Origin.Session] = append(slices.Clone(ids), id)
}
