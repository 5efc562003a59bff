package pool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/upstream"
)

// linger is how long a server is kept after its last session, and the host after its last connection.
// It is long enough for a client that restarts.
const linger = time.Second

// connectTime is the time limit for starting a server.
const connectTime = 10 * time.Minute

// host is the process that starts the servers.
type host struct {
	version  string
	listener net.Listener
	idle     *time.Timer // ends the host when it fires
	over     chan struct{}

	mu      sync.Mutex
	retired bool
	visits  int                      // connections
	servers map[string]*sharedServer // by the hash of their settings, see join
	memory  *upstream.Memory         // for messages of all servers; nil before the first opening
	work    sync.WaitGroup
}

// Serve runs a host at a socket until no session has used it for a while.
func Serve(socket, version string) error {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("sharing servers: %w", err)
	}
	defer listener.Close()
	if err := os.Chmod(socket, 0o600); err != nil {
		return fmt.Errorf("sharing servers: %w", err)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/2)) // sessions, servers and host take turns: more threads only wait
	}
	h := &host{version: version, listener: listener, servers: map[string]*sharedServer{}, over: make(chan struct{})}
	h.idle = time.AfterFunc(startTime, h.end) // time for the session that started it to connect
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			h.enter()
			go func() {
				defer h.leave()
				defer conn.Close()
				h.visit(newLine(conn, nil))
			}()
		}
	}()
	<-h.over
	h.work.Wait()
	return nil
}

func (h *host) enter() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.visits++
	h.idle.Stop()
}

func (h *host) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.visits--; h.visits == 0 {
		h.idle.Reset(linger)
	}
}

// end ends the host, unless a session has connected meanwhile.
func (h *host) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.visits == 0 && !h.ended() {
		_ = h.listener.Close() // removes the socket first, so that no session connects from here on
		close(h.over)
	}
}

func (h *host) ended() bool {
	select {
	case <-h.over:
		return true
	default:
		return false
	}
}

// retire closes the socket, to make room for a host of another version. This host ends with its last
// session.
func (h *host) retire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.retired {
		h.retired = true
		_ = h.listener.Close()
	}
}

// visit serves one connection.
func (h *host) visit(l *line) {
	_ = l.conn.SetReadDeadline(time.Now().Add(startTime))
	first, err := l.read()
	_ = l.conn.SetReadDeadline(time.Time{})
	var o opening
	if err == nil && first.Kind == kindRestart { // accepted from any version: this host is not replaced for it
		wait := RestartWait
		if first.Body != nil && json.Unmarshal(first.Body, &wait) != nil {
			return
		}
		_ = l.write(frame{Kind: kindResult, Body: ordered.MustJSON(h.restart(first.Text, wait))})
		return
	}
	if err == nil && first.Kind == kindPIDs {
		_ = l.write(frame{Kind: kindResult, Body: ordered.MustJSON(h.pids(first.Text))})
		return
	}
	if err != nil || first.Kind != kindOpen || json.Unmarshal(first.Body, &o) != nil {
		return
	}
	if o.Version != h.version {
		h.retire()
		_ = l.write(frame{Kind: kindGone})
		return
	}
	v := &visitor{line: l, running: map[int64]context.CancelFunc{}, questions: map[int64]chan frame{}}
	s := h.join(v, o)
	defer s.leave(v)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go v.attend(ctx, s)
	v.serve(ctx, s) // reads while the server starts, to notice that the client is gone
}

// visitor is a session of a client.
type visitor struct {
	line *line

	mu            sync.Mutex
	running       map[int64]context.CancelFunc // requests, by id
	last          int64
	questions     map[int64]chan frame // unanswered questions
	notifications notifications
}

// attend opens the session once the server has started, and ends it with the server.
func (v *visitor) attend(ctx context.Context, s *sharedServer) {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return
	}
	if s.err != nil {
		failed := frame{Kind: kindFailed, Text: s.err.Error()}
		if s.isRestarted() {
			failed = frame{Kind: kindGone} // the client opens the session again
		}
		_ = v.line.write(failed)
		_ = v.line.conn.Close()
		return
	}
	if v.line.write(frame{Kind: kindReady}) != nil {
		_ = v.line.conn.Close()
		return
	}
	v.notifications.begin(v.line)
	select {
	case <-s.session.Gone():
		_ = v.line.conn.SetReadDeadline(time.Now()) // ends serve
	case <-ctx.Done():
	}
}

// serve handles messages of the client until the client or the server is gone.
func (v *visitor) serve(ctx context.Context, s *sharedServer) {
	var work sync.WaitGroup
	for {
		f, err := v.line.read()
		select {
		case <-s.ready:
		default:
			return // clients send nothing before the session is open
		}
		switch {
		case err == nil && s.err == nil:
			v.take(ctx, s, f, &work)
		case errors.Is(err, os.ErrDeadlineExceeded):
			work.Wait() // running requests are answered first
			return
		default:
			return
		}
	}
}

// take handles a message of the client. Requests run concurrently.
func (v *visitor) take(ctx context.Context, s *sharedServer, f frame, work *sync.WaitGroup) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch f.Kind {
	case kindCancel:
		if cancel := v.running[f.ID]; cancel != nil {
			cancel()
		}
	case kindAnswer, kindFailed:
		if answer := v.questions[f.ID]; answer != nil {
			answer <- f
			delete(v.questions, f.ID)
		}
	case kindList, kindCall, kindWatch, kindUnwatch:
		ctx, cancel := context.WithCancel(ctx)
		v.running[f.ID] = cancel
		work.Go(func() {
			defer cancel()
			result := v.run(ctx, s, f)
			result.ID = f.ID
			v.mu.Lock()
			delete(v.running, f.ID)
			v.mu.Unlock()
			if v.line.write(result) != nil {
				_ = v.line.conn.Close()
			}
		})
	}
}

// run makes a request of the server. If the server is being restarted, the request is not made, and
// kindGone makes the client repeat it in another session.
func (v *visitor) run(ctx context.Context, s *sharedServer, f frame) frame {
	if !s.calls.enter(ctx) {
		return frame{Kind: kindGone}
	}
	defer s.calls.leave()
	client := ctx
	ctx, cancel := context.WithCancel(client)
	defer cancel()
	defer context.AfterFunc(s.calls.life, cancel)()
	var body []byte
	var err error
	switch f.Kind {
	case kindList:
		var a upstream.Answer
		if a, err = s.session.List(ctx); err == nil {
			body, err = json.Marshal(wireAnswerOf(a))
		}
	case kindWatch, kindUnwatch:
		err = s.watch(ctx, v, f.Text, f.Kind == kindWatch)
	default:
		c := upstream.Call{
			Tool: f.Text, Arguments: f.Body, LogLevel: f.Level, Capabilities: f.Capabilities, Meta: f.Meta, Asks: f.Asks,
			Progress: func(p upstream.Progress) { _ = v.line.write(frame{Kind: kindProgress, ID: f.ID, Progress: &p}) },
			Log:      func(params json.RawMessage) { _ = v.line.write(frame{Kind: kindLog, ID: f.ID, Body: params}) },
			Ask:      func(ctx context.Context, q upstream.Question) (json.RawMessage, error) { return v.ask(ctx, f.ID, q) },
			Queue:    func(waits bool) { _ = v.line.write(frame{Kind: kindQueue, ID: f.ID, Waits: waits}) },
		}
		if f.Method != "" {
			c.Method, c.Params, c.Arguments = f.Method, f.Body, nil
		}
		body, err = s.session.Call(ctx, c)
	}
	var refused *upstream.ProtocolError
	var lost *upstream.LostAnswerError
	switch {
	case err == nil:
		return frame{Kind: kindResult, Body: body}
	case errors.As(err, &lost):
		return frame{Kind: kindLost, Text: lost.Why}
	case errors.As(err, &refused):
		return frame{Kind: kindRefused, Text: refused.Message, Code: refused.Code, Lacking: refused.Lacking, Body: refused.Data}
	case errors.Is(err, upstream.ErrGone):
		return frame{Kind: kindGone}
	case s.isRestarted() && client.Err() == nil:
		return frame{Kind: kindFailed, Text: "it was restarted by its user: whether the call was done is not known"}
	}
	return frame{Kind: kindFailed, Text: err.Error()}
}

// ask asks the client a question during the call with request id of.
func (v *visitor) ask(ctx context.Context, of int64, q upstream.Question) (json.RawMessage, error) {
	answer := make(chan frame, 1)
	v.mu.Lock()
	v.last++
	id := v.last
	v.questions[id] = answer
	v.mu.Unlock()
	if err := v.line.write(frame{Kind: kindAsk, ID: id, Of: of, Key: q.Key, Text: q.Method, Body: q.Params}); err != nil {
		return nil, errors.New("its client is gone")
	}
	demand := q.Demand
	for {
		select {
		case f := <-answer:
			if f.Kind == kindFailed {
				return nil, errors.New(f.Text)
			}
			return f.Body, nil
		case <-demand:
			demand = nil
			_ = v.line.write(frame{Kind: kindWanted, ID: id})
		case <-ctx.Done():
			v.mu.Lock()
			delete(v.questions, id)
			v.mu.Unlock()
			_ = v.line.write(frame{Kind: kindTakenBack, ID: id})
			return nil, ctx.Err()
		}
	}
}

// notifications queues messages that answer no request of the client. They wait until the session is open,
// and while the client reads slowly. Equal messages are queued once.
type notifications struct {
	mu      sync.Mutex
	open    bool
	sending bool
	queue   []frame
}

// add queues a message for the client. It does not wait until the message is sent.
func (n *notifications) add(l *line, f frame) {
	n.mu.Lock()
	defer n.mu.Unlock()
	same := func(other frame) bool { return other.Kind == f.Kind && other.Text == f.Text }
	full := f.Kind == kindCompleted && len(n.queue) >= maxEvents
	if !full && !slices.ContainsFunc(n.queue, same) {
		n.queue = append(n.queue, f)
	}
	n.start(l)
}

// begin starts sending when the session is open.
func (n *notifications) begin(l *line) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open = true
	n.start(l)
}

// start starts the goroutine that sends the queue, unless it runs. The caller holds the lock.
func (n *notifications) start(l *line) {
	if n.open && !n.sending && len(n.queue) > 0 {
		n.sending = true
		go n.send(l)
	}
}

func (n *notifications) send(l *line) {
	for {
		n.mu.Lock()
		if len(n.queue) == 0 {
			n.sending = false
			n.mu.Unlock()
			return
		}
		next := n.queue[0]
		n.queue = n.queue[1:]
		n.mu.Unlock()
		_ = l.write(next) // fails if the client is gone
	}
}

// sharedServer is a server that several sessions share.
type sharedServer struct {
	host  *host
	name  string // the user's name for the server
	key   string
	ready chan struct{} // closed once the server has started or failed
	stop  context.CancelFunc

	session *upstream.Session // set once ready is closed; nil if err is set
	err     error

	calls    calls
	watching sync.Mutex // held during requests that watch or unwatch a resource

	mu       sync.Mutex
	users    map[*visitor]bool
	end      *time.Timer                  // nil while the server has users
	watchers map[string]map[*visitor]bool // watchers by resource URI
}

// join returns the server for an opening, and starts it if it does not run.
func (h *host) join(v *visitor, o opening) *sharedServer {
	env := slices.Sorted(slices.Values(o.Server.Env))
	same, _ := json.Marshal([]any{o.Server.Name, o.Server.Argv, o.Server.Dir, env})
	sum := sha256.Sum256(same)
	key := string(sum[:])
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.servers[key]; s != nil && s.take(v) {
		return s
	}
	if h.memory == nil {
		h.memory = upstream.NewMemory(cmp.Or(o.Memory, upstream.DefaultMemory))
	}
	memory := h.memory
	ctx, cancel := context.WithTimeout(context.Background(), connectTime)
	s := &sharedServer{host: h, name: o.Server.Name, key: key, calls: newCalls(), ready: make(chan struct{}), stop: cancel,
		users: map[*visitor]bool{v: true}, watchers: map[string]map[*visitor]bool{}}
	h.servers[key] = s
	h.work.Go(func() {
		defer cancel()
		s.session, s.err = upstream.Connect(ctx, o.Server, upstream.Client{
			Name: o.Client, Version: o.ClientVersion, Changed: s.onChange, Updated: s.onUpdate, Completed: s.onCompleted,
			Asks: []string{upstream.Sample, upstream.Elicit}, Stray: s.stray, Memory: memory,
		})
		close(s.ready)
		if s.err == nil {
			<-s.session.Gone()
			s.session.Close()
		}
		s.forget()
	})
	return s
}

// take adds a user, unless the server has ended or is ending.
func (s *sharedServer) take(v *visitor) bool {
	select {
	case <-s.ready:
		if s.err != nil {
			return false
		}
		select {
		case <-s.session.Gone():
			return false
		default:
		}
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil && !s.end.Stop() { // it is already ending
		return false
	}
	s.end = nil
	s.users[v] = true
	return true
}

// watch adds or removes a user as watcher of a resource. The server gets a request for the first
// watcher and for the end of the last one.
func (s *sharedServer) watch(ctx context.Context, v *visitor, uri string, watch bool) error {
	if !watch {
		s.mu.Lock()
		delete(s.watchers[uri], v)
		s.mu.Unlock()
		s.unwatch(uri)
		return nil
	}
	s.watching.Lock()
	defer s.watching.Unlock()
	s.mu.Lock()
	users, known := s.watchers[uri]
	if !known {
		users = map[*visitor]bool{}
		s.watchers[uri] = users
	}
	users[v] = true
	s.mu.Unlock()
	if known {
		return nil
	}
	err := s.session.Watch(ctx, uri, true)
	if err != nil {
		s.mu.Lock()
		delete(s.watchers, uri)
		s.mu.Unlock()
	}
	return err
}

// onUpdate notifies the users that watch a resource of a change.
func (s *sharedServer) onUpdate(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := range s.watchers[uri] {
		v.notifications.add(v.line, frame{Kind: kindUpdated, Text: uri})
	}
}

// unwatchTime is the time limit for unwatch.
const unwatchTime = 5 * time.Second

// leave removes a user. The server ends after linger without users.
func (s *sharedServer) leave(v *visitor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.users, v)
	for uri, users := range s.watchers {
		if delete(users, v); len(users) == 0 && len(s.users) > 0 {
			go s.unwatch(uri)
		}
	}
	if len(s.users) == 0 && s.end == nil {
		s.end = time.AfterFunc(linger, func() {
			s.stop() // cancels a start that is still running
			<-s.ready
			if s.session != nil {
				s.session.Close()
			}
		})
	}
}

// unwatch ends the server's notifications about a resource, unless the resource has a watcher again.
func (s *sharedServer) unwatch(uri string) {
	ctx, cancel := context.WithTimeout(context.Background(), unwatchTime)
	defer cancel()
	s.watching.Lock()
	defer s.watching.Unlock()
	s.mu.Lock()
	users, known := s.watchers[uri]
	if known = known && len(users) == 0; known {
		delete(s.watchers, uri)
	}
	s.mu.Unlock()
	if known {
		_ = s.session.Watch(ctx, uri, false) // fails if the server is gone, which sends nothing more
	}
}

func (s *sharedServer) forget() {
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	if s.host.servers[s.key] == s {
		delete(s.host.servers, s.key)
	}
}

// onChange notifies all users that a list has changed.
func (s *sharedServer) onChange() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := range s.users {
		v.notifications.add(v.line, frame{Kind: kindChanged})
	}
}

// onCompleted notifies all users that one of their users has finished with a page. Each client knows to
// which pages it sent its user.
func (s *sharedServer) onCompleted(params json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := range s.users {
		v.notifications.add(v.line, frame{Kind: kindCompleted, Text: string(params)})
	}
}

// stray passes on a text of the server that answers nothing.
func (s *sharedServer) stray(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := range s.users {
		v.notifications.add(v.line, frame{Kind: kindStray, Text: text})
	}
}
