package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"sync"
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
		notifications: make(chan mcp.JSONRPCNotification, 100), lines: make(chan []byte), gone: make(chan struct{}),
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

	// A subscription stays open as long as its client does: the end of the
	// input does not wait for it.
	subscriptions *semaphore.Weighted

	out           io.Writer
	failure       atomic.Pointer[error]        // of writing to out
	lines         chan []byte                  // to write
	notifications chan mcp.JSONRPCNotification // to write first
	gone          chan struct{}                // closed when nothing is written any more

	ready        atomic.Bool
	info         atomic.Value // mcp.Implementation
	capabilities atomic.Value // mcp.ClientCapabilities

	requests requests // of the client

	lastID atomic.Int64
	asked  sync.Map // our requests that the client has not answered: id → chan []byte
}

// waitForCalls waits until no call runs, for at most the given time.
func (c *stdio) waitForCalls(most time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), most)
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
func readLine(r *bufio.Reader, most int64) (line []byte, err error) {
	size := int64(0)
	for {
		part, err := r.ReadSlice('\n')
		if size += int64(len(part)); size <= most+1 {
			line = append(line, part...)
		} else {
			line = nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if size > most+1 && (err == nil || err == io.EOF) {
			return nil, errTooLong
		}
		return line, err
	}
}

// take takes one message. Calls and subscriptions run beside what follows;
// everything else is answered before the next message is read.
func (c *stdio) take(ctx context.Context, line []byte) {
	m, ok := readMessage(line)
	if ok && m.answer && m.name() == "" && m.hasID() {
		// It is for the call that asked. Answers to nothing that was asked are
		// dropped.
		id, _ := strconv.ParseInt(string(m.text(m.id)), 10, 64)
		if asked, ok := c.asked.LoadAndDelete(id); ok {
			asked.(chan []byte) <- m.raw
		}
		return
	}
	x := &exchange{}
	switch m.name() {
	case mcp.MethodToolsCall:
		if c.calls.Acquire(ctx, 1) != nil {
			return
		}
		leave := c.requests.enter(m, x)
		go func() {
			defer c.calls.Release(1)
			defer leave()
			c.exchange(ctx, m, ok, x)
		}()
	case mcp.MethodSubscriptionsListen:
		if !c.subscriptions.TryAcquire(1) {
			c.write(failure(m.text(m.id), mcp.INVALID_REQUEST, fmt.Sprintf("%d subscriptions are open: cancel one first", stdioSubscriptions)))
			return
		}
		leave := c.requests.enter(m, x)
		go func() {
			defer c.subscriptions.Release(1)
			defer leave()
			c.exchange(ctx, m, ok, x)
		}()
	default:
		c.exchange(ctx, m, ok, x)
	}
}

// exchange answers one message.
func (c *stdio) exchange(ctx context.Context, m message, isObject bool, x *exchange) {
	defer func() {
		if p := recover(); p != nil {
			c.server.log.Error("answering a message", "panic", p, "stack", string(debug.Stack()))
			c.write(failure(m.text(m.id), mcp.INTERNAL_ERROR, "the server failed; its log has more"))
		}
	}()
	next, key, generation := m.raw, []byte(nil), 0
	if isObject {
		c.requests.cancel(m)
		if m.name() == mcp.MethodToolsList && !c.server.hasGrown(c.SessionID()) {
			var answer []byte
			var tokens int
			key = m.key("stdio")
			if answer, tokens, generation = c.server.lists.answer(m, key); answer != nil {
				c.server.metrics.listed(tokens, true)
				c.write(answer)
				return
			}
		}
		var reply []byte
		if reply, next = c.server.front(m, x, c.probe(ctx)); reply != nil {
			c.write(reply)
			return
		}
	}
	answer := x.complete(encoded(c.server.mcp.HandleMessage(x.in(ctx), next), m))
	if key != nil {
		c.server.lists.keep(m, key, answer, x.listTokens, generation)
	}
	if answer != nil && !x.cancelled.Load() {
		c.write(answer)
	}
}

// encoded is an answer of mcp-go with the id as the client wrote it; nil when
// there is none.
func encoded(answer mcp.JSONRPCMessage, m message) []byte {
	switch a := answer.(type) {
	case nil:
		return nil
	case mcp.JSONRPCResponse:
		a.ID = mcp.NewRequestId(m.text(m.id))
		answer = a
	case mcp.JSONRPCError:
		if m.hasID() {
			a.ID = mcp.NewRequestId(m.text(m.id))
		}
		a.Error.Message = inPlainWords(a.Error.Message)
		answer = a
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return failure(m.text(m.id), mcp.INTERNAL_ERROR, "encoding the answer failed")
	}
	return text
}

// probe returns the probe of a transport without sessions and headers.
func (c *stdio) probe(ctx context.Context) probe {
	return func(_ mcp.MCPMethod, message []byte) []byte {
		reply, _ := json.Marshal(c.server.mcp.HandleMessage(ctx, message))
		return reply
	}
}

// write writes a message after the earlier ones. Once the connection has ended
// it does nothing.
func (c *stdio) write(line []byte) {
	select {
	case c.lines <- line:
	case <-c.gone:
	}
}

// flush waits until everything is written, but for most no longer.
func (c *stdio) flush(most time.Duration) {
	select {
	case c.lines <- nil:
	case <-time.After(most):
	}
}

// writeAll writes to the client: before each message the notifications that
// were sent before it.
func (c *stdio) writeAll() {
	for {
		select {
		case n := <-c.notifications:
			c.writeLine(notification(n))
		case line := <-c.lines:
			for len(c.notifications) > 0 {
				c.writeLine(notification(<-c.notifications))
			}
			if line != nil {
				c.writeLine(line)
			}
		case <-c.gone:
			return
		}
	}
}

// writeLine writes a line. When it cannot, everything ends.
func (c *stdio) writeLine(line []byte) {
	if c.failure.Load() != nil {
		return
	}
	if _, err := c.out.Write(append(line, '\n')); err != nil {
		err = fmt.Errorf("writing an answer: %w", err)
		c.failure.Store(&err)
		c.cancel()
	}
}

func notification(n mcp.JSONRPCNotification) []byte {
	text, _ := json.Marshal(n)
	return unmask(text)
}

// RequestSampling implements [server.SessionWithSampling].
func (c *stdio) RequestSampling(ctx context.Context, request mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	id, answer := c.lastID.Add(1), make(chan []byte, 1)
	c.asked.Store(id, answer)
	defer c.asked.Delete(id)
	text, err := json.Marshal(mcp.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id),
		Request: mcp.Request{Method: string(mcp.MethodSamplingCreateMessage)}, Params: request.CreateMessageParams,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the prompt: %w", err)
	}
	c.write(text)
	var reply struct {
		Result *mcp.CreateMessageResult  `json:"result"`
		Error  *struct{ Message string } `json:"error"`
	}
	select {
	case text := <-answer:
		if err := json.Unmarshal(text, &reply); err != nil {
			return nil, fmt.Errorf("reading the answer: %w", err)
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if reply.Error != nil {
		return nil, errors.New(reply.Error.Message)
	}
	return reply.Result, nil
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

var (
	_ server.SessionWithSampling   = (*stdio)(nil)
	_ server.SessionWithClientInfo = (*stdio)(nil)
)
