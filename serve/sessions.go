package serve

import (
	"container/list"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold/internal/call/callctx"
)

// sessionIdle is the lifetime of a session without a request or a stream.
const sessionIdle = 30 * time.Minute

// sessions are the sessions of protocols up to 2025-11-25, at most limit. Beyond that a new session
// ends the one that was idle longest. It implements mcp-go's SessionIdManager.
type sessions struct {
	limit int
	now   func() time.Time
	end   func(id string) // makes mcp-go forget a session
	onEnd func(id string) // called when a session has ended; may be nil

	mu   sync.Mutex
	byID map[string]*list.Element
	used *list.List // of *httpSession, least recently used first
}

type httpSession struct {
	id        string
	caller    string                       // id of the caller that began it; empty without a token
	client    server.SessionWithClientInfo // nil until mcp-go has answered initialize
	last      time.Time
	open      int  // requests and streams
	ownerless bool // its owner is not known yet
	shared    bool // other servers continue it, see [SharedSessions]; set before a client knows it
	requests  requests
	questions questions
	ctx       context.Context // done when the session ends
	cancel    context.CancelFunc
}

func newSessions(limit int, now func() time.Time) *sessions {
	return &sessions{limit: limit, now: now, byID: map[string]*list.Element{}, used: list.New()}
}

// Generate begins a session.
func (s *sessions) Generate() string { return s.begin(callctx.HTTPSession+uuid.NewString(), false) }

// begin begins a session with an id, and returns the id. A restored session has no requests before its owner is set.
func (s *sessions) begin(id string, restored bool) string {
	s.mu.Lock()
	var ended []string
	for e := s.used.Front(); e != nil; {
		next := e.Next()
		if session := e.Value.(*httpSession); s.expired(session) {
			ended = append(ended, s.remove(e))
		}
		e = next
	}
	for len(s.byID) >= s.limit {
		ended = append(ended, s.remove(s.longestIdle()))
	}
	session := &httpSession{id: id, last: s.now(), ownerless: restored}
	session.ctx, session.cancel = context.WithCancel(context.Background())
	if s.onEnd != nil {
		context.AfterFunc(session.ctx, func() { s.onEnd(session.id) })
	}
	s.byID[session.id] = s.used.PushBack(session)
	s.mu.Unlock()
	for _, id := range ended {
		s.end(id)
	}
	return session.id
}

// longestIdle returns the least recently used session that has nothing open, or else of all.
func (s *sessions) longestIdle() *list.Element {
	for e := s.used.Front(); e != nil; e = e.Next() {
		if e.Value.(*httpSession).open == 0 {
			return e
		}
	}
	return s.used.Front()
}

func (s *sessions) expired(session *httpSession) bool {
	return session.open == 0 && s.now().Sub(session.last) >= sessionIdle
}

// remove ends a session here and returns its id.
func (s *sessions) remove(e *list.Element) string {
	session := s.used.Remove(e).(*httpSession)
	session.cancel()
	delete(s.byID, session.id)
	return session.id
}

// Validate returns an error for an unknown id.
func (s *sessions) Validate(id string) (isTerminated bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.byID[id]; !ok {
		return false, errors.New(noSession)
	}
	return false, nil
}

// Terminate ends a session and its streams.
func (s *sessions) Terminate(id string) (isNotAllowed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.byID[id]; ok {
		s.remove(e)
	}
	return false, nil
}

// own sets the caller that began a session.
func (s *sessions) own(client server.SessionWithClientInfo, from *caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.byID[client.SessionID()]; ok {
		session := e.Value.(*httpSession)
		session.caller, session.client, session.ownerless = from.id, client, false
	}
}

// setShared records that other servers continue a session. answer returns what reached them, see [questions]. Servers
// ask under different ids.
func (s *sessions) setShared(id string, answer func(ctx context.Context, session, question string) *message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.byID[id]; ok {
		session := e.Value.(*httpSession)
		session.shared, session.questions.last = true, rand.Int64N(1<<32)<<16
		session.questions.elsewhere = func(ctx context.Context, question string) *message { return answer(ctx, id, question) }
	}
}

// sharedSince returns the shared sessions that have a request or a stream open, or had one since a time.
func (s *sessions) sharedSince(since time.Time) (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := s.used.Front(); e != nil; e = e.Next() {
		if session := e.Value.(*httpSession); session.shared && (session.open > 0 || !session.last.Before(since)) {
			ids = append(ids, session.id)
		}
	}
	return ids
}

// some reports whether there are sessions.
func (s *sessions) some() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byID) > 0
}

// enter begins a request of a session. It returns nil if the caller has no such session.
func (s *sessions) enter(id string, from *caller) *httpSession {
	s.mu.Lock()
	e, ok := s.byID[id]
	if !ok {
		s.mu.Unlock()
		return nil
	}
	session := e.Value.(*httpSession)
	if session.caller != from.id || session.ownerless {
		s.mu.Unlock()
		return nil
	}
	if s.expired(session) {
		s.remove(e)
		s.mu.Unlock()
		s.end(id)
		return nil
	}
	defer s.mu.Unlock()
	session.open++
	s.touch(e)
	return session
}

// leave ends a request of a session.
func (s *sessions) leave(session *httpSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session.open--
	if e, ok := s.byID[session.id]; ok {
		s.touch(e)
	}
}

func (s *sessions) touch(e *list.Element) {
	e.Value.(*httpSession).last = s.now()
	s.used.MoveToBack(e)
}
