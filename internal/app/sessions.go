package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/audit"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/serve"
)

// Sessions stores the sessions of clients for all servers on a store, see [serve.SharedSessions], and binds those
// with processes of their own to one server.
type Sessions struct {
	Open func(context.Context) (*storage.DB, error)
	Log  *slog.Logger

	mu   sync.Mutex
	held map[string]*hold
}

// hold binds a session to this server while uses > 0.
type hold struct {
	uses int
	stop context.CancelFunc
}

const (
	holdTime = 90 * time.Second // after the end of a server that was killed, others can take its sessions
	holdEach = 30 * time.Second // between two renewals
	holdWait = 5 * time.Second  // for the store
)

func (s *Sessions) do(ctx context.Context, do func(storage.ClientSessions) error) error {
	db, err := s.Open(ctx)
	if err != nil {
		return err
	}
	return do(db.ClientSessions(time.Now))
}

// Begin implements [serve.SharedSessions].
func (s *Sessions) Begin(ctx context.Context, id, owner string, hello json.RawMessage) error {
	return s.do(ctx, func(c storage.ClientSessions) error { return c.Begin(ctx, id, owner, hello) })
}

// Find implements [serve.SharedSessions].
func (s *Sessions) Find(ctx context.Context, id, owner string, since time.Time) (found serve.SharedSession, ok bool, err error) {
	err = s.do(ctx, func(c storage.ClientSessions) error {
		var stored storage.ClientSession
		stored, ok, err = c.Find(ctx, id, owner, since)
		found = serve.SharedSession(stored)
		return err
	})
	return found, ok, err
}

// Load implements [serve.SharedSessions].
func (s *Sessions) Load(ctx context.Context, id string, tools []string) error {
	return s.do(ctx, func(c storage.ClientSessions) error { return c.Load(ctx, id, tools) })
}

// SetLogLevel implements [serve.SharedSessions].
func (s *Sessions) SetLogLevel(ctx context.Context, id, level string) error {
	return s.do(ctx, func(c storage.ClientSessions) error { return c.SetLogLevel(ctx, id, level) })
}

// Subscribe implements [serve.SharedSessions].
func (s *Sessions) Subscribe(ctx context.Context, id, uri string) error {
	return s.do(ctx, func(c storage.ClientSessions) error { return c.Subscribe(ctx, id, uri) })
}

// Unsubscribe implements [serve.SharedSessions].
func (s *Sessions) Unsubscribe(ctx context.Context, id, uri string) error {
	return s.do(ctx, func(c storage.ClientSessions) error { return c.Unsubscribe(ctx, id, uri) })
}

// Use implements [serve.SharedSessions].
func (s *Sessions) Use(ctx context.Context, ids []string, since time.Time) (ended []string, err error) {
	err = s.do(ctx, func(c storage.ClientSessions) error {
		ended, err = c.Use(ctx, ids, since)
		return err
	})
	return ended, err
}

// End implements [serve.SharedSessions].
func (s *Sessions) End(ctx context.Context, id string) error {
	return s.do(ctx, func(c storage.ClientSessions) error { return c.End(ctx, id) })
}

// Pass implements [serve.SharedSessions].
func (s *Sessions) Pass(ctx context.Context, id, question string, answer json.RawMessage) error {
	return s.do(ctx, func(c storage.ClientSessions) error { return c.Pass(ctx, id, question, answer) })
}

// Take implements [serve.SharedSessions].
func (s *Sessions) Take(ctx context.Context, id, question string) (answer json.RawMessage, found bool, err error) {
	err = s.do(ctx, func(c storage.ClientSessions) error {
		answer, found, err = c.Take(ctx, id, question)
		return err
	})
	return answer, found, err
}

func (s *Sessions) letters(ctx context.Context) (storage.Letters, error) {
	db, err := s.Open(ctx)
	if err != nil {
		return storage.Letters{}, err
	}
	return db.Letters(), nil
}

// Attend implements [serve.Letters].
func (s *Sessions) Attend(ctx context.Context, server string, peers []string) (gone []string, err error) {
	l, err := s.letters(ctx)
	if err != nil {
		return nil, err
	}
	return l.Attend(ctx, server, peers)
}

// Leave implements [serve.Letters].
func (s *Sessions) Leave(ctx context.Context, server string) error {
	l, err := s.letters(ctx)
	if err != nil {
		return err
	}
	return l.Leave(ctx, server)
}

// Send implements [serve.Letters].
func (s *Sessions) Send(ctx context.Context, server string, letter serve.Letter) error {
	l, err := s.letters(ctx)
	if err != nil {
		return err
	}
	return l.Send(ctx, server, storage.Letter(letter))
}

// Receive implements [serve.Letters].
func (s *Sessions) Receive(ctx context.Context, server string, done []string) (list []serve.Letter, err error) {
	l, err := s.letters(ctx)
	if err != nil {
		return nil, err
	}
	received, err := l.Receive(ctx, server, done)
	for _, letter := range received {
		list = append(list, serve.Letter(letter))
	}
	return list, err
}

// Hold binds a session to this server until release is called. It fails if another server holds it. A session that
// no other server can continue is not bound.
func (s *Sessions) Hold(ctx context.Context, id string) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[id]
	if h == nil {
		if err := s.renew(ctx, id); err != nil {
			return nil, err
		}
		if s.held == nil {
			s.held = map[string]*hold{}
		}
		h = &hold{}
		var life context.Context
		life, h.stop = context.WithCancel(context.Background())
		s.held[id] = h
		go s.keepHold(life, id)
	}
	h.uses++
	return sync.OnceFunc(func() { s.release(id, h) }), nil
}

// renew extends the hold of a session.
func (s *Sessions) renew(ctx context.Context, id string) error {
	ctx, done := context.WithTimeout(ctx, holdWait)
	defer done()
	return s.do(ctx, func(c storage.ClientSessions) error {
		by, until, err := c.Hold(ctx, id, audit.Server(), time.Now().Add(holdTime))
		if err != nil || by == "" {
			return err
		}
		return toolfold.Errorf(toolfold.UpstreamError, "the processes of this session run at the server %s", by).
			WithHint("send requests of a session to one server (route by Mcp-Session-Id), or begin a new session; if %s has ended, "+
				"call again in %s", by, max(time.Second, time.Until(until).Round(time.Second)))
	})
}

func (s *Sessions) keepHold(life context.Context, id string) {
	for {
		select {
		case <-life.Done():
			return
		case <-time.After(holdEach):
		}
		if err := s.renew(life, id); err != nil && life.Err() == nil {
			s.Log.Warn("a session with processes of its own may be taken by another server", "err", err)
		}
	}
}

func (s *Sessions) release(id string, h *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.uses--; h.uses > 0 {
		return
	}
	h.stop()
	delete(s.held, id)
	ctx, done := context.WithTimeout(context.Background(), holdWait)
	defer done()
	if err := s.do(ctx, func(c storage.ClientSessions) error { return c.Release(ctx, id, audit.Server()) }); err != nil {
		s.Log.Warn("a session stays bound to this server for a while", "err", fmt.Errorf("releasing it: %w", err))
	}
}

// entered returns the work sessions that a session over HTTP has entered at any server.
func (s *Sessions) entered(ctx context.Context, id string) (work []string, err error) {
	if s == nil || !strings.HasPrefix(id, callctx.HTTPSession) {
		return nil, nil
	}
	err = s.do(ctx, func(c storage.ClientSessions) error {
		work, err = c.Entered(ctx, id)
		return err
	})
	return work, err
}

// enter records for all servers that a session over HTTP has entered a work session.
func (s *Sessions) enter(ctx context.Context, id, work string) error {
	if s == nil || work == "" || !strings.HasPrefix(id, callctx.HTTPSession) {
		return nil
	}
	return s.do(ctx, func(c storage.ClientSessions) error { return c.Enter(ctx, id, work) })
}
