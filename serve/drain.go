package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
)

// DefaultDrain is the time that calls have to end when an HTTP server stops: less than the 30 s
// after which Kubernetes kills a container.
const DefaultDrain = 25 * time.Second

// cancelTime limits how long cancelled calls may take to answer.
const cancelTime = time.Second

// stoppingError returns the error of questions to clients while the server stops.
func stoppingError() error {
	return toolfold.Errorf(codeBusy, "the server stops and waits for no answer of its client").WithHint("make the call again in a moment")
}

// drain is the shutdown of an HTTP server. It begins once. New requests are served until the
// listener closes.
type drain struct {
	begun context.Context // done when the drain begins; streams end with it
	begin context.CancelFunc

	balancers *balancers
	starting  atomic.Bool // what requests need is not there yet

	mu      sync.Mutex
	open    map[*request]bool // being answered, without streams
	earlier map[*request]bool // open when the drain began; nil = it has not begun
	idle    chan struct{}     // closed when all of earlier are answered
}

func newDrain() *drain {
	d := &drain{balancers: newBalancers(), open: map[*request]bool{}, idle: make(chan struct{})}
	d.begun, d.begin = context.WithCancel(context.Background())
	return d
}

// enter adds a request; leave removes it once it is answered.
func (d *drain) enter(r *request) (leave func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[r] = true
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.open, r)
		if d.earlier[r] {
			delete(d.earlier, r)
			d.checkIdle()
		}
	}
}

// start begins the drain and returns the number of open requests.
func (d *drain) start() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.earlier = maps.Clone(d.open)
	d.checkIdle()
	d.balancers.stop(time.Now())
	d.begin()
	return len(d.open)
}

// checkIdle is called with the lock held when earlier has changed.
func (d *drain) checkIdle() {
	if len(d.earlier) == 0 {
		close(d.idle)
	}
}

// cancelOpen cancels the open requests and returns their labels.
func (d *drain) cancelOpen() (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for r := range d.open {
		names = append(names, r.label())
		r.cancel(callctx.ErrStopped)
	}
	slices.Sort(names)
	return names
}

// label describes the request for the log: its method, its name or URI, and its client.
func (r *request) label() string {
	label := string(r.method)
	if about := r.about(); about != "" {
		label += " " + about
	}
	from := r.clientHost
	if r.session != nil {
		from = r.session.GetClientInfo().Name
	}
	return fmt.Sprintf("%s of %.100s", label, strings.TrimSpace(r.caller.name+" "+from))
}

// prepareEach is the time between two attempts of prepare.
const prepareEach = time.Second

// prepare does what requests need, again until it succeeds or ctx is done. Meanwhile the server is not ready.
func (d *drain) prepare(ctx context.Context, do func(context.Context) error, log *slog.Logger) {
	d.starting.Store(true)
	go func() {
		defer d.starting.Store(false)
		logged := ""
		for err := do(ctx); err != nil; err = do(ctx) {
			if err.Error() != logged {
				logged = err.Error()
				log.Warn("the server is not ready: it tries again each second", "err", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(prepareEach):
			}
		}
	}()
}

// ready answers /readyz: 503 until the server is prepared, and once it drains.
func (d *drain) ready(w http.ResponseWriter, r *http.Request) {
	d.balancers.ask(r, time.Now())
	status, text := http.StatusOK, `{"status":"ready"}`
	switch {
	case d.begun.Err() != nil:
		status, text = http.StatusServiceUnavailable, `{"status":"draining"}`
	case d.starting.Load():
		status, text = http.StatusServiceUnavailable, `{"status":"starting"}`
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}

// isStream reports whether a request stays open until its client ends it.
func (m *message) isStream() bool { return m.method == mcp.MethodSubscriptionsListen }

// stop shuts down a web server. Streams and questions end at once. The listener stays open until
// balancers know, and until the requests that are open now are answered; later requests are answered before stop returns.
// After limit, all open requests are cancelled.
func (s *web) stop(server *http.Server, fresh *freshConns, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	open := s.drain.start()
	s.log.Info("the server stops once the open requests are answered", "requests", open, "limit", limit)
	s.pendingCalls.prompts.end(stoppingError)
	s.drain.balancers.wait(ctx)
	server.SetKeepAlivesEnabled(false) // closes idle connections, on which balancers send requests until they know
	select {
	case <-s.drain.idle:
	case <-ctx.Done():
	}
	fresh.close()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		s.logCancelled(s.drain.cancelOpen(), limit)
		late, cancel := context.WithTimeout(context.Background(), cancelTime)
		defer cancel()
		if err = server.Shutdown(late); errors.Is(err, context.DeadlineExceeded) {
			err = server.Close()
		}
	}
	late, cancel := context.WithTimeout(context.Background(), cancelTime)
	defer cancel()
	s.streamable.CloseSessions(late)
	return err
}

// maxCancelled limits the cancelled requests that the log names.
const maxCancelled = 50

func (s *web) logCancelled(names []string, limit time.Duration) {
	if len(names) == 0 {
		return
	}
	s.log.Warn("requests are cancelled: they were not answered in the time to stop", "limit", limit, "requests", len(names),
		slog.Any("cancelled", names[:min(len(names), maxCancelled)]))
}

// freshConns are connections on which nothing was sent yet. A shutdown would wait seconds for each
// of them.
type freshConns struct {
	mu   sync.Mutex
	open map[net.Conn]bool
}

func (f *freshConns) track(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		f.open = map[net.Conn]bool{}
	}
	if state == http.StateNew {
		f.open[c] = true
		return
	}
	delete(f.open, c)
}

func (f *freshConns) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.open {
		c.Close()
	}
}
