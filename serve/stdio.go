package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

const (
	// stdioWorkers is how many calls of one client run at a time.
	stdioWorkers = 32
	// stdioGrace is how long requests that are under way may take after the
	// client closed its end: long enough for a shell pipe to be answered.
	stdioGrace = 10 * time.Second
)

// Stdio serves one client on in and out until in ends or ctx is done.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	stdio := server.NewStdioServer(s.mcp)
	server.WithWorkerPoolSize(stdioWorkers)(stdio)
	stdio.SetErrorLogger(slog.NewLogLogger(s.log.Handler(), slog.LevelWarn))

	pending := newPending()
	lines, forward := io.Pipe()
	answers := &answers{out: out, pending: pending}
	go func() {
		err := s.pump(in, forward, answers)
		pending.wait(ctx, stdioGrace)
		forward.CloseWithError(err)
	}()
	err := stdio.Listen(ctx, lines, answers)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// pump forwards the lines that are not answered in front of mcp-go, and counts
// the requests among them.
func (s *Server) pump(in io.Reader, forward io.Writer, answers *answers) error {
	reader := bufio.NewReader(in)
	for {
		line, err := reader.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := s.accept(line, forward, answers); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

func (s *Server) accept(line []byte, forward io.Writer, answers *answers) error {
	reply, next := s.front(line, s.probeDirectly)
	if reply != nil {
		_, err := answers.Write(append(reply, '\n'))
		return err
	}
	next, _ = maskID(next)
	answers.pending.sent(next)
	_, err := forward.Write(append(next, '\n'))
	return err
}

// probeDirectly is the probe of a transport without sessions and headers.
func (s *Server) probeDirectly(message []byte) []byte {
	reply, err := json.Marshal(s.mcp.HandleMessage(context.Background(), message))
	if err != nil {
		return nil
	}
	return reply
}

// answers passes what mcp-go writes on, one whole message a write, and counts
// the answers among it.
type answers struct {
	mu      sync.Mutex
	out     io.Writer
	pending *pending
}

func (a *answers) Write(line []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending.answered(line)
	if _, err := a.out.Write(unmaskID(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// pending counts the requests that have no answer yet, so that the end of the
// input does not cut them off.
type pending struct {
	mu   sync.Mutex
	open map[string]bool // by id, as it was written
	idle chan struct{}   // closed while nothing is open
}

func newPending() *pending {
	p := &pending{open: map[string]bool{}, idle: make(chan struct{})}
	close(p.idle)
	return p
}

type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

func (p *pending) sent(line []byte) {
	var e envelope
	// A subscription stays open as long as its client does.
	if json.Unmarshal(line, &e) != nil || e.Method == "" || e.ID == nil || e.Method == "subscriptions/listen" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open) == 0 {
		p.idle = make(chan struct{})
	}
	p.open[string(e.ID)] = true
}

func (p *pending) answered(line []byte) {
	var e envelope
	if json.Unmarshal(line, &e) != nil || e.Method != "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.open[string(e.ID)] {
		return
	}
	delete(p.open, string(e.ID))
	if len(p.open) == 0 {
		close(p.idle)
	}
}

func (p *pending) wait(ctx context.Context, most time.Duration) {
	p.mu.Lock()
	idle := p.idle
	p.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	case <-time.After(most):
	}
}
