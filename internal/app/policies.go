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

// Bounds of what an enforcer remembers.
const (
	maxConnections = 10_000 // the oldest is forgotten
	maxEntered     = 100    // active sessions of one connection
)

// Policies returns middleware that holds the calls of a session to its policies,
// which are about the files below dir. A call is part of the sessions of its
// context, such as those of the agent's run that makes it, and of the active
// ones that its connection has entered. The store is opened by the first call
// that is part of one.
func Policies(dir string, open func(context.Context) (*storage.DB, error)) call.Middleware {
	e := &enforcer{entered: map[string][]string{}, rules: guard.Rules{Workspace: dir, Open: func(ctx context.Context) (guard.Store, error) {
		db, err := open(ctx)
		if err != nil {
			return nil, err
		}
		return db.Guard(), nil
	}}}
	return e.calls
}

// enforcer asks the policies of sessions before calls write files. It is safe
// for concurrent use.
type enforcer struct {
	rules guard.Rules

	mu      sync.Mutex
	entered map[string][]string // sessions by connection
	order   []string            // connections, the oldest first
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
			e.enter(c, answer.Content)
		}
		return answer
	}
}

// within returns the context of a call that comes over a connection, and
// forgets the sessions that have ended. It refuses to enter too many: to forget
// one instead would be a way out of its policies.
func (e *enforcer) within(ctx context.Context, c *call.Call) (context.Context, error) {
	e.mu.Lock()
	ids := e.entered[c.Origin.Session]
	e.mu.Unlock()
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
	e.entered[c.Origin.Session] = slices.DeleteFunc(slices.Clone(e.entered[c.Origin.Session]), func(id string) bool {
		return slices.Contains(ids, id) && !slices.Contains(active, id)
	})
	e.mu.Unlock()
	return work.InSessions(ctx, active...), nil
}

// claim asks whether a call may write the files that it would.
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

// enter notes the session that a call has made its connection part of.
func (e *enforcer) enter(c *call.Call, content json.RawMessage) {
	var result struct {
		SessionID string `json:"sessionId"`
	}
	args, _ := c.Arguments()
	id, named := args["sessionId"].(string)
	if !named && json.Unmarshal(content, &result) == nil {
		id = result.SessionID
	}
	id = strings.ToLower(id)
	e.mu.Lock()
	defer e.mu.Unlock()
	ids, known := e.entered[c.Origin.Session]
	if id == "" || slices.Contains(ids, id) {
		return
	}
	if !known {
		if len(e.order) == maxConnections {
			delete(e.entered, e.order[0])
			e.order = e.order[1:]
		}
		e.order = append(e.order, c.Origin.Session)
	}
	e.entered[c.Origin.Session] = append(slices.Clone(ids), id)
}
