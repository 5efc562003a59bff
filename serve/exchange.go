package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold"
)

// exchange is a request and its answer, past mcp-go, which would decode the
// arguments of a call and encode its result several times over, refuse numbers
// beyond floating point, and round others. The context of the request has it.
type exchange struct {
	caller  *caller         // nil on stdio
	remote  string          // host of the client; empty on stdio
	args    json.RawMessage // as they were written; nil without any
	notices *notices        // nil on stdio

	// cancelled is set when the client has cancelled the request: it expects no
	// answer then.
	cancelled atomic.Bool

	// structured says that the answer goes out as structured content too. It is
	// set before answer is.
	structured bool

	// answer is the result object of a call; nil before there is one.
	// Notifications are written while the call runs.
	answer atomic.Pointer[json.RawMessage]

	listTokens int // of the tools listed, estimated
}

type exchangeKey struct{}

func (x *exchange) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// rights returns those of the caller.
func (x *exchange) rights() *toolfold.Rights {
	if x.caller == nil {
		return nil
	}
	return x.caller.rights
}

func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

// answerMark stands for the answer of a call on its way through mcp-go. No
// client and no action can know it.
var answerMark = "answer-" + uuid.NewString()

// marked is the content that mcp-go encodes in place of an answer, markedRaw a
// part of its encoding.
var (
	marked    = []mcp.Content{mcp.NewTextContent(answerMark)}
	markedRaw = []byte(`"` + answerMark + `"}]`)
)

// result carries an answer as JSON in one text block, and as structured content
// where that is asked for. Many hosts give a model both.
func result(ctx context.Context, answer toolfold.Answer) *mcp.CallToolResult {
	exchangeOf(ctx).answer.Store(&answer.Content)
	r := &mcp.CallToolResult{Content: marked, IsError: answer.IsError()}
	if answer.Deprecated != nil {
		r.Meta = &mcp.Meta{AdditionalFields: map[string]any{deprecatedMeta: answer.Deprecated}}
	}
	return r
}

// complete puts the answer of a call into what mcp-go encoded.
func (x *exchange) complete(encoded []byte) []byte {
	answer := x.answer.Load()
	if answer == nil {
		return encoded
	}
	before, after, ok := bytes.Cut(encoded, markedRaw)
	if !ok {
		return encoded
	}
	out := make([]byte, 0, len(encoded)+3*len(*answer)+32)
	out, _ = jsontext.AppendQuote(append(out, before...), *answer) // invalid UTF-8 is replaced, as in any JSON
	out = append(out, `}]`...)
	if x.structured {
		out = append(append(out, `,"structuredContent":`...), *answer...)
	}
	return append(out, after...)
}

// notices counts the notifications on their way to an HTTP client. mcp-go loses
// one that it is about to write when the call that sent it is answered.
type notices struct {
	mu   sync.Mutex
	open int
	none chan struct{} // closed when none is open any more
}

// noticeWait bounds how long an answer waits for the notifications before it.
const noticeWait = time.Second

// send runs send, which sends a notification.
func (n *notices) send(send func() error) error {
	if n == nil {
		return send()
	}
	n.mu.Lock()
	if n.open++; n.open == 1 {
		n.none = make(chan struct{})
	}
	n.mu.Unlock()
	err := send()
	if err != nil {
		n.written()
	}
	return err
}

// written counts a notification that was written.
func (n *notices) written() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.open == 0 {
		return // of those sent to all clients
	}
	if n.open--; n.open == 0 {
		close(n.none)
	}
}

// wait waits until no notification is on its way.
func (n *notices) wait(ctx context.Context) {
	if n == nil {
		return
	}
	n.mu.Lock()
	open, none := n.open, n.none
	n.mu.Unlock()
	if open == 0 {
		return
	}
	select {
	case <-none:
	case <-ctx.Done():
	case <-time.After(noticeWait): // it went elsewhere
		for range open {
			n.written()
		}
	}
}

// requests are the open requests of one client, by id as it was written, so that
// a notification of it can cancel them.
type requests struct{ byID sync.Map }

// enter adds a request; leave takes it out.
func (r *requests) enter(m message, x *exchange) (leave func()) {
	if r == nil || !m.hasID() {
		return func() {}
	}
	id := string(m.text(m.id))
	r.byID.Store(id, x)
	return func() { r.byID.CompareAndDelete(id, x) }
}

// cancel marks the request that a notification names.
func (r *requests) cancel(m message) {
	if r == nil || m.name() != mcp.MethodNotificationCancelled {
		return
	}
	if at, ok := m.param("requestId"); ok {
		if x, open := r.byID.Load(string(m.text(at))); open {
			x.(*exchange).cancelled.Store(true)
		}
	}
}
