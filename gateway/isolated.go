package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/upstream"
)

// Defaults of an [Upstream] with Apart and several clients.
const (
	DefaultSessions    = 16
	DefaultSessionIdle = 10 * time.Minute
)

// sessionPool is a [Session] that opens a session of its own with the server, and so a process, for each
// client session. The first call of a client session starts it. It ends with the client session, after
// a time without calls, or with the server. Callers without a session share one for each bearer token.
// Calls without either are refused.
//
// If callers log in at the server, all client sessions of a caller share one session, which only ever has the
// caller's login. Its end is no news to the caller: the next call begins another.
type sessionPool struct {
	name     string
	limit    int           // of concurrent sessions
	idle     time.Duration // time without a call after which a session ends
	byCaller bool          // callers have logins of their own
	exchange *exchange     // how they get them without logging in; nil = they log in
	open     func(context.Context, owner, upstream.Client) (Session, error)
	asks     upstream.Client
	hold     func(ctx context.Context, session string) (release func(), err error) // see [Options.Hold]; nil = sessions are of this process
	life     context.Context                                                       // ends on Close
	stop     context.CancelFunc
	work     sync.WaitGroup

	mu       sync.Mutex
	members  map[owner]*member
	ended    map[owner]string // why the session of an owner ended; reported to the owner's next call
	watched  map[string]bool  // resource URIs
	troubles map[owner]trouble
	listed   bool // the tools were listed since the pool is there
}

// owner identifies the caller that has a session with the server. If callers log in, token is
// [upstream.CallerKey], and session is empty.
type owner struct{ token, session string }

// trouble is about starts that failed.
type trouble struct {
	why      string    // the last one failed
	failures int       // in a row
	retry    time.Time // no start before this time
}

// troubleOf returns the owner whose trouble delays starts for an owner: the server may refuse the login of one caller, and
// a process starts for all or for nobody.
func (s *sessionPool) troubleOf(of owner) owner {
	if s.byCaller {
		return of
	}
	return owner{}
}

// failed delays the next start after one that failed.
func (s *sessionPool) failed(of owner, why string) {
	now := time.Now()
	maps.DeleteFunc(s.troubles, func(_ owner, t trouble) bool { return now.Sub(t.retry) > mostPause })
	t := s.troubles[s.troubleOf(of)]
	t.why, t.retry = why, now.Add(min(firstPause<<min(t.failures, 10), mostPause))
	t.failures++
	s.troubles[s.troubleOf(of)] = t
}

// ownerOf returns the caller of a context.
func (s *sessionPool) ownerOf(ctx context.Context) owner {
	origin := toolfold.OriginOf(ctx)
	if s.byCaller {
		return owner{token: upstream.CallerKey(origin.Token)}
	}
	return owner{origin.Token, origin.Session}
}

// member is the session of one owner. The mutex of sessionPool guards calls and idle.
type member struct {
	begun   time.Time
	started chan struct{} // closed once session or err is set
	session Session
	err     error
	release func()                  // ends the hold of the client session; nil = no hold
	calls   map[*upstream.Call]bool // running calls
	idle    *time.Timer             // ends the member; stopped while calls run
}

func newSessionPool(l *link, asks upstream.Client) *sessionPool {
	s := &sessionPool{
		name: l.Name, limit: l.MaxSessions, idle: l.SessionIdle, byCaller: l.Login.byCaller(), exchange: l.exchange,
		open: l.reachFor, asks: asks, hold: l.gateway.options.Hold,
		members: map[owner]*member{}, ended: map[owner]string{}, watched: map[string]bool{},
		troubles: map[owner]trouble{},
	}
	s.life, s.stop = context.WithCancel(context.Background())
	return s
}

// List implements [Session]. It uses the oldest session that is open, so that the list stays that of one caller, or
// opens a session for the list. If callers log in there has to be one, and the login of the oldest may be over: then it uses
// the next.
func (s *sessionPool) List(ctx context.Context) (upstream.Answer, error) {
	s.mu.Lock()
	members := slices.SortedFunc(maps.Values(s.members), func(a, b *member) int { return a.begun.Compare(b.begun) })
	s.mu.Unlock()
	var over error
	for _, m := range members {
		select {
		case <-m.started:
		case <-ctx.Done():
			return upstream.Answer{}, ctx.Err()
		}
		if m.err != nil {
			continue
		}
		answer, err := m.session.List(ctx)
		if errors.Is(err, upstream.ErrLogin) || errors.Is(err, upstream.ErrExchange) {
			over = err
			continue
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.listed = s.listed || err == nil
		return answer, err
	}
	if over != nil {
		return upstream.Answer{}, over
	}
	if s.byCaller && s.exchange == nil {
		return upstream.Answer{}, errors.New("no caller who has logged in is connected with it")
	}
	session, err := s.open(ctx, owner{}, s.asks)
	if err != nil {
		return upstream.Answer{}, err
	}
	defer session.Close()
	return session.List(ctx)
}

// Call implements [Session], for the caller of the context.
func (s *sessionPool) Call(ctx context.Context, c upstream.Call) (json.RawMessage, error) {
	of := s.ownerOf(ctx)
	result, err := s.callAs(ctx, of, c)
	if s.byCaller && errors.Is(err, upstream.ErrGone) { // the server did not take it
		result, err = s.callAs(ctx, of, c)
	}
	return result, err
}

// callAs is Call for an owner. It only connects the owner with the server if the call is empty.
func (s *sessionPool) callAs(ctx context.Context, of owner, c upstream.Call) (json.RawMessage, error) {
	if err := s.exchange.ready(ctx, of); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.members[of] == nil {
			s.exchange.forget(of)
		}
		return nil, err
	}
	m, err := s.enter(ctx, of, &c)
	if err != nil {
		return nil, err
	}
	defer s.leave(m, &c)
	select {
	case <-m.started:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if refused, is := errors.AsType[*toolfold.Error](m.err); is {
		return nil, refused
	}
	switch {
	case errors.Is(m.err, upstream.ErrLogin):
		return nil, &upstream.LostAnswerError{Why: m.err.Error(), Err: upstream.ErrLogin}
	case m.err != nil:
		return nil, &upstream.LostAnswerError{Why: m.err.Error()}
	case c.Tool == "" && c.Method == "":
		return json.RawMessage("{}"), nil
	}
	result, err := m.session.Call(ctx, c)
	var refused *upstream.ProtocolError
	var unread *upstream.LostAnswerError
	switch {
	case err == nil, ctx.Err() != nil, errors.As(err, &refused), errors.As(err, &unread):
		return result, err
	case errors.Is(err, upstream.ErrGone) && s.byCaller:
		s.remove(of, m, "")
		return nil, err
	case errors.Is(err, upstream.ErrGone): // the server did not take the call
		s.remove(of, m, "")
		return nil, s.begunAgain("it ended")
	}
	s.remove(of, m, "")
	return nil, &upstream.LostAnswerError{Why: err.Error()}
}

// enter returns the owner's session for a call, and begins one if there is none yet.
func (s *sessionPool) enter(ctx context.Context, of owner, c *upstream.Call) (*member, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.members[of]
	why, lost := s.ended[of]
	failed := s.troubles[s.troubleOf(of)]
	pause := time.Until(failed.retry)
	switch {
	case s.life.Err() != nil:
		return nil, &upstream.LostAnswerError{Why: "the gateway is closed"}
	case of == owner{} && s.byCaller:
		return nil, toolfold.Errorf(toolfold.UpstreamError, "the server %s gets the login of each caller, and this call has no caller", s.name).
			WithHint("call its tool over HTTP with a token; scripts, workflows and tasks run without their caller")
	case of == owner{}:
		return nil, toolfold.Errorf(toolfold.UpstreamError, "the server %s has a process for each session, and this call has no session", s.name).
			WithHint("connect with protocol 2025-11-25 or with a bearer token, or remove isolate from the settings of %s", s.name)
	case lost:
		delete(s.ended, of)
		return nil, s.begunAgain(why)
	case m == nil && pause > 0:
		return nil, &upstream.LostAnswerError{Why: fmt.Sprintf("%s; next start in %s", failed.why, pause.Round(time.Second)+time.Second)}
	case m == nil && len(s.members) >= s.limit && s.byCaller:
		return nil, toolfold.Errorf(toolfold.LimitReached, "%d callers are connected with the server %s, the limit of its maxSessions",
			s.limit, s.name).WithHint("call again later: a connection ends after %s without a call", s.idle)
	case m == nil && len(s.members) >= s.limit:
		return nil, toolfold.Errorf(toolfold.UpstreamError, "the server %s has %d processes, the limit of maxSessions", s.name, s.limit).
			WithHint("call again later: a process ends with its session, or after %s without a call", s.idle)
	case m == nil:
		m = &member{begun: time.Now(), started: make(chan struct{}), calls: map[*upstream.Call]bool{}}
		m.idle = time.AfterFunc(s.idle, func() { s.endIdle(of, m) })
		s.members[of] = m
		starting := callctx.With(s.life, callctx.Of[callctx.Bearer](ctx))
		s.work.Go(func() { s.start(starting, of, m) })
	}
	m.idle.Stop()
	m.calls[c] = true
	return m, nil
}

// begunAgain is the error of a call whose session has ended since the owner's previous call.
func (s *sessionPool) begunAgain(why string) error {
	return toolfold.Errorf(toolfold.UpstreamError, "the process of %s for this session has ended, and its state is lost: %s", s.name, why).
		WithHint("the call was not sent: call again to start a new process")
}

func (s *sessionPool) leave(m *member, c *upstream.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(m.calls, c); len(m.calls) == 0 {
		m.idle.Reset(s.idle)
	}
}

// start begins the session of a member. It declares roots only for a client session, because roots
// belong to one client.
func (s *sessionPool) start(ctx context.Context, of owner, m *member) {
	if s.hold != nil && of.session != "" {
		if m.release, m.err = s.hold(ctx, of.session); m.err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.members[of] == m {
				delete(s.members, of)
			}
			close(m.started)
			return
		}
	}
	c := s.asks
	c.Ask = func(taken context.Context, q upstream.Question) (json.RawMessage, error) { return s.ask(m, taken, q) }
	if of.session != "" {
		c.Asks = append(slices.Clone(c.Asks), upstream.Roots)
	}
	m.session, m.err = s.open(ctx, of, c)
	s.mu.Lock()
	if m.err != nil && s.members[of] == m {
		delete(s.members, of)
	}
	switch {
	case errors.Is(m.err, upstream.ErrLogin), errors.Is(m.err, upstream.ErrExchange): // other callers have logins of their own
	case m.err != nil:
		s.failed(of, m.err.Error())
	default:
		delete(s.troubles, s.troubleOf(of))
	}
	watched, outdated := slices.Sorted(maps.Keys(s.watched)), !s.byCaller || !s.listed
	ended := s.members[of] != m // removed meanwhile
	close(m.started)
	s.mu.Unlock()
	if m.err != nil {
		m.letGo()
		return
	}
	if ended {
		m.session.Close()
		m.letGo()
		return
	}
	s.work.Go(func() {
		select {
		case <-m.session.Gone():
			s.remove(of, m, s.news("it ended"))
		case <-s.life.Done():
		}
	})
	for _, uri := range watched {
		_ = m.session.Watch(s.life, uri, true)
	}
	if c.Changed != nil && outdated {
		c.Changed() // the known list may come from an older program
	}
}

// ask asks the client of the running call of a member. It fails if several calls run, because the
// question does not name its call.
func (s *sessionPool) ask(m *member, taken context.Context, q upstream.Question) (json.RawMessage, error) {
	s.mu.Lock()
	var asker *upstream.Call
	for c := range m.calls {
		asker = c
	}
	count := len(m.calls)
	s.mu.Unlock()
	if count != 1 {
		return nil, fmt.Errorf("%d calls of this session are running: it is unknown which one asks", count)
	}
	return asker.Ask(taken, q)
}

// endIdle ends the session of a member without calls.
func (s *sessionPool) endIdle(of owner, m *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(m.calls) == 0 {
		s.drop(of, m, s.news(fmt.Sprintf("it was idle for %s", s.idle)))
	}
}

// news returns why a session ended if its owner has to know: without a login there may be a process with a state.
func (s *sessionPool) news(why string) string {
	if s.byCaller {
		return ""
	}
	return why
}

// renewLogin ends the session of an owner who has logged in again, unless a call uses it: the login may be
// another user's of the server.
func (s *sessionPool) renewLogin(of owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.members[of]; m != nil && len(m.calls) == 0 {
		s.drop(of, m, "")
	}
}

// remove ends the session of a member. A non-empty why is reported to the owner's next call.
func (s *sessionPool) remove(of owner, m *member, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drop(of, m, why); why == "" {
		delete(s.ended, of)
	}
}

// drop is remove for callers that hold the lock.
func (s *sessionPool) drop(of owner, m *member, why string) {
	if s.members[of] != m {
		return
	}
	delete(s.members, of)
	s.exchange.forget(of)
	if why != "" && s.life.Err() == nil {
		s.ended[of] = why
	}
	m.idle.Stop()
	s.work.Go(m.close)
}

// close closes the member's session, if it has started.
func (m *member) close() {
	select {
	case <-m.started: // otherwise start notices the removal
		if m.err == nil {
			m.session.Close()
			m.letGo()
		}
	default:
	}
}

// letGo ends the hold of the client session.
func (m *member) letGo() {
	if m.release != nil {
		m.release()
	}
}

// endSession ends everything that belongs to a client session.
func (s *sessionPool) endSession(session string) {
	s.mu.Lock()
	ended := map[owner]*member{}
	for of, m := range s.members {
		if of.session == session {
			ended[of] = m
		}
	}
	maps.DeleteFunc(s.ended, func(of owner, _ string) bool { return of.session == session })
	s.mu.Unlock()
	for of, m := range ended {
		s.remove(of, m, "")
	}
}

// Watch implements [Session]: every session watches all URIs that any client watches. If callers log in none does:
// a URI of one caller is not sent with the login of another.
func (s *sessionPool) Watch(ctx context.Context, uri string, watch bool) error {
	if s.byCaller {
		return nil
	}
	s.mu.Lock()
	if watch {
		s.watched[uri] = true
	} else {
		delete(s.watched, uri)
	}
	members := slices.Collect(maps.Values(s.members))
	s.mu.Unlock()
	var errs []error
	for _, m := range members {
		select {
		case <-m.started:
			if m.err == nil {
				errs = append(errs, m.session.Watch(ctx, uri, watch))
			}
		default: // watches once it has started
		}
	}
	return errors.Join(errs...)
}

// Gone implements [Session]: it ends only when it is closed.
func (s *sessionPool) Gone() <-chan struct{} { return s.life.Done() }

// Close implements [Session].
func (s *sessionPool) Close() {
	s.stop()
	s.mu.Lock()
	members := maps.Clone(s.members)
	s.mu.Unlock()
	for of, m := range members {
		s.remove(of, m, "")
	}
	s.work.Wait()
}

// SessionEnded ends the servers' sessions for a client session, see [Upstream.Isolated]. id is the session
// id in [toolfold.Origin].
func (g *Gateway) SessionEnded(id string) {
	for _, l := range g.links {
		l.mu.Lock()
		session := l.session
		l.mu.Unlock()
		if s, ok := session.(*sessionPool); ok {
			s.endSession(id)
		}
	}
}

// perSession reports whether each client session, or each caller who logs in, has its own session with the server.
func (l *link) perSession() bool {
	return l.Login.byCaller() || l.Isolated && !l.gateway.options.OneClient
}
