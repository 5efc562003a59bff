package upstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// gate handles every message of a server before the library sees it. It reads leniently: text that is
// not a message and replies that match no request are noted and ignored. An unreadable reply becomes
// the error of its request. Results of calls stay with the gate, byte for byte; the library gets
// stand-ins that it can decode.
type gate struct {
	client Client
	server Server
	output io.Writer                                    // receives text that is not a message; nil drops it
	answer func(context.Context, jsonrpc.Message) error // sends a response to the server
	inject func(jsonrpc.Message)                        // passes a message to the library, outside of the server's stream
	life   context.Context                              // of the session
	pid    atomic.Int64                                 // process id of the program; 0 = no program, or not known yet

	mu             sync.Mutex
	requests       map[jsonrpc.ID]*request
	calls          map[string]*call                  // running calls, by progress token
	serverRequests map[jsonrpc.ID]context.CancelFunc // requests of the server without a response
	askingTools    map[string]bool                   // tools that have, or may have, asked in this session
	quietTools     map[string]bool                   // tools that answered a call without asking
	callUnnamed    bool                              // the connection does not name the call of a question
	queue          []*queuedCall                     // calls of asking tools that wait for their turn, next first
	heldQuestions  []*question                       // questions whose call is not known yet
	watches        map[string]*watch                 // watches whose requests are not sent yet, by URI
	list           json.RawMessage                   // the last answer to tools/list
	version        string                            // agreed by initialize
	strays         int                               // number of texts that answer nothing
	handshake      handshake
}

// handshake records how the first requests went.
type handshake struct {
	unstarted  bool // the program could not be started
	probed     bool // server/discover was sent
	late       bool // it was not answered in time
	refused    bool // answered with an error
	discovered bool // answered with a result, in time or late
	answered   bool // initialize was answered, with a result or an error
}

// request is a request to the server without a response.
type request struct {
	method  string
	call    *call       // nil for other requests
	timer   *time.Timer // of the probe; nil for other requests
	expired func()      // of the probe; may be nil
	watch   *watch      // nil for other requests
}

// watch is a subscription to a resource. Its request has no result while the subscription lasts.
type watch struct {
	isSent  bool          // the request was sent
	done    chan struct{} // closed when the server has agreed or refused
	refusal error         // the server's refusal; nil if it agreed. Read it only after known is closed
}

// Codes of the errors that the gate puts in place of an answer.
const (
	codeLost = -32097 // the answer is missing or unreadable; the data is the HTTP status
	codeGone = -32096 // the server did not take the request, because it does not know the session
)

// codeRejected is the library's code for a request that it could not send.
const codeRejected = -32005

const (
	discover   = "server/discover"
	initialize = "initialize"
	listen     = "subscriptions/listen"
)

func newGate(life context.Context, s Server, c Client, output io.Writer) *gate {
	return &gate{
		client: c, server: s, life: life, output: output,
		requests: map[jsonrpc.ID]*request{}, calls: map[string]*call{}, serverRequests: map[jsonrpc.ID]context.CancelFunc{},
		askingTools: map[string]bool{}, quietTools: map[string]bool{}, watches: map[string]*watch{},
	}
}

// note records a text that is not a message or answers no request.
func (g *gate) note(text []byte) {
	if g.output != nil {
		_, _ = g.output.Write(append(text[:len(text):len(text)], '\n'))
	}
	g.mu.Lock()
	g.strays++
	reports := g.client.Stray != nil && g.strays <= maxStrays
	g.mu.Unlock()
	if reports {
		g.client.Stray(shorten.To(string(text[:min(len(text), 4*maxWhy)]), maxWhy))
	}
}

// onSend records a message to the server, and returns the message to send in its place.
func (g *gate) onSend(message jsonrpc.Message) jsonrpc.Message {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch m := message.(type) {
	case *jsonrpc.Response:
		delete(g.serverRequests, m.ID)
	case *jsonrpc.Request:
		if m.Method == "notifications/cancelled" {
			g.forgetCancelled(m)
		}
		if !m.IsCall() {
			break
		}
		r := &request{method: m.Method}
		g.requests[m.ID] = r
		switch m.Method {
		case callTool:
			var params struct {
				Meta json.RawMessage `json:"_meta"`
			}
			var token struct{ ProgressToken string }
			_ = json.Unmarshal(m.Params, &params)
			_ = json.Unmarshal(params.Meta, &token)
			if r.call = g.calls[token.ProgressToken]; r.call != nil {
				r.call.id = m.ID
				return r.call.requestFor(m, params.Meta)
			}
		case discover:
			g.handshake.probed = true
			r.timer = time.AfterFunc(cmp.Or(g.server.ProbeTimeout, DefaultProbeTimeout), func() { g.expire(m.ID) })
		case listen:
			var params struct {
				Notifications struct{ ResourceSubscriptions []string }
			}
			_ = json.Unmarshal(m.Params, &params)
			for _, uri := range params.Notifications.ResourceSubscriptions { // the library asks for one resource at a time
				if r.watch = g.watches[uri]; r.watch != nil {
					r.watch.isSent = true
				}
			}
		}
	}
	return message
}

// forgetCancelled forgets the request that a notification of the library cancels. The caller holds the lock.
func (g *gate) forgetCancelled(cancelled *jsonrpc.Request) {
	var p struct{ RequestID any }
	_ = json.Unmarshal(cancelled.Params, &p)
	if id, err := jsonrpc.MakeID(p.RequestID); err == nil {
		g.end(id, nil)
	}
}

// end ends the wait for the answer of a request, and returns the request, or nil if it did not wait.
// The caller holds the lock.
func (g *gate) end(id jsonrpc.ID, refused error) *request {
	r := g.requests[id]
	delete(g.requests, id)
	if r != nil && r.watch != nil {
		r.watch.settle(refused)
	}
	return r
}

// settle records the server's answer; nil means that it agreed. Only the first answer counts. The
// caller holds the gate's lock.
func (w *watch) settle(refused error) {
	select {
	case <-w.done:
	default:
		w.refusal = refused
		close(w.done)
	}
}

// awaitAgreement returns the watch of a resource. It is called before the library subscribes.
func (g *gate) awaitAgreement(uri string) *watch {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := &watch{done: make(chan struct{})}
	g.watches[uri] = w
	return w
}

// wasSent reports whether the library sent a request for the watch. It ends awaitAgreement.
func (g *gate) wasSent(uri string, w *watch) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.watches, uri)
	return w.isSent
}

// expire ends the probe, so that the library goes on with initialize.
func (g *gate) expire(id jsonrpc.ID) {
	g.mu.Lock()
	r := g.requests[id]
	if r == nil {
		g.mu.Unlock()
		return
	}
	g.handshake.late, r.timer = true, nil
	expired := r.expired
	g.mu.Unlock()
	if expired != nil {
		expired()
	}
	g.inject(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no answer in time"}})
}

// idOf returns the id for a number below 2^53.
func idOf(n int64) jsonrpc.ID {
	id, _ := jsonrpc.MakeID(float64(n)) // never fails for a number
	return id
}

// onExpiry registers f to be called if the probe with that id ends without an answer.
func (g *gate) onExpiry(id jsonrpc.ID, f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.requests[id]; r != nil {
		r.expired = f
	}
}

// waits reports whether a request waits for its answer.
func (g *gate) waits(id jsonrpc.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.requests[id] != nil
}

// agreed returns the version that initialize agreed on, or an empty string before that.
func (g *gate) agreed() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.version
}

// limit returns the largest size of a message in bytes.
func (g *gate) limit() int64 { return cmp.Or(g.server.MessageLimit, DefaultMessageLimit) }

// leave ends a call once its caller has received all events. It returns the result, or nil if there is
// no result. cancelled is true if the caller no longer waits.
func (g *gate) leave(token string, cancelled bool) json.RawMessage {
	g.mu.Lock()
	c := g.calls[token]
	if c.result != nil && !c.asks && c.tool != "" {
		g.quietTools[c.tool] = true
	}
	if cancelled && c.result == nil && c.asks && g.callUnnamed {
		g.addGhost(token, c)
	} else {
		g.drop(token)
	}
	result, reporting := c.result, c.reporting
	g.mu.Unlock()
	if reporting != nil {
		<-reporting
	}
	return result
}

// hear queues an event for the caller of c. It reports false if the event is dropped. The caller of
// hear holds the lock.
func (g *gate) hear(c *call, e event) bool {
	if c == nil || len(c.events) == maxEvents {
		return false
	}
	c.events = append(c.events, e)
	if c.reporting == nil {
		c.reporting = make(chan struct{})
		go g.tell(c)
	}
	return true
}

// tell passes queued events to the caller of a call, one at a time, until the queue is empty.
func (g *gate) tell(c *call) {
	for {
		g.mu.Lock()
		if len(c.events) == 0 {
			close(c.reporting)
			c.reporting = nil
			g.mu.Unlock()
			return
		}
		e := c.events[0]
		c.events = c.events[1:]
		g.mu.Unlock()
		if e.then != nil {
			e.then()
		} else {
			c.tell(e)
		}
	}
}

// page returns the last answer to tools/list, and forgets it.
func (g *gate) page() json.RawMessage {
	g.mu.Lock()
	defer g.mu.Unlock()
	page := g.list
	g.list = nil
	return page
}

// state returns the handshake so far.
func (g *gate) state() handshake {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.handshake
}

// texts returns a reader for the texts of a stream; it passes messages for the library to out. stream
// is the request whose response contains the texts, or nil if they belong to the whole session.
func (g *gate) texts(limit int64, stream *jsonrpc.Request, out func(jsonrpc.Message)) *texts {
	return &texts{
		limit:   limit,
		message: func(text []byte) { g.take(text, stream, out) },
		broken: func(text []byte, id string) {
			if !g.lose(id, "its answer is not valid JSON: "+flaw(text), out) {
				g.note(text)
			}
		},
		long:  func(size int64, id string) { g.tooLong(size, id, out) },
		other: g.note,
	}
}

// flaw describes the syntax error in a text that is not valid JSON.
func flaw(text []byte) string {
	text = bytes.TrimSpace(text)
	var syntax *json.SyntaxError
	err := json.Unmarshal(text, new(json.RawMessage))
	if !errors.As(err, &syntax) || syntax.Offset >= int64(len(text)) {
		return "it broke off"
	}
	const quoted = 20 // bytes
	from := max(int(syntax.Offset)-1, 0)
	at := text[from:min(from+quoted, len(text))]
	return fmt.Sprintf("%q at byte %d", strings.ToValidUTF8(string(at), "\ufffd"), syntax.Offset)
}

// oversize turns a unit whose text was dropped into the error of its request.
func (g *gate) oversize(u *unit, out func(jsonrpc.Message)) {
	if errors.Is(u.fault, errTooLong) {
		g.tooLong(u.size, u.shape.id, out)
		return
	}
	why := u.fault.Error() + ": call it again later, ask for less, or raise upstreamMegabytes"
	if !g.lose(u.shape.id, why, out) {
		g.note([]byte(why))
	}
}

// tooLong answers the request of a message above the limit with an error. Without such a request, it
// notes the error.
func (g *gate) tooLong(size int64, id string, out func(jsonrpc.Message)) {
	why := fmt.Sprintf("it sent a message of %.1f MB, and the limit is %.1f MB: ask for less, or raise messageLimit in its settings",
		float64(size)/(1<<20), float64(g.limit())/(1<<20))
	if !g.lose(id, why, out) {
		g.note([]byte(why))
	}
}

// lose answers the request with that id, as written, with an error. It reports false if no request with
// that id waits.
func (g *gate) lose(id, why string, out func(jsonrpc.Message)) bool {
	n, ok := number(id)
	if !ok {
		return false
	}
	return g.fail(idOf(n), codeLost, why, 0, out)
}

// fail answers a waiting request with an error, and reports whether the request waited.
func (g *gate) fail(id jsonrpc.ID, code int64, why string, status int, out func(jsonrpc.Message)) bool {
	g.mu.Lock()
	waits := g.end(id, errors.New(why)) != nil
	g.mu.Unlock()
	if waits {
		out(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: code, Message: why, Data: json.RawMessage(strconv.Itoa(status))}})
	}
	return waits
}

// take reads valid JSON text: a message, or a list of messages.
func (g *gate) take(text []byte, stream *jsonrpc.Request, out func(jsonrpc.Message)) {
	if text[0] == '[' {
		ordered.Items(text, func(item []byte) {
			if isMessage(item) {
				g.take(item, stream, out)
			} else {
				g.note(item)
			}
		})
		return
	}
	var m struct{ id, method, params, result, err json.RawMessage }
	ordered.Scan(text, func(name []byte, start, end int) {
		value := json.RawMessage(text[start:end:end])
		switch string(name) {
		case "id":
			m.id = value
		case "method":
			m.method = value
		case "params":
			m.params = value
		case "result":
			m.result = value
		case "error":
			m.err = value
		}
	})
	method, isRequest := ordered.Text(m.method)
	switch {
	case isRequest && (m.id == nil || string(m.id) == "null"):
		g.onNotification(method, object(m.params), stream, out)
	case isRequest:
		g.onRequest(text, m.id, &jsonrpc.Request{Method: method, Params: object(m.params)}, stream, out)
	default:
		g.onReply(text, m.id, m.result, m.err, out)
	}
}

// object returns params on one line, or nil if they are not an object.
func object(params json.RawMessage) json.RawMessage {
	if len(params) == 0 || params[0] != '{' {
		return nil
	}
	return compact(params)
}

// onReply handles a reply of the server.
func (g *gate) onReply(text []byte, message, result, failed json.RawMessage, out func(jsonrpc.Message)) {
	n, usable := number(string(message))
	id := idOf(n)
	g.mu.Lock()
	r := g.requests[id]
	if !usable || r == nil {
		if usable {
			g.settleGhost(id)
		}
		g.mu.Unlock()
		g.note(text)
		return
	}
	wasError := failed != nil && string(failed) != "null"
	var refused error
	if wasError {
		refused = refusal(failed)
	}
	g.end(id, refused)
	late := g.onGreeting(r, wasError)
	g.mu.Unlock()
	switch {
	case late:
	case wasError:
		out(&jsonrpc.Response{ID: id, Error: refusal(failed)})
	case len(result) == 0 || result[0] != '{':
		why := "its answer has no result"
		if len(result) > 0 {
			why = "the result of its answer is no object"
		}
		out(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: codeLost, Message: why}})
	default:
		out(&jsonrpc.Response{ID: id, Result: g.keep(r, compact(result))})
	}
}

// onGreeting records a reply to one of the first requests. It reports whether the reply answers the probe
// too late. The caller holds the lock.
func (g *gate) onGreeting(r *request, wasError bool) (late bool) {
	switch r.method {
	case discover:
		g.handshake.discovered, g.handshake.refused = !wasError, wasError
		late = r.timer == nil
		if r.timer != nil {
			r.timer.Stop()
		}
	case initialize:
		g.handshake.answered = true
	}
	return late
}

// keep stores the result of a request, and returns the stand-in for the library.
func (g *gate) keep(r *request, result json.RawMessage) json.RawMessage {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch r.method {
	case callTool:
		if r.call != nil {
			r.call.result = result
		}
		return json.RawMessage(`{"content":[]}`)
	case "tools/list":
		g.list = result
		return namesOf(result)
	case discover, initialize:
		hello := greeting(result)
		if r.method == initialize {
			var agreed struct{ ProtocolVersion string }
			_ = json.Unmarshal(hello, &agreed)
			g.version, g.callUnnamed = agreed.ProtocolVersion, g.callUnnamed || g.server.Argv != nil || g.server.SSE
		}
		return hello
	}
	return json.RawMessage(`{}`)
}

// refusal reads the error of a server leniently.
func refusal(failed json.RawMessage) *jsonrpc.Error {
	var e struct{ Code, Message, Data json.RawMessage }
	if text, ok := ordered.Text(failed); ok {
		return &jsonrpc.Error{Message: text}
	}
	if json.Unmarshal(failed, &e) != nil {
		return &jsonrpc.Error{Message: shorten.To(string(failed), maxWhy)}
	}
	message, ok := ordered.Text(e.Message)
	if !ok {
		message = shorten.To(string(failed), maxWhy)
	}
	code, whole := number(string(e.Code))
	if named, isText := ordered.Text(e.Code); isText && !whole {
		message += " (" + named + ")"
	}
	if code == codeLost || code == codeGone { // these two codes are ours
		code = 0
	}
	return &jsonrpc.Error{Code: code, Message: message, Data: e.Data}
}

// onRequest handles a request of the server. Questions go to the clients of calls; the library answers
// other requests.
func (g *gate) onRequest(text []byte, message json.RawMessage, r, stream *jsonrpc.Request, out func(jsonrpc.Message)) {
	if id, ok := ordered.Text(message); ok {
		r.ID, _ = jsonrpc.MakeID(id)
	} else if n, ok := number(string(message)); ok {
		r.ID = idOf(n)
	} else {
		g.note(text) // without a usable id it cannot be answered
		return
	}
	q := &question{Request: r, attributed: make(chan error, 1), demand: make(chan struct{})}
	q.ctx, q.cancel = context.WithCancel(g.life)
	g.mu.Lock()
	_, twice := g.serverRequests[r.ID]
	full := twice || len(g.serverRequests) >= maxQuestions
	if !full {
		g.serverRequests[r.ID] = q.cancel
		if isQuestion(r.Method) {
			g.match(q, stream)
		}
	}
	g.mu.Unlock()
	switch {
	case full:
		q.cancel()
		g.note(text)
	case isQuestion(r.Method):
		go g.ask(q)
	default:
		out(r)
	}
}

// ofCalls lists the notifications about calls and questions; the library does not get them.
var ofCalls = []string{"notifications/progress", "notifications/message", "notifications/cancelled", completed}

// completed is the notification that the user has finished with a page.
const completed = "notifications/elicitation/complete"

// agreedToTell is the notification by which a server agrees to a subscription.
const agreedToTell = "notifications/subscriptions/acknowledged"

// onNotification passes notifications about a call to its caller, and other notifications to the library.
func (g *gate) onNotification(method string, params json.RawMessage, stream *jsonrpc.Request, out func(jsonrpc.Message)) {
	if !slices.Contains(ofCalls, method) {
		if method == agreedToTell {
			g.onAcknowledgement(params)
		}
		out(&jsonrpc.Request{Method: method, Params: params})
		return
	}
	if method == completed {
		if g.client.Completed != nil && params != nil {
			g.client.Completed(params)
		}
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch method {
	case "notifications/progress":
		var p struct {
			Progress
			ProgressToken any
		}
		if json.Unmarshal(params, &p) == nil {
			g.hear(g.calls[fmt.Sprint(p.ProgressToken)], event{progress: p.Progress})
		}
	case "notifications/message":
		if params != nil {
			g.hear(g.callOfLog(stream), event{log: params})
		}
	case "notifications/cancelled":
		var p struct{ RequestID any }
		_ = json.Unmarshal(params, &p)
		if id, err := jsonrpc.MakeID(p.RequestID); err == nil && g.serverRequests[id] != nil {
			g.serverRequests[id]()
		}
	}
}

// callOfLog returns the call that a log message in a stream is about, or nil if that is unknown. The
// caller holds the lock.
func (g *gate) callOfLog(stream *jsonrpc.Request) *call {
	if stream != nil {
		return g.callOf(stream)
	}
	if len(g.calls) == 1 {
		for _, c := range g.calls {
			return c
		}
	}
	return nil
}

// onAcknowledgement records that the server has agreed to a subscription.
func (g *gate) onAcknowledgement(params json.RawMessage) {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(params, &p)
	n, ok := number(string(p.Meta[mcp.MetaKeySubscriptionID]))
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.requests[idOf(n)]; ok && r != nil && r.watch != nil {
		r.watch.settle(nil)
	}
}
