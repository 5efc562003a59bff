package app

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/guard"
)

// Limits of an enforcer's memory.
const (
	maxConnections = 10_000 // the oldest is dropped
	maxEntered     = 100    // active sessions per connection
)

// Policies returns middleware that enforces the policies of sessions, for files below dir. A call
// belongs to the sessions of its context, such as the session of the agent run that makes it. It
// also belongs to the active sessions that its connection has entered. The first call in a session
// opens the store.
//
// Sessions over HTTP may be shared with other servers; then their connections have entered what they entered
// there. Nil means that they are not.
func Policies(dir string, open func(context.Context) (*storage.DB, error), shared *Sessions) call.Middleware {
	rules := guard.Rules{Workspace: dir, Open: func(ctx context.Context) (guard.Store, error) {
		db, err := open(ctx)
		if err != nil {
			return nil, err
		}
		return db.Guard(), nil
	}}
	return (&enforcer{rules: rules, shared: shared, entered: map[string][]string{}}).calls
}

// enforcer checks the policies of sessions before calls write files. It is safe for concurrent use.
type enforcer struct {
	rules  guard.Rules
	shared *Sessions // nil = connections are of this process

	mu      sync.Mutex
	entered map[string][]string // session ids by connection
	order   []string            // connections, oldest first
}

// calls is the [call.Middleware].
func (e *enforcer) calls(next call.Func) call.Func {
	return func(ctx context.Context, c *call.Call) toolfold.Answer {
		if c.Entry == nil || c.Entry.Action.Effect == toolfold.Reads {
			return next(ctx, c)
		}
		ctx, err := e.within(ctx, c)
		if err == nil {
			err = e.claim(ctx, c)
		}
		if err != nil {
			return c.Fail(ctx, err)
		}
		answer := next(ctx, c)
		if answer.Err == nil && c.Entry.Action.Enters && c.Origin.Session != "" {
			if err := e.enter(ctx, c, answer.Content); err != nil {
				return c.Fail(ctx, err)
			}
		}
		return answer
	}
}

// within adds the sessions of a call's connection to the context, and drops those that have ended.
// It rejects entering too many sessions, because dropping an active one would circumvent its
// policies.
func (e *enforcer) within(ctx context.Context, c *call.Call) (context.Context, error) {
	e.mu.Lock()
	ids := e.entered[c.Origin.Session]
	e.mu.Unlock()
	elsewhere, err := e.shared.entered(ctx, c.Origin.Session)
	if err != nil {
		return ctx, err
	}
	for _, id := range elsewhere {
		if !slices.Contains(ids, id) {
			ids = append(slices.Clip(ids), id)
		}
	}
	if len(ids) == 0 {
		return ctx, nil
	}
	active, err := e.rules.Active(ctx, ids)
	if err != nil {
		return ctx, err
	}
	if c.Entry.Action.Enters && len(active) >= maxEntered {
		return ctx, toolfold.Errorf(toolfold.LimitReached, "this connection is part of %d active sessions, which is the most; nothing was done",
			maxEntered).
			WithHint("end one that is done with session.complete")
	}
	e.mu.Lock()
	if own, known := e.entered[c.Origin.Session]; known {
		e.entered[c.Origin.Session] = slices.DeleteFunc(slices.Clone(own), func(id string) bool {
			return slices.Contains(ids, id) && !slices.Contains(active, id)
		})
	}
	e.mu.Unlock()
	return work.InSessions(ctx, active...), nil
}

// claim returns an error if the policies of a call's sessions forbid the files that it would write.
func (e *enforcer) claim(ctx context.Context, c *call.Call) error {
	sessions := work.Sessions(ctx)
	if len(sessions) == 0 {
		return nil
	}
	files, err := c.Targets(ctx)
	if err != nil || len(files) == 0 {
		return err
	}
	return e.rules.Claim(ctx, sessions, files)
}

// enter records the session that a call's connection has entered.
func (e *enforcer) enter(ctx context.Context, c *call.Call, content json.RawMessage) error {
	var result struct {
		SessionID string `json:"sessionId"`
	}
	args, _ := c.Arguments()
	id, named := args["sessionId"].(string)
	if !named && json.Unmarshal(content, &result) == nil {
		id = result.SessionID
	}
	id = strings.ToLower(id)
	if err := e.shared.enter(ctx, c.Origin.Session, id); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	ids, known := e.entered[c.Origin.Session]
	if id == "" || slices.Contains(ids, id) {
		return nil
	}
	if !known {
		if len(e.order) == maxConnections {
			delete(e.entered, e.order[0])
			e.order = e.order[1:]
		}
		e.order = append(e.order, c.Origin.Session)
	}
	e.entered[c.Origin.Session] = append(slices.Clone(ids), id)
	return nil
}
