package upstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/toolfold/toolfold/internal/text/regex"
)

const (
	maxRedirects  = 5
	maxResumes    = 3           // attempts to resume a stream that ended without an answer
	resumePause   = time.Second // before an attempt, unless the server names another pause
	maxRetryAfter = time.Minute // longer pauses are not waited for
)

// remote is a server at a URL: the library's transport with the gate on both sides of it. The library
// gets responses as events, each of which is a message that passed the gate.
type remote struct {
	mcp.Transport
	gate   *gate
	memory *Memory
	server Server
	origin *url.URL
	late   chan jsonrpc.Message // for the library, outside of a response
	closed chan struct{}

	mu      sync.Mutex
	session string    // latest id from the server
	paused  time.Time // the server takes no requests before this time
}

// reach returns the transport to a URL.
func reach(s Server, g *gate, memory *Memory) (mcp.Transport, error) {
	at, err := url.Parse(s.URL)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, errors.New("the address is no http or https URL")
	}
	r := &remote{gate: g, memory: memory, server: s, origin: at, late: make(chan jsonrpc.Message), closed: make(chan struct{})}
	client := &http.Client{
		Transport: r,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			to := r.URL.Scheme + "://" + r.URL.Host
			switch {
			case !sameOrigin(r.URL, at):
				return fmt.Errorf("it redirects to another server, %s, to which no headers are sent: use that URL", to)
			case r.Method != via[0].Method:
				return fmt.Errorf("it redirects to the page %s%s: is there an MCP server at this URL?", to, r.URL.Path)
			case len(via) > maxRedirects:
				return errors.New("it redirects again and again")
			}
			return nil
		},
	}
	const twice = 2 // a message that passed the gate is within the limit
	most := int(twice * g.limit())
	if s.SSE {
		r.Transport = &mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: most}
	} else {
		r.Transport = &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true,
			MaxEventSize: most}
	}
	return r, nil
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// Connect implements [mcp.Transport]. The stream of the older transport lives as long as the context
// that opens it, which is therefore the context of the session.
func (r *remote) Connect(ctx context.Context) (mcp.Connection, error) {
	life, end := context.WithCancel(r.gate.life)
	opened := context.AfterFunc(ctx, end)
	connection, err := r.Transport.Connect(life)
	opened()
	if err != nil {
		end()
		return nil, cmp.Or(ctx.Err(), err)
	}
	c := &exchange{Connection: connection, remote: r, incoming: make(chan incomingMessage)}
	r.gate.answer, r.gate.inject = c.Write, r.pass
	go c.read()
	return c, nil
}

// pass passes a message to the library outside of a response.
func (r *remote) pass(m jsonrpc.Message) {
	select {
	case r.late <- m:
	case <-r.closed:
	}
}

// exchange is the connection to a server at a URL.
type exchange struct {
	mcp.Connection
	remote   *remote
	incoming chan incomingMessage
	once     sync.Once
}

type incomingMessage struct {
	message jsonrpc.Message
	err     error
}

// read passes on messages of the transport until it ends.
func (c *exchange) read() {
	for {
		m, err := c.Connection.Read(c.remote.gate.life)
		select {
		case c.incoming <- incomingMessage{m, err}:
		case <-c.remote.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// Read implements [mcp.Connection].
func (c *exchange) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case in := <-c.incoming:
		return in.message, in.err
	case m := <-c.remote.late:
		return m, nil
	case <-c.remote.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// sendingKey is the context key of the request that an HTTP request carries.
type sendingKey struct{}

// Write implements [mcp.Connection].
func (c *exchange) Write(ctx context.Context, message jsonrpc.Message) error {
	message = c.remote.gate.onSend(message)
	request, ok := message.(*jsonrpc.Request)
	if ok && request.IsCall() {
		ctx = context.WithValue(ctx, sendingKey{}, request)
		if request.Method == discover { // an expired probe ends its POST
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			c.remote.gate.onExpiry(request.ID, cancel)
		}
	}
	err := c.Connection.Write(ctx, message)
	if ok && err == nil && request.Method == "notifications/initialized" && c.remote.listens() {
		go c.remote.listen()
	}
	return err
}

// listens reports whether to open a stream for notifications or questions. The older transport sends
// both in the stream of its answers.
func (r *remote) listens() bool {
	return !r.server.SSE && (r.gate.client.Changed != nil || len(r.gate.client.Asks) > 0)
}

// Close implements [mcp.Connection].
func (c *exchange) Close() error {
	err := c.Connection.Close()
	c.once.Do(func() { close(c.remote.closed) })
	return err
}

// RoundTrip implements [http.RoundTripper].
func (r *remote) RoundTrip(request *http.Request) (*http.Response, error) {
	call, _ := request.Context().Value(sendingKey{}).(*jsonrpc.Request)
	response, err := r.send(request)
	if err != nil {
		if call != nil && r.server.SSE {
			return r.refuse(request, call, r.server.reason(err, "").Error()), nil
		}
		return nil, err
	}
	redirects := response.StatusCode >= 300 && response.StatusCode < 400 && response.Header.Get("Location") != ""
	switch {
	case redirects || request.Method == http.MethodDelete:
		return response, nil
	case request.Method == http.MethodGet: // the stream of the older transport
		if well(response) && isStream(response) {
			response.Body = r.events(request, response, nil)
		}
		return response, nil
	case call == nil: // the next call sees whether the session has ended
		drop(response)
		return r.respond(request, http.StatusAccepted, http.NoBody), nil
	case r.server.SSE && well(response):
		drop(response)
		return response, nil
	}
	return r.settle(request, response, call), nil
}

// drop closes an unread body. If the body is known to be short it is drained, to reuse the connection.
func drop(response *http.Response) {
	const short = 64 << 10
	if response.ContentLength >= 0 && response.ContentLength <= short {
		_, _ = io.Copy(io.Discard, response.Body)
	}
	_ = response.Body.Close()
}

func well(r *http.Response) bool { return r.StatusCode >= 200 && r.StatusCode < 300 }

func isStream(r *http.Response) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream")
}

// send makes a request with the headers of the server, the protocol version and the session id. The
// version is the agreed one, which the transport behind a gate cannot know. If the server asks for a
// pause, the request is repeated after it.
func (r *remote) send(request *http.Request) (*http.Response, error) {
	if !sameOrigin(request.URL, r.origin) {
		return nil, fmt.Errorf("its endpoint for messages is at another server, %s://%s, to which no headers are sent",
			request.URL.Scheme, request.URL.Host)
	}
	request = request.Clone(request.Context())
	for name, values := range r.server.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	if name := request.Header.Get(nameHeader); name != "" {
		request.Header.Set(nameHeader, headerText(name))
	}
	const version = "Mcp-Protocol-Version"
	if agreed := r.gate.agreed(); agreed != "" && request.Header.Get(version) == "" {
		request.Header.Set(version, agreed)
	}
	send := r.deliver
	if r.server.Account != nil {
		send = func(request *http.Request) (*http.Response, error) {
			return r.server.Account.authorize(request, r.deliver)
		}
	}
	r.mu.Lock()
	session, pause := r.session, time.Until(r.paused)
	r.mu.Unlock()
	if session != "" && request.Header.Get(sessionID) != "" {
		request.Header.Set(sessionID, session)
	}
	if pause > 0 && !r.wait(request.Context(), pause) {
		return nil, fmt.Errorf("it asked for a pause, which ends in %s: call it again then", pause.Round(time.Second))
	}
	response, err := send(request)
	if err != nil {
		return nil, err
	}
	if pause, ok := retryAfter(response); ok && request.Method != http.MethodGet { // a refused stream delays no calls
		r.mu.Lock()
		r.paused = time.Now().Add(pause)
		r.mu.Unlock()
		if request.GetBody != nil && r.wait(request.Context(), pause) {
			_ = response.Body.Close()
			if request.Body, err = request.GetBody(); err != nil {
				return nil, err
			}
			if response, err = send(request); err != nil {
				return nil, err
			}
		}
	}
	if given := response.Header.Get(sessionID); given != "" {
		r.mu.Lock()
		r.session = given
		r.mu.Unlock()
		if sent := request.Header.Get(sessionID); sent != "" {
			response.Header.Del(sessionID) // the library ends a session whose id changes
		}
	}
	return response, nil
}

// nameHeader names the tool, prompt or resource of a request of 2026-07-28.
const nameHeader = "Mcp-Name"

// headerText encodes a text for a header as the protocol revision requires. It uses base64 for text
// that is not plain ASCII, begins or ends with space, or looks like base64 itself.
func headerText(text string) string {
	const begin, end = "=?base64?", "?="
	odd := strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) || strings.TrimSpace(text) != text ||
		strings.HasPrefix(text, begin) && strings.HasSuffix(text, end)
	if !odd {
		return text
	}
	return begin + base64.StdEncoding.EncodeToString([]byte(text)) + end
}

// unsentPause is the pause before a request that did not reach the server is sent again.
const unsentPause = 200 * time.Millisecond

// deliver sends a request. It tries once more if the first attempt ended before the headers were sent.
func (r *remote) deliver(request *http.Request) (*http.Response, error) {
	for first := true; ; first = false {
		var reached atomic.Bool
		traced := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{WroteHeaders: func() { reached.Store(true) }})
		response, err := http.DefaultTransport.RoundTrip(request.WithContext(traced))
		if err == nil {
			response.Request = request // its context belongs to the caller alone
			return response, nil
		}
		again := first && !reached.Load() && request.Method == http.MethodPost && (request.Body == nil || request.GetBody != nil)
		if !again || !r.wait(request.Context(), unsentPause) {
			return nil, err
		}
		if request.GetBody != nil {
			if request.Body, err = request.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

const sessionID = "Mcp-Session-Id"

// wait waits for a pause of the server. It returns false at once if the pause is longer than
// maxRetryAfter, the context or the caller's patience, and false later if ctx is cancelled meanwhile.
func (r *remote) wait(ctx context.Context, pause time.Duration) bool {
	limit, impatient := ctx.Value(patienceKey{}).(time.Duration)
	if end, bounded := ctx.Deadline(); pause > maxRetryAfter || bounded && time.Until(end) <= pause || impatient && limit <= pause {
		return false
	}
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}

// retryAfter returns the pause that a server asks for; ok is false if it does not ask for one.
func retryAfter(response *http.Response) (time.Duration, bool) {
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	named := response.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(named, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(named)
	return max(0, time.Until(at)), err == nil
}

// respond returns a response to use in place of the server's.
func (r *remote) respond(request *http.Request, status int, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, ContentLength: -1, Request: request,
	}
}

// sink returns the function that takes the messages of a response for the library. It writes them as
// events to out, or, for the older transport, passes them outside of the response.
func (r *remote) sink(out *bytes.Buffer) func(jsonrpc.Message) {
	if r.server.SSE {
		return r.pass
	}
	return func(m jsonrpc.Message) { writeEvent(out, m) }
}

// refuse answers a request with an error.
func (r *remote) refuse(request *http.Request, call *jsonrpc.Request, why string) *http.Response {
	var out bytes.Buffer
	r.gate.fail(call.ID, codeLost, why, 0, r.sink(&out))
	return r.respond(request, http.StatusOK, io.NopCloser(&out))
}

// settle returns the response to a request for the library: events of messages that passed the gate. A
// response without an answer becomes the error of the request. Otherwise the library would end the
// session, and with it the calls of other callers.
func (r *remote) settle(request *http.Request, response *http.Response, call *jsonrpc.Request) *http.Response {
	var out bytes.Buffer
	settled := r.respond(request, http.StatusOK, io.NopCloser(&out))
	if given := response.Header.Get(sessionID); given != "" {
		settled.Header.Set(sessionID, given)
	}
	if well(response) && isStream(response) {
		settled.Body = r.events(request, response, call)
		return settled
	}
	defer response.Body.Close()
	if why := r.lacksScope(response); why != "" {
		r.gate.fail(call.ID, codeLost, why, response.StatusCode, r.sink(&out))
		return settled
	}
	u := &unit{memory: r.memory, limit: r.gate.limit()}
	_, broke := io.Copy(u, response.Body)
	sink := r.sink(&out)
	pass := func(m jsonrpc.Message) { sink(judge(m, call, request, response.StatusCode)) }
	if u.fault != nil {
		u.shape.id = fmt.Sprint(call.ID.Raw()) // no other request is answered here
		r.gate.oversize(u, pass)
	}
	body := u.take()
	r.gate.texts(r.gate.limit(), call, pass).whole(body)
	var unread struct {
		JSONRPC string
		Error   json.RawMessage
	}
	_ = json.Unmarshal(body, &unread) // a server that refuses a request unread gives no id in its error
	switch {
	case !r.gate.waits(call.ID):
	case refusesSession(request, response.StatusCode, string(body)):
		r.gate.fail(call.ID, codeGone, "it does not know the session", response.StatusCode, sink)
	case broke != nil:
		r.gate.fail(call.ID, codeLost, "its answer broke off", response.StatusCode, sink)
	case unread.JSONRPC != "" && unread.Error != nil:
		refused := refusal(unread.Error)
		r.gate.fail(call.ID, refused.Code, refused.Message, response.StatusCode, sink)
	default:
		r.gate.fail(call.ID, codeLost, notMessage(response, body), response.StatusCode, sink)
	}
	return settled
}

// judge looks at the reply to a request. If the server reports that it does not know the session, the
// reply gets the code codeGone, because no tool gave that answer.
func judge(m jsonrpc.Message, call *jsonrpc.Request, request *http.Request, status int) jsonrpc.Message {
	reply, ok := m.(*jsonrpc.Response)
	var refused *jsonrpc.Error
	if !ok || call == nil || reply.ID != call.ID || !errors.As(reply.Error, &refused) {
		return m
	}
	switch refused.Code {
	case 0, jsonrpc.CodeInvalidRequest, -32000, -32001, -32002: // the codes with which servers refuse sessions; tools have other codes
		if refusesSession(request, status, refused.Message) {
			reply.Error = &jsonrpc.Error{Code: codeGone, Message: refused.Message}
		}
	}
	return m
}

// Patterns of the texts with which servers refuse an unknown session.
const (
	aSession  = `\b(mcp[ -])?session([ _-]?ids?)?\b`
	isUnknown = `\b(no|not|invalid|unknown|missing|expired|terminated|closed|stale|required|gone|does ?n[o']t exist|longer)\b`
)

var lostSession = regex.Lazy(`(?i)` + isUnknown + `[^.;]{0,40}` + aSession + `|` + aSession + `[^.;]{0,60}` + isUnknown +
	`|\bnot (yet |been )*initiali[sz]ed\b|\buninitiali[sz]ed\b`)

// refusesSession reports whether the server refused a request because it does not know the session.
func refusesSession(request *http.Request, status int, text string) bool {
	if request.Header.Get(sessionID) == "" {
		return false
	}
	const longest = 500 // characters of such a text
	switch {
	case status == http.StatusNotFound, status == http.StatusGone:
		return true
	case status >= 500 && status != http.StatusServiceUnavailable: // the server may have run the call before it failed
		return false
	}
	return len(text) <= longest && lostSession().MatchString(text)
}

// lacksScope explains how to get the missing scope, if the response refuses a login for lack of one. It
// is empty for other responses.
func (r *remote) lacksScope(response *http.Response) string {
	if response.StatusCode != http.StatusForbidden {
		return ""
	}
	challenges, _ := oauthex.ParseWWWAuthenticate(response.Header.Values("WWW-Authenticate"))
	for _, c := range challenges {
		switch scope := c.Params["scope"]; {
		case c.Params["error"] != "insufficient_scope":
		case scope == "":
			return "it answered 403 Forbidden: the login lacks a scope, and the answer does not name it"
		case r.server.Account == nil || r.server.Header.Get("Authorization") != "":
			return fmt.Sprintf("it answered 403 Forbidden: its header Authorization needs the scope %q", scope)
		default:
			return "it answered 403 Forbidden: the login lacks a scope: " + r.server.Account.scoped(scope)
		}
	}
	return ""
}

// notMessage explains a response whose body is not a message of the protocol, and what the user can do.
func notMessage(response *http.Response, body []byte) string {
	answered := "it answered " + cmp.Or(response.Status, fmt.Sprint(response.StatusCode))
	body = clean(body)
	switch kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";"); {
	case response.StatusCode == http.StatusUnauthorized && response.Request.Header.Get("Authorization") != "":
		return answered + ": it does not take the header Authorization that it is sent"
	case response.StatusCode == http.StatusUnauthorized:
		return answered + ": it wants a header Authorization, or toolfold upstream add and then login"
	case response.StatusCode == http.StatusNotFound, response.StatusCode == http.StatusMethodNotAllowed:
		return answered + ": is there an MCP server at this URL?"
	case !well(response):
		if pause, ok := retryAfter(response); ok {
			return fmt.Sprintf("%s: it asks for a pause of %s (Retry-After), call it again then", answered, pause.Round(time.Second))
		}
		return answered
	case kind != "application/json" && kind != "":
		return "it answered with " + kind + ": is there an MCP server at this URL?"
	case len(body) == 0 || body[0] != '{' || body[len(body)-1] != '}':
		return "its answer broke off, or is no JSON"
	}
	return "its answer has no result"
}
