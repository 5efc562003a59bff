package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
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
	log.SetOutput(io.Discard) // mcp-go must not write past our logger

	pending := newPending()
	lines, forward := io.Pipe()
	go func() {
		err := pump(in, forward, pending)
		pending.wait(ctx, stdioGrace)
		forward.CloseWithError(err)
	}()
	err := stdio.Listen(ctx, lines, &answers{out: out, pending: pending})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// pump forwards lines and counts the requests among them.
func pump(in io.Reader, forward io.Writer, pending *pending) error {
	reader := bufio.NewReader(in)
	for {
		line, err := reader.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			pending.sent(line)
			if !bytes.HasSuffix(line, []byte("\n")) {
				line = append(line, '\n')
			}
			if _, err := forward.Write(line); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
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
	n, err := a.out.Write(line)
	a.pending.answered(line)
	return n, err
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
