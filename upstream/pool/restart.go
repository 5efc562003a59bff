package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// RestartReport reports the effect of a restart.
type RestartReport struct {
	Processes int // ended processes; 0 if no session shares the server
	Sessions  int // sessions that used them
	Waited    int // running calls that ended in time
	Cut       int // running calls that did not end in time and failed
}

// RestartWait is the default time that a restart waits for running calls.
const RestartWait = 5 * time.Second

// ErrOldHost is the error of [Pool.Restart] and [Pool.PIDs] if the host has a version that does not know the request.
var ErrOldHost = errors.New("the process that shares servers is of an older version of toolfold")

// Restart ends the processes of the server with that name. The next call of each session starts it
// again. Running calls get at most wait to end. Restart starts no host, and accepts a host of any
// version.
func (p Pool) Restart(ctx context.Context, name string, wait time.Duration) (did RestartReport, err error) {
	err = p.request(ctx, frame{Kind: kindRestart, Text: name, Body: ordered.MustJSON(wait)}, &did)
	return did, err
}

// PIDs returns the ids of the processes of the server with that name, in ascending order. It is empty if no session
// shares the server. PIDs starts no host, and accepts a host of any version.
func (p Pool) PIDs(ctx context.Context, name string) (pids []int, err error) {
	err = p.request(ctx, frame{Kind: kindPIDs, Text: name}, &pids)
	return pids, err
}

// request sends the only frame of a connection, and decodes the body of its result into a pointer. Without a host it
// does nothing.
func (p Pool) request(ctx context.Context, f frame, result any) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", p.socket())
	if err != nil {
		return ctx.Err() // nil if no host runs
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	l := newLine(conn, nil)
	if err := l.write(f); err != nil {
		return fmt.Errorf("asking the process that shares servers: %w", err)
	}
	answer, err := l.read()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil, answer.Kind != kindResult: // a host that does not know the request closes the connection
		return ErrOldHost
	}
	if err := json.Unmarshal(answer.Body, result); err != nil {
		return fmt.Errorf("reading the answer of the process that shares servers: %w", err)
	}
	return nil
}

// pids returns the ids of the processes of a server that have started.
func (h *host) pids(name string) []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	pids := []int{}
	for _, s := range h.servers {
		if s.name != name {
			continue
		}
		select {
		case <-s.ready:
			if s.session != nil && s.session.PID() > 0 {
				pids = append(pids, s.session.PID())
			}
		default:
		}
	}
	slices.Sort(pids)
	return pids
}

// restart ends all processes of a server, after waiting for running calls.
func (h *host) restart(name string, wait time.Duration) RestartReport {
	h.mu.Lock()
	var all []*sharedServer
	for key, s := range h.servers {
		if s.name == name {
			all = append(all, s)
			delete(h.servers, key) // new sessions start another process
		}
	}
	h.mu.Unlock()
	did := make([]RestartReport, len(all))
	var work sync.WaitGroup
	for i, s := range all {
		work.Go(func() { did[i] = s.restart(wait) })
	}
	work.Wait()
	var sum RestartReport
	for _, d := range did {
		sum.Processes, sum.Sessions, sum.Waited, sum.Cut = sum.Processes+1, sum.Sessions+d.Sessions, sum.Waited+d.Waited, sum.Cut+d.Cut
	}
	return sum
}

// restart ends the process of a server, and thereby its sessions.
func (s *sharedServer) restart(wait time.Duration) (did RestartReport) {
	s.mu.Lock()
	did.Sessions = len(s.users)
	s.mu.Unlock()
	running, over := s.calls.close()
	select {
	case <-s.ready:
	default:
		s.stop() // cancels a start that is still running
		<-s.ready
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case <-over:
	case <-late.C:
		did.Cut = s.calls.count()
		s.calls.cut() // otherwise the session would wait for them
	}
	did.Waited = running - did.Cut
	s.calls.open()
	if s.session != nil {
		s.session.Close()
	}
	return did
}

// isRestarted reports whether the server was restarted: its process has ended or will end soon.
func (s *sharedServer) isRestarted() bool { return s.calls.isClosed() }

// calls counts the requests to a server. From a restart on it holds new ones back.
type calls struct {
	mu     sync.Mutex
	n      int           // running requests
	closed chan struct{} // closed when a restart begins
	over   chan struct{} // closed when no request runs after that
	opened chan struct{} // closed to release the waiting requests

	life context.Context // cancels running requests when it ends
	cut  context.CancelFunc
}

func newCalls() calls {
	life, cut := context.WithCancel(context.Background())
	return calls{closed: make(chan struct{}), over: make(chan struct{}), opened: make(chan struct{}), life: life, cut: cut}
}

// enter counts a request. If the server is being restarted it waits for open and reports false, so that
// the session lives until the running requests are answered.
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

// close holds back new requests. It returns the number of running ones, and a channel that is closed
// when they have ended. It is called once.
func (c *calls) close() (running int, over <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.closed)
	if c.n == 0 {
		close(c.over)
	}
	return c.n, c.over
}

// open releases the waiting requests.
func (c *calls) open() { close(c.opened) }

func (c *calls) count() int {
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
