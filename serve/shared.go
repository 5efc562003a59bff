package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// SharedSessions stores sessions over HTTP of protocols up to 2025-11-25, so that each server continues the sessions of
// the other ones. A stream stays with its server, which looks every two seconds for changes of the session. Later
// protocols have no sessions: servers pass each other the retries of their waiting calls by letters.
// All methods are safe for concurrent use.
type SharedSessions interface {
	Letters

	// Begin stores a new session. owner is the same for all requests of a caller, and empty if the server knows no
	// callers. hello holds the params of initialize.
	Begin(ctx context.Context, id, owner string, hello json.RawMessage) error

	// Find returns a session of an owner; found is false if it has none with this id that was used since a time.
	Find(ctx context.Context, id, owner string, since time.Time) (s SharedSession, found bool, err error)

	// Load adds the names of tools to those that a session loaded.
	Load(ctx context.Context, id string, tools []string) error

	// SetLogLevel stores the least level of log messages that a client wants.
	SetLogLevel(ctx context.Context, id, level string) error

	// Subscribe stores that a session watches a resource.
	Subscribe(ctx context.Context, id, uri string) error

	// Unsubscribe is the reverse of Subscribe.
	Unsubscribe(ctx context.Context, id, uri string) error

	// Use marks sessions as used now, and returns those that have ended. Sessions that were not used since a time
	// may be removed.
	Use(ctx context.Context, ids []string, since time.Time) (ended []string, err error)

	// Pass stores a client's answer to a question of another server. question is the id of the question in JSON.
	Pass(ctx context.Context, id, question string, answer json.RawMessage) error

	// Take removes and returns the answer to a question of this server; found is false if no server has passed it yet.
	Take(ctx context.Context, id, question string) (answer json.RawMessage, found bool, err error)

	// End removes a session.
	End(ctx context.Context, id string) error
}

// SharedSession is a stored session.
type SharedSession struct {
	Hello      json.RawMessage // params of initialize
	Loaded     []string        // names of loaded tools
	LogLevel   string          // empty if the client did not set one
	Subscribed []string        // URIs of resources that the client watches
}

const (
	sharedWithin = 5 * time.Second // for a request to the store of sessions
	sharedEach   = time.Minute     // between two marks of used sessions
	maxHello     = 64 << 10        // bytes of the stored params of initialize
)

// share are the sessions that other servers continue.
type share struct {
	*web
	store SharedSessions // nil = sessions stay in this process

	restoring sync.Mutex // held while a session is restored

	mu    sync.Mutex
	armed bool // mark is due
}

// restoredID is the id of the session that initialize begins in place of a new one.
type restoredID string

// restoring is a SessionIdManager of mcp-go that begins a session with a known id.
type restoring struct {
	*sessions
	id string
}

// Generate implements mcp-go's SessionIdManager.
func (r restoring) Generate() string { return r.begin(r.id, true) }

// ResolveSessionIdManager implements mcp-go's SessionIdManagerResolver.
func (s *sessions) ResolveSessionIdManager(r *http.Request) server.SessionIdManager {
	if r != nil {
		if id := callctx.Of[restoredID](r.Context()); id != "" {
			return restoring{s, string(id)}
		}
	}
	return s
}

// begin stores a session that mcp-go has begun. If that fails, the session stays in this process.
func (s *share) begin(ctx context.Context, id string, from *caller, request *mcp.InitializeRequest) {
	if s.store == nil || callctx.Of[restoredID](ctx) != "" {
		return
	}
	hello := ordered.MustJSON(request.Params)
	if len(hello) > maxHello {
		s.log.Warn("a session stays with this server: what its client declares is too long", "bytes", len(hello), "limit", maxHello)
		return
	}
	ctx, done := context.WithTimeout(ctx, sharedWithin)
	defer done()
	if err := s.store.Begin(ctx, id, from.id, hello); err != nil {
		s.log.Warn("a session stays with this server: it could not be stored", "err", err)
		return
	}
	s.sessions.setShared(id, s.answer)
	s.arm()
}

// enter begins a request of a session, also of one that another server began. It returns nil if the caller has no
// such session, and an error if that cannot be known now.
func (s *share) enter(ctx context.Context, id string, from *caller) (*httpSession, error) {
	session := s.sessions.enter(id, from)
	if s.store == nil || id == "" || session != nil && !session.shared {
		return session, nil
	}
	within, done := context.WithTimeout(ctx, sharedWithin)
	defer done()
	settled := s.watches.settled()
	stored, found, err := s.store.Find(within, id, from.id, s.sessions.now().Add(-sessionIdle))
	switch {
	case err != nil && session != nil:
		s.log.Warn("a session goes on as this server knows it: the store of sessions does not answer", "err", err)
		return session, nil
	case err != nil:
		s.log.Error("looking for a session", "err", err)
		return nil, err
	case !found && session != nil: // another server ended it
		s.sessions.leave(session)
		s.endSession(id)
		return nil, nil
	case !found:
		return nil, nil
	case session == nil:
		session = s.restore(ctx, id, from, stored.Hello)
	}
	if session != nil {
		s.update(session, stored, from, settled)
	}
	return session, nil
}

// follow keeps a session with an open stream up to what other servers store, until the stream ends. It ends a session
// that another server ended.
func (s *share) follow(ctx context.Context, session *httpSession, from *caller) {
	look := time.NewTicker(s.waits.look)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		within, done := context.WithTimeout(ctx, sharedWithin)
		settled := s.watches.settled()
		stored, found, err := s.store.Find(within, session.id, from.id, s.sessions.now().Add(-sessionIdle))
		done()
		switch {
		case err != nil: // the next look may succeed
		case !found:
			s.endSession(session.id)
			return
		case s.update(session, stored, from, settled):
			_ = s.mcp.SendNotificationToSpecificClient(session.id, mcp.MethodNotificationToolsListChanged, nil)
		}
	}
}

// restore begins a session here as its client began it at another server, and begins a request of it.
func (s *share) restore(ctx context.Context, id string, from *caller, hello json.RawMessage) *httpSession {
	s.restoring.Lock()
	defer s.restoring.Unlock()
	if session := s.sessions.enter(id, from); session != nil { // another request was first
		return session
	}
	r := &request{caller: from, log: s.log, onSession: func(client server.SessionWithClientInfo, _ *mcp.InitializeRequest) {
		s.sessions.own(client, from)
		s.sessions.setShared(id, s.answer)
	}}
	s.streamable.Handle(&capture{refusal{header: http.Header{}}}, &server.HTTPRequest{
		Method: http.MethodPost, Header: http.Header{"Content-Type": jsonContent, "Accept": {"application/json, text/event-stream"}},
		Body:    encode(json.RawMessage(`"2.0"`), json.RawMessage("1"), json.RawMessage(`"initialize"`), hello),
		Context: callctx.With(r.in(context.WithoutCancel(ctx)), restoredID(id)),
	})
	s.arm()
	return s.sessions.enter(id, from)
}

// update brings a session up to what servers stored, and reports whether its list of tools has grown. settled tells
// whether the stored subscriptions are still true.
func (s *share) update(session *httpSession, stored SharedSession, from *caller, settled func() bool) (grown bool) {
	if grown = s.surface.Discovery.Restore(session.id, stored.Loaded); grown {
		s.grown.Store(session.id, true)
	}
	if settled() {
		s.watchAs(session, stored.Subscribed, from)
	}
	client, logs := session.client.(server.SessionWithLogging)
	if level := mcp.LoggingLevel(stored.LogLevel); logs && level != "" && level != client.GetLogLevel() {
		client.SetLogLevel(level)
	}
	return grown
}

// watchAs makes a session watch exactly these resources.
func (s *share) watchAs(session *httpSession, uris []string, from *caller) {
	watched := s.watches.by(session.id)
	for _, uri := range watched {
		if !slices.Contains(uris, uri) {
			s.watches.remove(session.id, uri)
		}
	}
	uris = slices.DeleteFunc(uris, func(uri string) bool { return slices.Contains(watched, uri) })
	if most := maxWatched - len(s.watches.by(session.id)); len(uris) > most { // requests at several servers came at once
		s.log.Warn("a session watches too many resources: some are not watched here", "watched", maxWatched, "left out", len(uris)-most)
		uris = uris[:most]
	}
	if len(uris) > 0 {
		r := &request{message: &message{}, caller: from, session: session.client, admission: &admission{info: &server.RequestProtocolInfo{}}}
		s.watchFor(r, uris)
	}
}

// maxQuestion limits the ids of questions in answers, in bytes.
const maxQuestion = 100

// pass stores an answer for the server that asked, and reports whether it did. Only answers to questions that are not
// of this server come here.
func (s *share) pass(ctx context.Context, session *httpSession, m *message) bool {
	if !session.shared || !m.isAnswer() || len(m.id) > maxQuestion {
		return false
	}
	ctx, done := context.WithTimeout(ctx, sharedWithin)
	defer done()
	if err := s.store.Pass(ctx, session.id, string(m.id), m.raw); err != nil {
		s.log.Warn("an answer does not reach the server that asked", "err", err)
		return false
	}
	return true
}

// answer returns the answer to a question that reached another server; nil if there is none yet.
func (s *share) answer(ctx context.Context, session, question string) *message {
	ctx, done := context.WithTimeout(ctx, sharedWithin)
	defer done()
	answer, found, err := s.store.Take(ctx, session, question)
	if err != nil && ctx.Err() == nil {
		s.log.Warn("looking for an answer that reached another server", "err", err)
	}
	if !found {
		return nil
	}
	return readMessage(answer)
}

// end ends a session for all servers.
func (s *share) end(ctx context.Context, session *httpSession) error {
	if !session.shared {
		return nil
	}
	ctx, done := context.WithTimeout(ctx, sharedWithin)
	defer done()
	return s.store.End(ctx, session.id)
}

// arm marks the used sessions after a while, until this server has no sessions or stops.
func (s *share) arm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.armed && s.drain.begun.Err() == nil {
		s.armed = true
		time.AfterFunc(sharedEach, s.mark)
	}
}

// mark marks the sessions that were used since the last time, and ends those that another server ended.
func (s *share) mark() {
	s.mu.Lock()
	s.armed = false
	s.mu.Unlock()
	ids := s.sessions.sharedSince(s.sessions.now().Add(-2 * sharedEach))
	if s.drain.begun.Err() != nil || len(ids) == 0 && !s.sessions.some() {
		return
	}
	ctx, done := context.WithTimeout(context.Background(), sharedWithin)
	defer done()
	ended, err := s.store.Use(ctx, ids, s.sessions.now().Add(-sessionIdle))
	if err != nil {
		s.log.Warn("sessions are not marked as used", "err", err)
	}
	for _, id := range ended {
		s.endSession(id)
	}
	s.arm()
}

// shareLoaded stores which tools a session has loaded.
func (s *Server) shareLoaded(ctx context.Context, id string, tools []string) {
	if s.shared == nil {
		return
	}
	ctx, done := context.WithTimeout(ctx, sharedWithin)
	defer done()
	if err := s.shared.Load(ctx, id, tools); err != nil {
		s.log.Warn("other servers do not list what a session loaded", "err", err)
	}
}

// shareWatched stores that a session watches a resource, or does not any more.
func (s *Server) shareWatched(ctx context.Context, id, uri string, watched bool) {
	if s.shared == nil {
		return
	}
	ctx, done := context.WithTimeout(ctx, sharedWithin)
	defer done()
	store := s.shared.Subscribe
	if !watched {
		store = s.shared.Unsubscribe
	}
	if err := store(ctx, id, uri); err != nil {
		s.log.Warn("other servers do not know which resources a session watches", "err", err)
	}
}

// shareLevel is called by mcp-go after a client has set the level of log messages.
func (s *Server) shareLevel(ctx context.Context, _ any, request *mcp.SetLevelRequest, _ *mcp.EmptyResult) {
	session := server.ClientSessionFromContext(ctx)
	if s.shared == nil || session == nil || session.SessionID() == "" {
		return
	}
	ctx, done := context.WithTimeout(ctx, sharedWithin)
	defer done()
	if err := s.shared.SetLogLevel(ctx, session.SessionID(), string(request.Params.Level)); err != nil {
		s.log.Warn("other servers do not know the log level of a session", "err", err)
	}
}
