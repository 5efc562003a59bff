package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"golang.org/x/sync/semaphore"
)

const (
	// stdioOpen bounds the calls of the client that run; until one ends, no more
	// input is read.
	stdioOpen = 1024
	// stdioLines bounds the lines that wait to be written.
	stdioLines = 64
	// stdioWrite bounds the bytes that are written at a time, but for one line.
	stdioWrite = 64 << 10
	// stdioIdle bounds the goroutines that wait for a call to answer.
	stdioIdle = 32
	// stdioSubscriptions bounds its open subscriptions.
	stdioSubscriptions = 64
	// stdioGrace bounds how long running requests may take after the client
	// closed its end: long enough for a shell pipe to be answered.
	stdioGrace = 10 * time.Second
	// stdioEnd bounds how long cancelled requests may take to end.
	stdioEnd = time.Second
)

// Stdio serves one client on in and out until in ends or ctx is done. Requests
// that are under way when in ends have ten seconds to be answered. When ctx is
// done, out is closed if it can be, so that nothing stays blocked on a client
// that does not read.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &stdio{
		server: s, out: out, cancel: cancel,
		calls: semaphore.NewWeighted(stdioOpen), subscriptions: semaphore.NewWeighted(stdioSubscriptions),
		notifications: make(chan mcp.JSONRPCNotification, 100), lines: make(chan stdioLine, stdioLines), gone: make(chan struct{}),
		work: make(chan func()),
	}
	defer close(c.gone)
	if err := s.mcp.RegisterSession(ctx, c); err != nil {
		return fmt.Errorf("serving stdio: %w", err)
	}
	defer s.mcp.UnregisterSession(context.WithoutCancel(ctx), c.SessionID())
	go c.writeAll()

	ended := make(chan error, 1)
	go func() {
		err := c.read(s.mcp.WithContext(ctx, c), in)
		c.waitForCalls(stdioGrace)
		ended <- err
	}()
	select {
	case err := <-ended:
		cancel()
		c.waitForCalls(stdioEnd)
		c.flush(stdioEnd)
		return err
	case <-ctx.Done():
	}
	c.waitForCalls(stdioEnd)
	c.flush(stdioEnd)
	if out, ok := out.(io.Closer); ok {
		out.Close()
	}
	if err := c.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// stdio is the connection to one client, and its session for mcp-go.
type stdio struct {
	server *Server
	cancel context.CancelFunc
	calls  *semaphore.Weighted // one unit per open call

	// Goroutines that have answered a request take the next one from work: a new
	// one would have to grow its stack first, which costs as much as the call.
	work chan func()
	idle atomic.Int64 // goroutines that wait for work

	// A subscription stays open as long as its client does: the end of the
	// input does not wait for it.
	subscriptions *semaphore.Weighted

	out           io.Writer
	failure       atomic.Pointer[error]        // of writing to out
	lines         chan stdioLine               // to write
	notifications chan mcp.JSONRPCNotification // to write
	notified      atomic.Int64                 // notifications that writeAll has taken
	gone          chan struct{}                // closed when nothing is written any more

	ready        atomic.Bool
	info         atomic.Value // mcp.Implementation
	capabilities atomic.Value // mcp.ClientCapabilities
	logLevel     atomic.Value // mcp.LoggingLevel

	requests requests // of the client

	questions questions // to the client
}

// stdioLine is a line to write after the notifications that were sent before it.
type stdioLine struct {
	text    []byte        // nil = none, but for the notifications
	after   int64         // their number, since the connection began
	written chan struct{} // closed once it is; nil where nothing waits for that
}

func (c *stdio) line(text []byte) stdioLine {
	taken := c.notified.Load() // first: what is taken meanwhile is written before the line anyway
	return stdioLine{text: text, after: taken + int64(len(c.notifications))}
}

// waitForCalls waits until no call runs, for at most the given time.
func (c *stdio) waitForCalls(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if c.calls.Acquire(ctx, stdioOpen) == nil {
		c.calls.Release(stdioOpen)
	}
}

// read takes messages until the input ends or ctx is done.
func (c *stdio) read(ctx context.Context, in io.Reader) error {
	reader := bufio.NewReaderSize(in, 64<<10)
	for ctx.Err() == nil {
		line, err := readLine(reader, c.server.limits.Body)
		switch line = bytes.TrimSpace(line); {
		case errors.Is(err, errTooLong):
			c.write(failure(nil, mcp.INVALID_REQUEST, fmt.Sprintf("the message is longer than %d bytes", c.server.limits.Body)))
		case len(line) > 0:
			c.take(ctx, line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return fmt.Errorf("reading messages: %w", err)
		}
	}
	return nil
}

var errTooLong = errors.New("the line is too long")

// readLine reads a line of its own. Of one that is longer than most bytes it
// keeps nothing and returns errTooLong once the line has ended.
func readLine(r *bufio.Reader, limit int64) (line []byte, err error) {
	size := int64(0)
	for {
		part, err := r.ReadSlice('\n')
		if size += int64(len(part)); size <= limit+1 {
			line = append(line, part...)
		} else {
			line = nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if size > limit+1 && (err == nil || err == io.EOF) {
			return nil, errTooLong
		}
		return line, err
	}
}

// take takes one message. Calls and subscriptions run beside what follows;
// everything else is answered before the next message is read.
func (c *stdio) take(ctx context.Context, line []byte) {
	m := readMessage(line)
	c.questions.heard()
	switch {
	case m == nil: // no JSON object
		refused := refusedBatch(line)
		if refused == nil {
			refused = c.handle(ctx, line)
		}
		c.write(refused)
		return
	case m.isAnswer() && m.id != nil:
		c.questions.take(m) // answers to nothing that was asked are dropped
		return
	}
	r := &request{message: m, caller: &caller{}, log: c.server.log, session: c, questions: &c.questions, out: c}
	ctx, r.cancel = context.WithCancel(ctx)
	switch ours := c.server.methods[m.method]; {
	case ours != nil && ours.aside:
		if c.calls.Acquire(ctx, 1) != nil {
			return
		}
		c.open(ctx, r, func() { c.calls.Release(1) })
	case m.method == mcp.MethodSubscriptionsListen:
		if !c.subscriptions.TryAcquire(1) {
			c.write(failure(m.id, mcp.INVALID_REQUEST, fmt.Sprintf("%d subscriptions are open: cancel one first", stdioSubscriptions)))
			return
		}
		c.open(ctx, r, func() { c.subscriptions.Release(1) })
	default:
		defer r.cancel()
		c.exchange(ctx, r)
	}
}

// open answers a request beside others, which may cancel it, and then calls done.
func (c *stdio) open(ctx context.Context, r *request, done func()) {
	leave := c.requests.enter(r)
	answer := func() {
		defer done()
		defer leave()
		defer r.cancel()
		c.exchange(ctx, r)
	}
	select {
	case c.work <- answer:
	default:
		go c.answerMore(answer)
	}
}

// answerMore answers a request, and then others, unless enough goroutines wait for
// them.
func (c *stdio) answerMore(answer func()) {
	for {
		answer()
		if c.idle.Add(1) > stdioIdle {
			c.idle.Add(-1)
			return
		}
		select {
		case answer = <-c.work:
			c.idle.Add(-1)
		case <-c.gone:
			return
		}
	}
}

// exchange answers one message.
func (c *stdio) exchange(ctx context.Context, r *request) {
	c.requests.cancel(r)
	c.server.exchange(ctx, r, line{c, r})
}

// line is the transport of one message.
type line struct {
	*stdio
	request *request
}

func (l line) check(ctx context.Context, message []byte) refusal {
	return refusal{body: l.handle(ctx, message)}
}

func (l line) refuse(refused refusal) { l.request.end(refused.body, 0) }

func (l line) pass(ctx context.Context, message []byte) { l.request.end(l.handle(ctx, message), 0) }

// handle returns mcp-go's answer to a message, nil for none.
func (c *stdio) handle(ctx context.Context, message []byte) []byte {
	answer := c.server.mcp.HandleMessage(ctx, message)
	if answer == nil {
		return nil
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return failure(nil, mcp.INTERNAL_ERROR, "encoding the answer failed")
	}
	return inOurWords(text)
}

func (c *stdio) event(message []byte) { c.write(message) }

func (c *stdio) answer(message []byte, _ int) {
	if message != nil {
		c.write(bytes.Clone(message))
	}
}

// write writes a message after the earlier ones. Once the connection has ended
// it does nothing.
func (c *stdio) write(line []byte) {
	select {
	case c.lines <- c.line(line):
	case <-c.gone:
	}
}

// flush waits until everything is written, but for most no longer.
func (c *stdio) flush(limit time.Duration) {
	last := c.line(nil)
	last.written = make(chan struct{})
	late := time.After(limit)
	select {
	case c.lines <- last:
		select {
		case <-last.written:
		case <-late:
		}
	case <-late:
	}
}

// writeAll writes to the client: what has come meanwhile at once.
func (c *stdio) writeAll() {
	var out []byte
	for {
		if out = out[:0]; cap(out) > 2*stdioWrite {
			out = nil
		}
		select {
		case n := <-c.notifications:
			out = c.appendNotification(out, n)
		case line := <-c.lines:
			for more := true; more; {
				for c.notified.Load() < line.after {
					out = c.appendNotification(out, <-c.notifications)
				}
				if line.text != nil {
					out = append(append(out, line.text...), '\n')
				}
				if line.written != nil || len(out) > stdioWrite {
					c.flushed(out, line.written)
					out = out[:0]
				}
				select {
				case line = <-c.lines:
				default:
					more = false
				}
			}
		case <-c.gone:
			return
		}
		c.flushed(out, nil)
	}
}

func (c *stdio) appendNotification(out []byte, n mcp.JSONRPCNotification) []byte {
	c.notified.Add(1)
	return append(append(out, notification(n)...), '\n')
}

// flushed writes lines, and then closes written where that is not nil. When it
// cannot write, everything ends.
func (c *stdio) flushed(lines []byte, written chan struct{}) {
	if len(lines) > 0 && c.failure.Load() == nil {
		if _, err := c.out.Write(lines); err != nil {
			err = fmt.Errorf("writing an answer: %w", err)
			c.failure.Store(&err)
			c.cancel()
		}
	}
	if written != nil {
		close(written)
	}
}

func notification(n mcp.JSONRPCNotification) []byte {
	text, _ := json.Marshal(n)
	return unmask(text)
}

// SessionID implements [server.ClientSession].
func (c *stdio) SessionID() string { return "stdio" }

// NotificationChannel implements [server.ClientSession].
func (c *stdio) NotificationChannel() chan<- mcp.JSONRPCNotification { return c.notifications }

// Initialize implements [server.ClientSession].
func (c *stdio) Initialize() { c.ready.Store(true) }

// Initialized implements [server.ClientSession].
func (c *stdio) Initialized() bool { return c.ready.Load() }

// GetClientInfo implements [server.SessionWithClientInfo].
func (c *stdio) GetClientInfo() mcp.Implementation {
	info, _ := c.info.Load().(mcp.Implementation)
	return info
}

// SetClientInfo implements [server.SessionWithClientInfo].
func (c *stdio) SetClientInfo(info mcp.Implementation) { c.info.Store(info) }

// GetClientCapabilities implements [server.SessionWithClientInfo].
func (c *stdio) GetClientCapabilities() mcp.ClientCapabilities {
	capabilities, _ := c.capabilities.Load().(mcp.ClientCapabilities)
	return capabilities
}

// SetClientCapabilities implements [server.SessionWithClientInfo].
func (c *stdio) SetClientCapabilities(capabilities mcp.ClientCapabilities) {
	c.capabilities.Store(capabilities)
}

// SetLogLevel implements [server.SessionWithLogging].
func (c *stdio) SetLogLevel(level mcp.LoggingLevel) { c.logLevel.Store(level) }

// GetLogLevel implements [server.SessionWithLogging]: errors, until a client says more.
func (c *stdio) GetLogLevel() mcp.LoggingLevel {
	if level, ok := c.logLevel.Load().(mcp.LoggingLevel); ok {
		return level
	}
	return mcp.LoggingLevelError
}

var _ server.SessionWithLogging = (*stdio)(nil)

var _ server.SessionWithClientInfo = (*stdio)(nil)
