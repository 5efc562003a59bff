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
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// request is a message of a client that is being answered. Contexts of the work for it carry it.
type request struct {
	*message
	caller     *caller
	log        *slog.Logger // the server's
	header     http.Header  // nil on stdio
	clientHost string       // client's host; empty on stdio

	// session is the client's session; nil over HTTP without a session, and so from 2026-07-28 on.
	session   server.SessionWithClientInfo
	questions *questions // sent to the client of the session; nil without a session

	// onSession is called with the session that initialize begins; nil on stdio.
	onSession func(server.SessionWithClientInfo, *mcp.InitializeRequest)

	ownMethod  *method    // how it is answered here; nil if mcp-go answers it
	admission  *admission // set once mcp-go has admitted the request
	singleLine bool       // the answer is one line of UTF-8; lists are checked when they are made

	cancel context.CancelCauseFunc // cancels the work for the request

	mu        sync.Mutex // guards the fields below, and orders writes to out
	out       outlet
	ended     bool // answered or cancelled
	cancelled bool

	// From 2026-07-28 on, a call that asks its client outlives the request. Messages to the client
	// then go out with the newest request of the call.
	awaitsClient bool             // answered with a question
	next         *request         // continues the call; nil = not yet
	messages     []func(*request) // for the next request, at most maxPending
}

// maxPending limits the messages of a call that wait for its next request.
const maxPending = 1000

// deliver sends a message of the call with its newest request, or with the next one if the newest
// is answered. send reports whether it sent the message. tell returns false if the message is
// dropped.
func (r *request) deliver(send func(*request) bool) bool {
	for {
		r.mu.Lock()
		next, waits := r.next, r.ended && r.awaitsClient
		if waits = waits && next == nil && len(r.messages) < maxPending; waits {
			r.messages = append(r.messages, func(next *request) { next.deliver(send) })
		}
		ended := r.ended
		r.mu.Unlock()
		switch {
		case waits:
			return true
		case next != nil:
			r = next
		case ended:
			return false
		default:
			if send(r) {
				return true
			}
			if r.mu.Lock(); !r.ended { // send failed for another reason
				r.mu.Unlock()
				return false
			}
			r.mu.Unlock()
		}
	}
}

// goOn makes next the newest request of the call of r.
func (r *request) goOn(next *request) {
	r.mu.Lock()
	r.next = next
	pending := r.messages
	r.messages = nil
	r.mu.Unlock()
	for _, send := range pending {
		send(next)
	}
}

// newest returns the newest request of the call of r.
func (r *request) newest() *request {
	r.mu.Lock()
	next := r.next
	r.mu.Unlock()
	if next == nil {
		return r
	}
	return next.newest()
}

// An outlet writes to the client of one request.
type outlet interface {
	// event writes a notification or a request before the answer.
	event(message []byte)
	// answer writes the answer, nil = no answer, and does not keep the slice. status is the HTTP
	// status.
	answer(message []byte, status int)
}

func (r *request) in(ctx context.Context) context.Context {
	return callctx.With(ctx, r)
}

// requestOf returns the request of ctx, or nil.
func requestOf(ctx context.Context) *request {
	return callctx.Of[*request](ctx)
}

// send writes a message before the answer of the request. It returns false if the request is
// answered already, or if the message is more than one line.
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

// oneLine returns a message as it is sent: a line on stdio, or the data of an event over HTTP.
// Invalid UTF-8 is replaced by U+FFFD. It returns nil if there are several lines, which clients
// would read as several messages.
func oneLine(message []byte) []byte {
	if bytes.IndexByte(message, '\n') >= 0 || bytes.IndexByte(message, '\r') >= 0 {
		return nil
	}
	if !utf8.Valid(message) {
		return bytes.ToValidUTF8(message, []byte("\ufffd"))
	}
	return message
}

// about returns the name or the URI of the request, for the log.
func (r *request) about() string {
	var uri json.RawMessage
	scan(r.rawParams, []memberTarget{{"uri", &uri}})
	return shorten.To(cmp.Or(r.tool, textOfJSON(r.params.name), textOfJSON(uri)), 200)
}

// end answers the request. If the client has cancelled it, there is no answer.
func (r *request) end(answer []byte, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.cancelled {
		answer = nil
	}
	if answer != nil && !r.singleLine {
		if answer = oneLine(answer); answer == nil {
			r.log.Error("an answer is not one line, and is replaced by an error", "method", r.method, "name", r.about())
			answer, status = failure(r.id, mcp.INTERNAL_ERROR, "the answer could not be written; the server's log has more"), http.StatusOK
		}
	}
	r.out.answer(answer, status)
}

// notify sends a notification to the client of the request. It returns false if the request is
// answered already or the notification cannot be sent.
func (r *request) notify(method string, params any) bool {
	message, err := ordered.JSON(ordered.Map{
		{Key: "jsonrpc", Value: mcp.JSONRPC_VERSION}, {Key: "method", Value: method}, {Key: "params", Value: params},
	})
	if err != nil { // such as progress that is not a number
		r.log.Error("a notification is not sent", "method", method, "name", r.about(), "err", err)
		return false
	}
	return r.send(message)
}

// withProgress returns a context in which a call can report progress. The client gets it if it asks
// for progress in this request or a later one of the call.
func (r *request) withProgress(ctx context.Context) context.Context {
	if !r.wantsProgress() && !(r.modern() && r.canBeAsked()) {
		return ctx
	}
	return callctx.With[func(toolfold.Progress)](ctx, func(p toolfold.Progress) {
		r.deliver(func(r *request) bool {
			if !r.wantsProgress() {
				return true
			}
			params := ordered.Map{{Key: "progressToken", Value: r.meta.progressToken}, {Key: "progress", Value: p.Done}}
			if p.Total != 0 {
				params.Set("total", p.Total)
			}
			if p.Message != "" {
				params.Set("message", p.Message)
			}
			return r.notify("notifications/progress", params)
		})
	})
}

// wantsProgress reports whether the client asks for progress.
func (r *request) wantsProgress() bool {
	token := r.meta.progressToken
	return token != nil && string(token) != "null"
}

// canBeAsked reports whether the client answers questions during a call.
func (r *request) canBeAsked() bool {
	return r.Offers(callctx.MethodSample) || r.Offers(callctx.MethodElicit) || r.Offers(callctx.MethodRoots)
}

// modern reports whether the request is of 2026-07-28 or later.
func (r *request) modern() bool { return r.admission.info.Modern }

// client returns the client's name and version.
func (r *request) client() mcp.Implementation {
	switch info := r.admission.info; {
	case info.Modern && info.ClientInfo != nil:
		return *info.ClientInfo
	case info.Modern || r.session == nil:
		return mcp.Implementation{}
	}
	return r.session.GetClientInfo()
}

// declared returns the capabilities that the client declares.
func (r *request) declared() capabilities {
	switch {
	case r.modern() && r.admission.info.ClientCapabilities != nil:
		return capabilities{*r.admission.info.ClientCapabilities}
	case !r.modern() && r.session != nil:
		return capabilities{r.session.GetClientCapabilities()}
	}
	return capabilities{}
}

// Offers reports whether the client declares that it answers a method.
func (r *request) Offers(method string) bool { return r.declared().Offers(method) }

// clientKey identifies the client: by session, or from 2026-07-28 on by token, host, name and
// version.
func (r *request) clientKey() string {
	if r.modern() {
		client := r.client()
		return fmt.Sprintf("%s %s %.100s %.100s", r.caller.id, r.clientHost, client.Name, client.Version)
	}
	return r.session.SessionID()
}

// origin returns the source of the request.
func (r *request) origin() toolfold.Origin {
	from := toolfold.Origin{Rights: r.caller.rights, Token: r.caller.id, Caller: r.caller.name, Client: r.client().Name}
	if r.session != nil {
		from.Session, from.ListGrows = r.session.SessionID(), !r.modern()
	}
	if r.caller.name != "" {
		from.Client = strings.TrimSpace(r.caller.name + " " + from.Client)
	}
	return from
}

// requests are the open requests of one client, by their id as written, so that a notification can
// cancel them.
type requests struct{ byID sync.Map }

// enter adds a request; leave removes it.
func (all *requests) enter(r *request) (leave func()) {
	id := string(r.id)
	all.byID.Store(id, r)
	return func() { all.byID.CompareAndDelete(id, r) }
}

// cancel cancels the request that a notification names. The client then expects no answer.
func (all *requests) cancel(notification *request) {
	if notification.method != mcp.MethodNotificationCancelled || notification.params.requestID == nil {
		return
	}
	if open, ok := all.byID.Load(string(notification.params.requestID)); ok {
		r := open.(*request)
		r.mu.Lock()
		r.cancelled = true
		r.mu.Unlock()
		r.cancel(nil)
	}
}

// questions are the open requests to one client.
type questions struct {
	seen atomic.Int64 // when the client last sent a message, in ns since 1970

	// elsewhere returns the answer to a question that reached another server; nil if there is none yet. It is nil
	// if the session stays in this process.
	elsewhere func(ctx context.Context, question string) *message

	mu   sync.Mutex
	last int64
	open map[string]chan *message
}

// elsewhereEach is the time between two looks for an answer at other servers.
const elsewhereEach = 250 * time.Millisecond

// markSeen records that the client has sent a message.
func (q *questions) markSeen() { q.seen.Store(time.Now().UnixNano()) }

// ask asks the client during a request.
func (q *questions) ask(ctx context.Context, r *request, question callctx.Question) (json.RawMessage, error) {
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
		Request: mcp.Request{Method: question.Method}, Params: question.Params,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", question.Method, err)
	}
	if !r.send(text) {
		return nil, fmt.Errorf("the call that asks its client has ended")
	}
	var look <-chan time.Time // nil = never
	if q.elsewhere != nil {
		ticker := time.NewTicker(elsewhereEach)
		defer ticker.Stop()
		look = ticker.C
	}
	for {
		select {
		case m := <-answer:
			return resultOf(question, m)
		case <-look:
			if m := q.elsewhere(ctx, id); m != nil {
				q.take(m)
			}
		case <-ctx.Done():
			r.notify(string(mcp.MethodNotificationCancelled), ordered.Map{{Key: "requestId", Value: json.RawMessage(id)}})
			return nil, context.Cause(ctx)
		}
	}
}

// resultOf returns the result in a client's answer.
func resultOf(question callctx.Question, m *message) (json.RawMessage, error) {
	var reply struct {
		Result json.RawMessage           `json:"result"`
		Error  *struct{ Message string } `json:"error"`
	}
	if err := json.Unmarshal(m.raw, &reply); err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if reply.Error != nil {
		return nil, fmt.Errorf("asking the client, %s: %s", question.Method, reply.Error.Message)
	}
	return reply.Result, nil
}

func (q *questions) forget(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.open, id)
}

// take passes on the answer to an open question. It returns false for any other message.
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
