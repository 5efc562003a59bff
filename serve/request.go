package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// request is a message of a client on its way to an answer. The context of what
// runs for it carries it.
type request struct {
	*message
	caller *caller
	log    *slog.Logger // of the server
	header http.Header  // nil on stdio
	remote string       // host of the client; empty on stdio

	// session is the client's session, nil over HTTP where there is none, as
	// from 2026-07-28 on.
	session   server.SessionWithClientInfo
	questions *questions // to the client of the session; nil without one

	// began is called with the session that initialize begins; nil on stdio.
	began func(server.SessionWithClientInfo)

	answered *method // how it is answered here; nil where mcp-go answers it
	terms    *terms  // set once mcp-go has found the request in order
	checked  bool    // the answer is one line of UTF-8: its list was checked when it was made

	cancel context.CancelFunc // of what runs for the request

	mu        sync.Mutex // guards the rest, and orders what out writes
	out       outlet
	ended     bool // answered or cancelled
	cancelled bool
}

// An outlet writes to the client of one request.
type outlet interface {
	// event writes a notification or a request before the answer.
	event(message []byte)
	// answer writes the answer, nil for none, and does not keep it. Status is that of
	// HTTP.
	answer(message []byte, status int)
}

func (r *request) in(ctx context.Context) context.Context {
	return callctx.With(ctx, r)
}

// requestOf returns the request that ctx runs for, nil where it runs for none.
func requestOf(ctx context.Context) *request {
	return callctx.Of[*request](ctx)
}

// send writes a message before the answer of the request. It reports false when the answer is out, or
// the message cannot be sent.
func (r *request) send(message []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	if message = oneLine(message); message == nil {
		r.log.Error("a message to a client is not sent: it is not one line", "method", r.method, "name", r.about())
		return false
	}
	r.out.event(message)
	return true
}

// oneLine returns a message as it goes out: a line on stdio, and the data of an event over HTTP. What is
// not UTF-8 becomes U+FFFD, as in any JSON. It returns nil for more than one line, which clients would
// read as several messages.
func oneLine(message []byte) []byte {
	if bytes.IndexByte(message, '\n') >= 0 || bytes.IndexByte(message, '\r') >= 0 {
		return nil
	}
	if !utf8.Valid(message) {
		return bytes.ToValidUTF8(message, []byte("\ufffd"))
	}
	return message
}

// about returns the name or the URI that the request is about, for the log.
func (r *request) about() string {
	var uri json.RawMessage
	scan(r.rawParams, []named{{"uri", &uri}})
	return shorten.To(cmp.Or(r.tool, textOfJSON(r.params.name), textOfJSON(uri)), 200)
}

// end answers the request, or ends it without an answer when the client has
// cancelled it.
func (r *request) end(answer []byte, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.cancelled {
		answer = nil
	}
	if answer != nil && !r.checked {
		if answer = oneLine(answer); answer == nil {
			r.log.Error("an answer is not one line, and is replaced by an error", "method", r.method, "name", r.about())
			answer, status = failure(r.id, mcp.INTERNAL_ERROR, "the answer could not be written; the server's log has more"), http.StatusOK
		}
	}
	r.out.answer(answer, status)
}

// notify sends a notification to the client of the request. One that comes too
// late is dropped.
func (r *request) notify(method string, params any) {
	message, err := ordered.JSON(ordered.Map{
		{Key: "jsonrpc", Value: mcp.JSONRPC_VERSION}, {Key: "method", Value: method}, {Key: "params", Value: params},
	})
	if err != nil { // such as progress that is no number
		r.log.Error("a notification is not sent", "method", method, "name", r.about(), "err", err)
		return
	}
	r.send(message)
}

// withProgress returns a context whose runs report their progress to the client
// if it asked for that.
func (r *request) withProgress(ctx context.Context) context.Context {
	token := r.meta.progressToken
	if token == nil || string(token) == "null" {
		return ctx
	}
	return callctx.With[func(toolfold.Progress)](ctx, func(p toolfold.Progress) {
		params := ordered.Map{{Key: "progressToken", Value: token}, {Key: "progress", Value: p.Done}}
		if p.Total != 0 {
			params.Set("total", p.Total)
		}
		if p.Message != "" {
			params.Set("message", p.Message)
		}
		r.notify("notifications/progress", params)
	})
}

// modern reports whether the request is of 2026-07-28 or later.
func (r *request) modern() bool { return r.terms.info.Modern }

// client returns what the client says of itself.
func (r *request) client() mcp.Implementation {
	switch info := r.terms.info; {
	case info.Modern && info.ClientInfo != nil:
		return *info.ClientInfo
	case info.Modern || r.session == nil:
		return mcp.Implementation{}
	}
	return r.session.GetClientInfo()
}

// declared returns what the client says that it can do.
func (r *request) declared() capabilities {
	switch {
	case r.modern() && r.terms.info.ClientCapabilities != nil:
		return capabilities{*r.terms.info.ClientCapabilities}
	case !r.modern() && r.session != nil:
		return capabilities{r.session.GetClientCapabilities()}
	}
	return capabilities{}
}

// Offers reports whether the client says that it answers a method.
func (r *request) Offers(method string) bool { return r.declared().Offers(method) }

// clientKey tells clients apart: by session, or from 2026-07-28 on by host and by
// what they say of themselves.
func (r *request) clientKey() string {
	if r.modern() {
		client := r.client()
		return fmt.Sprintf("%s %.100s %.100s", r.remote, client.Name, client.Version)
	}
	return r.session.SessionID()
}

// origin returns where the request comes from.
func (r *request) origin() toolfold.Origin {
	from := toolfold.Origin{Rights: r.caller.rights, Token: r.caller.id, Client: r.client().Name}
	if r.session != nil {
		from.Session, from.ListGrows = r.session.SessionID(), !r.modern()
	}
	if r.caller.name != "" {
		from.Client = strings.TrimSpace(r.caller.name + " " + from.Client)
	}
	return from
}

// requests are the open requests of one client, by id as it was written, so that
// a notification of it can cancel them.
type requests struct{ byID sync.Map }

// enter adds a request; leave takes it out.
func (all *requests) enter(r *request) (leave func()) {
	id := string(r.id)
	all.byID.Store(id, r)
	return func() { all.byID.CompareAndDelete(id, r) }
}

// cancel cancels the request that a notification names: it expects no answer
// then.
func (all *requests) cancel(notification *request) {
	if notification.method != mcp.MethodNotificationCancelled || notification.params.requestID == nil {
		return
	}
	if open, ok := all.byID.Load(string(notification.params.requestID)); ok {
		r := open.(*request)
		r.mu.Lock()
		r.cancelled = true
		r.mu.Unlock()
		r.cancel()
	}
}

// questions are the requests to one client that it has not answered yet.
type questions struct {
	mu   sync.Mutex
	last int64
	open map[string]chan *message
}

// ask asks the client in the course of a request.
func (q *questions) ask(ctx context.Context, r *request, asked callctx.Question) (json.RawMessage, error) {
	answer := make(chan *message, 1)
	q.mu.Lock()
	if q.open == nil {
		q.open = map[string]chan *message{}
	}
	q.last++
	id := fmt.Sprint(q.last)
	q.open[id] = answer
	q.mu.Unlock()
	defer q.forget(id)
	text, err := json.Marshal(mcp.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(json.RawMessage(id)),
		Request: mcp.Request{Method: asked.Method}, Params: asked.Params,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", asked.Method, err)
	}
	if !r.send(text) {
		return nil, fmt.Errorf("the call that asks its client has ended")
	}
	select {
	case m := <-answer:
		var reply struct {
			Result json.RawMessage           `json:"result"`
			Error  *struct{ Message string } `json:"error"`
		}
		if err := json.Unmarshal(m.raw, &reply); err != nil {
			return nil, fmt.Errorf("reading the answer: %w", err)
		}
		if reply.Error != nil {
			return nil, fmt.Errorf("asking the client, %s: %s", asked.Method, reply.Error.Message)
		}
		return reply.Result, nil
	case <-ctx.Done():
		r.notify(string(mcp.MethodNotificationCancelled), ordered.Map{{Key: "requestId", Value: json.RawMessage(id)}})
		return nil, context.Cause(ctx)
	}
}

func (q *questions) forget(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.open, id)
}

// take passes on the answer to an open question; it reports false for any other
// message.
func (q *questions) take(m *message) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	answer, ok := q.open[string(m.id)]
	if ok = ok && m.isAnswer(); ok {
		answer <- m
		delete(q.open, string(m.id))
	}
	return ok
}
