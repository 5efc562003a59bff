// Package pool shares one process of each server among all sessions of a user.
//
// The sessions reach the servers through a background process of the same binary, the host. The first
// session starts it on a socket that only the user can open. Sessions share a server if its name,
// command, environment and folder are equal. The host ends a server [linger] after the server's last
// session has ended for any reason, and itself after its last connection. If the host is killed, the
// servers that it started end with it (package child). A host of another version takes no new sessions,
// and ends with its last one.
//
// It is not a stable API: see docs/stability.md.
package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolfold/toolfold/internal/system/child"
	"github.com/toolfold/toolfold/internal/system/safefile"
	"github.com/toolfold/toolfold/upstream"
)

// Pool shares the servers of a user among processes.
type Pool struct {
	// Dir is the folder of the socket, which only the user can open, see [Dir].
	Dir string
	// Version is the version of this program. Hosts of other versions are replaced.
	Version string
	// Start returns the arguments with which this program calls [Serve] on a socket.
	Start func(socket string) []string
}

// startTime is the time limit for a host to listen.
const startTime = 5 * time.Second

// ErrNoHost is returned if no host could be started or reached. Servers must then be started for one
// session alone.
var ErrNoHost = errors.New("the process that shares servers does not start")

// socket returns the path of the socket. It is short, because the system limits it.
func (p Pool) socket() string { return filepath.Join(p.Dir, "upstreams.sock") }

// Connect starts a server, or joins sessions that share it. The context limits only that. Requests for
// roots are refused, because the process is shared by sessions with different roots.
func (p Pool) Connect(ctx context.Context, s upstream.Server, c upstream.Client) (*Session, error) {
	if err := s.Check(); err != nil { // first, because the error may name a value that settled changes
		return nil, err
	}
	s, err := s.Expand(ctx) // here, because the host may have no access to the keyring
	if err == nil {
		s, err = absolute(s)
	}
	if err != nil {
		return nil, err
	}
	spec, err := json.Marshal(opening{Version: p.Version, Server: s, Client: c.Name, ClientVersion: c.Version, Memory: c.Memory.Limit()})
	if err != nil {
		return nil, err
	}
	const attempts = 5 // a host may end or be replaced while it is being reached
	for range attempts {
		conn, err := p.reach(ctx)
		if err != nil {
			return nil, err
		}
		session, again, err := open(ctx, conn, spec, c)
		if !again {
			return session, err
		}
	}
	return nil, fmt.Errorf("%w: it ended %d times", ErrNoHost, attempts)
}

// absolute returns the server with program, folder and environment that mean the same in every process.
func absolute(s upstream.Server) (upstream.Server, error) {
	var err error
	if !s.EnvOnly {
		s.Env, s.EnvOnly = slices.Concat(os.Environ(), s.Env), true
	}
	if s.Dir, err = filepath.Abs(s.Dir); err != nil {
		return s, err
	}
	argv := slices.Clone(s.Argv)
	if strings.ContainsRune(argv[0], filepath.Separator) {
		argv[0], err = filepath.Abs(argv[0])
	} else if found, missing := exec.LookPath(argv[0]); missing == nil {
		argv[0], err = filepath.Abs(found)
	}
	s.Argv = argv
	return s, err
}

// reach connects to the host, and starts it if it does not run.
func (p Pool) reach(ctx context.Context) (net.Conn, error) {
	dial := func() (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "unix", p.socket()) }
	conn, err := dial()
	if err == nil {
		return conn, nil
	}
	unlock, err := safefile.Lock(ctx, p.socket()+".lock")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHost, err)
	}
	defer unlock()
	if conn, err = dial(); err == nil { // another process has started it
		return conn, nil
	}
	if err := os.Remove(p.socket()); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a host that was killed
		return nil, fmt.Errorf("%w: %w", ErrNoHost, err)
	}
	self, err := child.Executable()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHost, err)
	}
	host := exec.Command(self)
	host.Args = append([]string{os.Args[0]}, p.Start(p.socket())...)
	host.Dir, host.Env, host.SysProcAttr = p.Dir, hostEnv(), apart()
	if err := host.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHost, err)
	}
	ended := make(chan struct{})
	go func() {
		_ = host.Wait()
		close(ended)
	}()
	late := time.After(startTime)
	for {
		if conn, err = dial(); err == nil {
			return conn, nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ended:
			return nil, fmt.Errorf("%w: it ended at once", ErrNoHost)
		case <-late:
			return nil, fmt.Errorf("%w within %s", ErrNoHost, startTime)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// hostEnv returns the environment of the host. The host outlives the session that starts it and gets
// the environment of each server separately, so only variables of the Go runtime are kept.
func hostEnv() []string {
	env := []string{}
	for _, name := range []string{"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG", "GOTRACEBACK", "GOCOVERDIR"} {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Session is a session with a shared server. It is safe for concurrent use.
type Session struct {
	line     *line
	client   upstream.Client
	gone     chan struct{}
	draining atomic.Bool // the host takes no more requests, answers the running ones, and ends the session

	mu        sync.Mutex
	last      int64
	open      map[int64]*request  // our requests without a result
	questions map[int64]*question // unanswered questions of the server
}

// question is an unanswered question of the server.
type question struct {
	ctx    context.Context
	cancel context.CancelFunc
	demand chan struct{} // closed when another call waits for the answer
}

// request is a request to the host that has no result yet.
type request struct {
	answer chan frame

	mu     sync.Mutex
	events []frame       // before the answer, not yet reported to the caller
	more   chan struct{} // holds an element if there may be events
}

// maxEvents is how many unreported events of a request are queued. More are dropped, except questions:
// later progress replaces earlier progress.
const maxEvents = 1000

// add queues an event for the caller.
func (r *request) add(f frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.events) < maxEvents || f.Kind == kindAsk {
		r.events = append(r.events, f)
	}
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// hear reports the queued events to the caller of a request.
func (s *Session) hear(c upstream.Call, r *request) {
	r.mu.Lock()
	events := r.events
	r.events = nil
	r.mu.Unlock()
	for _, f := range events {
		switch {
		case f.Kind == kindAsk:
			s.answer(f, c.Ask)
		case f.Kind == kindLog && c.Log != nil:
			c.Log(f.Body)
		case f.Kind == kindProgress && f.Progress != nil && c.Progress != nil:
			c.Progress(*f.Progress)
		case f.Kind == kindQueue && c.Queue != nil:
			c.Queue(f.Waits)
		}
	}
}

// open begins a session over a connection. again is true if the host takes no sessions and another host
// must be reached.
func open(ctx context.Context, conn net.Conn, spec []byte, c upstream.Client) (_ *Session, again bool, err error) {
	s := &Session{
		line: newLine(conn, c.Memory), client: c, gone: make(chan struct{}), open: map[int64]*request{}, questions: map[int64]*question{},
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	first := frame{Kind: kindGone}
	if err = s.line.write(frame{Kind: kindOpen, Body: spec}); err == nil {
		first, err = s.line.read()
	}
	switch stopped := stop(); {
	case !stopped:
		return nil, false, ctx.Err()
	case err != nil, first.Kind == kindGone:
		_ = conn.Close()
		return nil, true, nil
	case first.Kind == kindFailed:
		_ = conn.Close()
		return nil, false, errors.New(first.Text)
	case first.Kind != kindReady:
		_ = conn.Close()
		return nil, false, fmt.Errorf("the process that shares it began with %q", first.Kind)
	}
	go s.listen()
	return s, false, nil
}

// listen handles frames of the host until the connection ends.
func (s *Session) listen() {
	defer func() {
		_ = s.line.conn.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, q := range s.questions {
			q.cancel()
		}
		close(s.gone)
	}()
	for {
		f, err := s.line.read()
		if err != nil {
			return
		}
		s.mu.Lock()
		r := s.open[f.ID]
		s.mu.Unlock()
		switch f.Kind {
		case kindChanged:
			if s.client.Changed != nil {
				s.client.Changed()
			}
		case kindUpdated:
			if s.client.Updated != nil {
				s.client.Updated(f.Text)
			}
		case kindCompleted:
			if s.client.Completed != nil {
				s.client.Completed(json.RawMessage(f.Text))
			}
		case kindStray:
			if s.client.Stray != nil {
				s.client.Stray(f.Text)
			}
		case kindAsk:
			s.mu.Lock()
			q := &question{demand: make(chan struct{})}
			q.ctx, q.cancel = context.WithCancel(context.Background())
			s.questions[f.ID] = q
			r = s.open[f.Of]
			s.mu.Unlock()
			if r != nil { // its caller gets earlier events first
				r.add(f)
			} else {
				s.answer(f, nil)
			}
		case kindTakenBack:
			s.mu.Lock()
			if q := s.questions[f.ID]; q != nil {
				q.cancel()
				delete(s.questions, f.ID)
			}
			s.mu.Unlock()
		case kindWanted: // sent once for each question
			s.mu.Lock()
			if q := s.questions[f.ID]; q != nil {
				close(q.demand)
			}
			s.mu.Unlock()
		case kindProgress, kindLog, kindQueue:
			if r != nil {
				r.add(f)
			}
		default:
			if f.Kind == kindGone {
				s.draining.Store(true)
			}
			if r != nil {
				r.answer <- f
				s.forget(f.ID)
			}
		}
	}
}

// answer answers a question of the server in another goroutine, by the ask of its call. If ask is nil
// it uses the one of the client.
func (s *Session) answer(f frame, ask func(context.Context, upstream.Question) (json.RawMessage, error)) {
	if ask == nil {
		ask = s.client.Ask
	}
	s.mu.Lock()
	q := s.questions[f.ID]
	s.mu.Unlock()
	if q == nil {
		return // the server took it back
	}
	go func() {
		defer q.cancel()
		reply := frame{Kind: kindAnswer, ID: f.ID}
		err := errors.New("there is no client to ask")
		if ask != nil {
			reply.Body, err = ask(q.ctx, upstream.Question{Key: f.Key, Method: f.Text, Params: f.Body, Demand: q.demand})
		}
		if err != nil {
			reply.Kind, reply.Text = kindFailed, err.Error()
		}
		s.mu.Lock()
		delete(s.questions, f.ID)
		s.mu.Unlock()
		_ = s.line.write(reply) // fails if the host is gone
	}()
}

func (s *Session) forget(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, id)
}

// ask sends a request to the host and returns the result. If the context ends, it cancels the request.
func (s *Session) ask(ctx context.Context, f frame, c upstream.Call) (frame, error) {
	r := &request{more: make(chan struct{}, 1), answer: make(chan frame, 1)}
	s.mu.Lock()
	s.last++
	f.ID = s.last
	s.open[f.ID] = r
	s.mu.Unlock()
	defer s.forget(f.ID)
	if err := s.line.write(f); err != nil {
		_ = s.line.conn.Close()
		return frame{}, upstream.ErrGone // the host did not get the whole request
	}
	for {
		select {
		case <-r.more:
			s.hear(c, r)
		case answer := <-r.answer:
			return s.answerOf(c, r, answer)
		case <-ctx.Done():
			_ = s.line.write(frame{Kind: kindCancel, ID: f.ID})
			return frame{}, ctx.Err()
		case <-s.gone:
			select {
			case answer := <-r.answer: // it came just before the end
				return s.answerOf(c, r, answer)
			default:
				return frame{}, errors.New("the process that shares it has ended")
			}
		}
	}
}

// answerOf returns the answer to a request, after its caller has received all earlier events.
func (s *Session) answerOf(c upstream.Call, r *request, f frame) (frame, error) {
	s.hear(c, r)
	switch f.Kind {
	case kindGone:
		return f, upstream.ErrGone
	case kindLost:
		return f, &upstream.LostAnswerError{Why: f.Text}
	case kindRefused:
		return f, &upstream.ProtocolError{Code: f.Code, Message: f.Text, Lacking: f.Lacking, Data: f.Body}
	case kindFailed:
		return f, errors.New(f.Text)
	}
	return f, nil
}

// List works like [upstream.Session.List].
func (s *Session) List(ctx context.Context) (upstream.Answer, error) {
	f, err := s.ask(ctx, frame{Kind: kindList}, upstream.Call{})
	if err != nil {
		return upstream.Answer{}, err
	}
	var l wireAnswer
	if err := json.Unmarshal(f.Body, &l); err != nil {
		return upstream.Answer{}, fmt.Errorf("reading the list: %w", err)
	}
	return l.answer(), nil
}

// Call works like [upstream.Session.Call].
func (s *Session) Call(ctx context.Context, c upstream.Call) (json.RawMessage, error) {
	select {
	case <-s.gone:
		return nil, upstream.ErrGone
	default:
	}
	call := frame{Kind: kindCall, Text: c.Tool, Level: c.LogLevel, Capabilities: c.Capabilities, Meta: c.Meta, Asks: c.Asks, Body: c.Arguments}
	if c.Method != "" {
		call.Method, call.Body = c.Method, c.Params
	}
	f, err := s.ask(ctx, call, c)
	return f.Body, err
}

// Watch works like [upstream.Session.Watch].
func (s *Session) Watch(ctx context.Context, uri string, watch bool) error {
	kind := kindWatch
	if !watch {
		kind = kindUnwatch
	}
	_, err := s.ask(ctx, frame{Kind: kind, Text: uri}, upstream.Call{})
	return err
}

// Gone returns a channel that is closed when the session has ended.
func (s *Session) Gone() <-chan struct{} { return s.gone }

// Close ends the session. The server goes on for other sessions that share it.
func (s *Session) Close() {
	if s.draining.Load() { // running requests get their answers first
		late := time.NewTimer(RestartWait)
		defer late.Stop()
		select {
		case <-s.gone:
		case <-late.C:
		}
	}
	_ = s.line.conn.Close()
	<-s.gone
}

// opening is the first message of a session.
type opening struct {
	Version               string
	Server                upstream.Server
	Client, ClientVersion string
	Memory                int64 // limit of [upstream.Memory]; the first opening sets it for all servers
}

// wireAnswer carries an [upstream.Answer] with its lists as bytes.
type wireAnswer struct {
	Name, Title, Version, Instructions   string
	Protocol                             string
	Legacy                               bool
	Tools, Prompts, Resources, Templates [][]byte
	Left, Problems                       []string
}

func wireAnswerOf(a upstream.Answer) wireAnswer {
	bytes := func(list []json.RawMessage) (all [][]byte) {
		for _, entry := range list {
			all = append(all, entry)
		}
		return all
	}
	return wireAnswer{
		a.Name, a.Title, a.Version, a.Instructions, a.Protocol, a.Legacy,
		bytes(a.Tools), bytes(a.Prompts), bytes(a.Resources), bytes(a.Templates), a.LeftOut, a.Problems,
	}
}

func (l wireAnswer) answer() upstream.Answer {
	raw := func(list [][]byte) []json.RawMessage {
		all := []json.RawMessage{}
		for _, entry := range list {
			all = append(all, entry)
		}
		return all
	}
	return upstream.Answer{
		Name: l.Name, Title: l.Title, Version: l.Version, Instructions: l.Instructions, Protocol: l.Protocol, Legacy: l.Legacy,
		Tools: raw(l.Tools), Prompts: raw(l.Prompts), Resources: raw(l.Resources), Templates: raw(l.Templates),
		LeftOut: l.Left, Problems: l.Problems,
	}
}
