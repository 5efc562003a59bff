package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Restarted says what a restart did.
type Restarted struct {
	Processes int // that were ended; 0 = the server is not shared by any session
	Sessions  int // that use them
	Waited    int // calls that ran, and were waited for
	Cut       int // calls that did not end in time, and have failed
}

// RestartWait is how long a restart waits for calls that run, unless its caller chooses another time.
const RestartWait = 5 * time.Second

// ErrOldHost is the error of [Pool.Restart] if the host is of a version that cannot restart servers.
var ErrOldHost = errors.New("the process that shares servers is of an older version of toolfold")

// Restart ends the processes of a server, by its name, so that the next call of each session starts it again. Calls that
// run are waited for, at most for the given time. It starts no host, and takes one of another version as it is.
func (p Pool) Restart(ctx context.Context, name string, wait time.Duration) (Restarted, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", p.socket())
	if err != nil {
		if ctx.Err() != nil {
			return Restarted{}, ctx.Err()
		}
		return Restarted{}, nil // there is no host
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	l := newLine(conn, nil)
	var did Restarted
	if err := l.write(frame{Kind: kindRestart, Text: name, Body: ordered.MustJSON(wait)}); err != nil {
		return did, fmt.Errorf("asking the process that shares servers: %w", err)
	}
	answer, err := l.read()
	switch {
	case ctx.Err() != nil:
		return did, ctx.Err()
	case err != nil, answer.Kind != kindResult: // a host that does not know the request closes the connection
		return did, ErrOldHost
	}
	if err := json.Unmarshal(answer.Body, &did); err != nil {
		return did, fmt.Errorf("reading the result of the restart: %w", err)
	}
	return did, nil
}

// restart ends all processes of a server, and waits for calls that run.
func (h *host) restart(name string, wait time.Duration) Restarted {
	h.mu.Lock()
	var all []*shared
	for key, s := range h.shared {
		if s.name == name {
			all = append(all, s)
			delete(h.shared, key) // who comes from here on starts another
		}
	}
	h.mu.Unlock()
	did := make([]Restarted, len(all))
	var work sync.WaitGroup
	for i, s := range all {
		work.Go(func() { did[i] = s.restart(wait) })
	}
	work.Wait()
	var sum Restarted
	for _, d := range did {
		sum.Processes, sum.Sessions, sum.Waited, sum.Cut = sum.Processes+1, sum.Sessions+d.Sessions, sum.Waited+d.Waited, sum.Cut+d.Cut
	}
	return sum
}

// restart ends the process of a server. Its sessions end with it.
func (s *shared) restart(wait time.Duration) (did Restarted) {
	s.mu.Lock()
	did.Sessions = len(s.users)
	s.mu.Unlock()
	running, over := s.calls.close()
	select {
	case <-s.ready:
	default:
		s.stop() // an attempt to start it
		<-s.ready
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case <-over:
	case <-late.C:
		did.Cut = s.calls.running()
		s.calls.cut() // the session would wait for them
	}
	did.Waited = running - did.Cut
	s.calls.open()
	if s.session != nil {
		s.session.Close()
	}
	return did
}

// isRestarted reports whether the server was restarted: its process has ended or does so soon.
func (s *shared) isRestarted() bool { return s.calls.isClosed() }

// calls counts the requests to a server, and holds them back from a restart on.
type calls struct {
	mu     sync.Mutex
	n      int           // that run
	closed chan struct{} // closed when a restart begins
	over   chan struct{} // closed when none runs after that
	opened chan struct{} // closed when those that wait are let go

	life context.Context // ends the requests that run
	cut  context.CancelFunc
}

func newCalls() calls {
	life, cut := context.WithCancel(context.Background())
	return calls{closed: make(chan struct{}), over: make(chan struct{}), opened: make(chan struct{}), life: life, cut: cut}
}

// enter counts a request. It reports false if the server is restarted: at once when no request runs there any more, so
// that the session lives until the others are answered.
func (c *calls) enter(ctx context.Context) bool {
	c.mu.Lock()
	if !c.isClosed() {
		defer c.mu.Unlock()
		c.n++
		return true
	}
	c.mu.Unlock()
	select {
	case <-c.opened:
	case <-ctx.Done():
	}
	return false
}

func (c *calls) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n--; c.n == 0 && c.isClosed() {
		close(c.over)
	}
}

// close lets no more requests in, and returns how many run, and what is closed once they have ended. It is called once.
func (c *calls) close() (running int, over <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.closed)
	if c.n == 0 {
		close(c.over)
	}
	return c.n, c.over
}

// open lets the requests go that wait.
func (c *calls) open() { close(c.opened) }

func (c *calls) running() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func (c *calls) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}
