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

	"github.com/toolfold/toolfold/internal/call/callctx"
)

const (
	// stdioOpen limits the client's open calls; at the limit no more input is read.
	stdioOpen = 1024
	// stdioLines limits the lines that wait to be written.
	stdioLines = 64
	// stdioWrite limits the bytes of one write; a longer line is written alone.
	stdioWrite = 64 << 10
	// stdioIdle limits the idle goroutines that wait for a call to answer.
	stdioIdle = 32
	// stdioSubscriptions limits the open subscriptions.
	stdioSubscriptions = 64
	// stdioGrace limits how long running requests may take after the client closed its end: long
	// enough to answer a shell pipe.
	stdioGrace = 10 * time.Second
	// stdioEnd limits how long cancelled requests may take to end.
	stdioEnd = time.Second
)

// Stdio serves one client on in and out until in ends or ctx is done. Requests that are open when
// in ends have ten seconds to be answered. When ctx is done, out is closed if it is an [io.Closer],
// so that nothing stays blocked on a client that does not read.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	server := ctx
	ctx, stop := context.WithCancelCause(context.WithoutCancel(server))
	cancel := func() { stop(callctx.ErrStopped) }
	defer cancel()
	defer context.AfterFunc(server, cancel)()
	c := &stdio{
		server: s, out: out, cancel: cancel,
		calls: semaphore.NewWeighted(stdioOpen), subscriptions: semaphore.NewWeighted(stdioSubscriptions),
		notifications: make(chan mcp.JSONRPCNotification, 100), lines: make(chan stdioLine, stdioLines), done: make(chan struct{}),
		work: make(chan func()),
	}
	defer close(c.done)
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

	// Goroutines that have answered a request take the next one from work: a new goroutine would
	// have to grow its stack first, which costs as much as the call.
	work chan func()
	idle atomic.Int64 // goroutines that wait for work

	// A subscription stays open as long as its client does, so Stdio does not wait for
	// subscriptions when the input ends.
	subscriptions *semaphore.Weighted

	out           io.Writer
	failure       atomic.Pointer[error]        // of a write to out
	lines         chan stdioLine               // to write
	notifications chan mcp.JSONRPCNotification // to write
	notified      atomic.Int64                 // notifications that writeAll has taken
	done          chan struct{}                // closed when Stdio returns; nothing is written afterwards

	ready        atomic.Bool
	info         atomic.Value // mcp.Implementation
	capabilities atomic.Value // mcp.ClientCapabilities
	logLevel     atomic.Value // mcp.LoggingLevel

	requests requests // of the client

	questions questions // to the client
}

// stdioLine is a line to write after the notifications that were sent before it.
type stdioLine struct {
	text  []byte        // nil = only the notifications
	after int64         // number of notifications since the connection began
	done  chan struct{} // closed once it is written; may be nil
}

func (c *stdio) line(text []byte) stdioLine {
	taken := c.notified.Load() // first: notifications taken meanwhile are written before the line anyway
	return stdioLine{text: text, after: taken + int64(len(c.notifications))}
}

// waitForCalls waits until no call runs, at most limit.
func (c *stdio) waitForCalls(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if c.calls.Acquire(ctx, stdioOpen) == nil {
		c.calls.Release(stdioOpen)
	}
}

// read reads messages until the input ends or ctx is done.
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

// readLine returns the next line in new memory. A line longer than limit is dropped and reported as
// errTooLong.
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

// take takes one message. Calls and subscriptions run concurrently with later messages; everything
// else is answered before the next message is read.
func (c *stdio) take(ctx context.Context, line []byte) {
	m := readMessage(line)
	c.questions.markSeen()
	switch {
	case m == nil: // not a JSON object
		refused := refusedBatch(line)
		if refused == nil {
			refused = c.handle(ctx, line)
		}
		c.write(refused)
		return
	case m.isAnswer() && m.id != nil:
		c.questions.take(m) // drops answers to unknown questions
		return
	}
	r := &request{message: m, caller: &caller{}, log: c.server.log, session: c, questions: &c.questions, out: c}
	ctx, r.cancel = context.WithCancelCause(ctx)
	switch ours := c.server.methods[m.method]; {
	case ours != nil && ours.concurrent:
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
		defer r.cancel(nil)
		c.exchange(ctx, r)
	}
}

// open answers a request in a goroutine, so that later messages can cancel it, and then calls done.
func (c *stdio) open(ctx context.Context, r *request, done func()) {
	leave := c.requests.enter(r)
	answer := func() {
		defer done()
		defer leave()
		defer r.cancel(nil)
		c.exchange(ctx, r)
	}
	select {
	case c.work <- answer:
	default:
		go c.answerMore(answer)
	}
}

// answerMore answers a request, and then further ones, unless stdioIdle goroutines are idle
// already.
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
		case <-c.done:
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

// handle returns mcp-go's answer to a message, or nil if it gives no answer.
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

// write queues a message behind the earlier ones. After the connection has ended it does nothing.
func (c *stdio) write(line []byte) {
	select {
	case c.lines <- c.line(line):
	case <-c.done:
	}
}

// flush waits for queued lines to be written, at most limit.
func (c *stdio) flush(limit time.Duration) {
	last := c.line(nil)
	last.done = make(chan struct{})
	late := time.After(limit)
	select {
	case c.lines <- last:
		select {
		case <-last.done:
		case <-late:
		}
	case <-late:
	}
}

// writeAll writes to the client. Lines that are waiting go out in one write.
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
				if line.done != nil || len(out) > stdioWrite {
					c.writeOut(out, line.done)
					out = out[:0]
				}
				select {
				case line = <-c.lines:
				default:
					more = false
				}
			}
		case <-c.done:
			return
		}
		c.writeOut(out, nil)
	}
}

func (c *stdio) appendNotification(out []byte, n mcp.JSONRPCNotification) []byte {
	c.notified.Add(1)
	return append(append(out, notification(n)...), '\n')
}

// writeOut writes lines, then closes written if it is not nil. If a write fails, it cancels the
// connection.
func (c *stdio) writeOut(lines []byte, done chan struct{}) {
	if len(lines) > 0 && c.failure.Load() == nil {
		if _, err := c.out.Write(lines); err != nil {
			err = fmt.Errorf("writing an answer: %w", err)
			c.failure.Store(&err)
			c.cancel()
		}
	}
	if done != nil {
		close(done)
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

// GetLogLevel implements [server.SessionWithLogging]. The default is errors.
func (c *stdio) GetLogLevel() mcp.LoggingLevel {
	if level, ok := c.logLevel.Load().(mcp.LoggingLevel); ok {
		return level
	}
	return mcp.LoggingLevelError
}

var _ server.SessionWithLogging = (*stdio)(nil)

var _ server.SessionWithClientInfo = (*stdio)(nil)
