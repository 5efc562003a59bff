package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"golang.org/x/net/netutil"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/permission"
)

const (
	headerTimeout = 10 * time.Second // to send the headers of a request
	idleTimeout   = 2 * time.Minute  // between two requests of a connection
	maxHead       = 64 << 10         // bytes of the headers of a request
	maxBodies     = 64               // all bodies together, in multiples of the limit of one
)

// HTTP configures serving over HTTP.
type HTTP struct {
	Addr string // host:port; port 0 takes a free one

	// TokenFile holds the bearer tokens for /mcp and /metrics, and the rights of each, see
	// [permission.ParseTokens]. It is read again when it changes. Other tokens are left to
	// [Options.Authorize]. Without both, no token is required, and Addr must be a loopback address.
	TokenFile string

	// Sets are the sets of upstreams that are served at /mcp/NAME, by name. Tokens can be limited
	// to some of them. There a caller has its rights at /mcp, limited to the set.
	Sets map[string]permission.Set

	// Hosts are the names, with or without a port, by which clients may reach the server, such as
	// the name of a proxy. The server's own address is always allowed, and so is localhost if that
	// address is a loopback address.
	Hosts []string

	// CertFile and KeyFile are a certificate and its key, in PEM, for TLS. They are read again when the certificate
	// changes; one that cannot be read is logged, and the one before stays. Empty = no TLS.
	CertFile, KeyFile string

	// Drain is the time that calls have to end when the server stops. Calls that run longer are
	// cancelled and logged. 0 = [DefaultDrain], negative = no time.
	Drain time.Duration

	// Site returns a web site for users, beside MCP. It is called once, and gets the requests for paths that
	// the server does not serve itself, and for / if they accept HTML. They have passed the checks of host
	// and origin, and no check of a token. The site passes on what is not for it to next, which answers as
	// if there were no site. Nil = browsers get a page with the address for clients.
	Site func(next http.Handler, login Login) http.Handler

	// Connect returns the handler of /connect and the paths below, where callers log in at other servers. It gets GET
	// requests that pages of other origins begin, without a check of a token. caller returns the [toolfold.Origin]'s
	// Token of the caller with a bearer token of TokenFile; empty for other tokens. Nil = there are no such paths.
	Connect func(caller func(token string) (string, error)) http.Handler

	// Prepare does what requests need, such as opening a store. /readyz answers 503 until it succeeds; it is called
	// again each second. Requests are served meanwhile. Nil = nothing.
	Prepare func(context.Context) error

	// Ready is called with the address once the server listens. May be nil.
	Ready func(net.Addr)
}

// HTTP serves streamable HTTP at /mcp, and sets at /mcp/NAME, with /healthz, /readyz and /metrics,
// until ctx is done. Then /readyz answers 503, streams and questions to clients end, and open calls
// may run for up to [HTTP.Drain]. New requests are served while such a call runs, and until hosts that asked
// /readyz repeatedly have got three such answers, or ten seconds have passed; then the listener closes.
func (s *Server) HTTP(ctx context.Context, h HTTP) error {
	if err := h.Check(s.ruleFamilies(), s.authorize != nil); err != nil {
		return err
	}
	token, err := openToken(h.TokenFile, s.ruleFamilies, h.Sets, s.log)
	if err != nil {
		return err
	}
	certificates, err := h.certificates(s.log)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", h.Addr)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", h.Addr, err)
	}
	limited := netutil.LimitListener(listener, s.limits.Connections)
	if certificates != nil {
		limited = tls.NewListener(limited, certificates)
	}
	serving, handler := s.web(token, h)
	if s.letters != nil {
		s.letters.drain.Store(serving.drain)
		defer s.letters.leave()
	}
	if h.Prepare != nil {
		serving.drain.prepare(ctx, h.Prepare, s.log)
	}
	fresh := &freshConns{}
	web := &http.Server{
		Handler: handler, ConnState: fresh.track, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHead,
	}
	if h.Ready != nil {
		h.Ready(listener.Addr())
	}
	stopped := make(chan error, 1)
	go func() { stopped <- web.Serve(limited) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	return serving.stop(web, fresh, max(cmp.Or(h.Drain, DefaultDrain), 0))
}

// Handler returns the handler that HTTP serves, for a web server of the caller, which has to limit
// connections and idle time. token lets its callers in beside those of [Options.Authorize]; without both, everybody is
// let in. hosts is [HTTP.Hosts].
func (s *Server) Handler(token string, hosts ...string) http.Handler {
	var fixed tokens
	if token != "" {
		fixed = fixedToken(sha256.Sum256([]byte(token)))
	}
	_, handler := s.web(fixed, HTTP{Hosts: hosts})
	return handler
}

// web returns the server for /mcp, and a handler for all paths with the checks of origin and number
// of requests. token is for the file of h.
func (s *Server) web(token tokens, h HTTP) (*web, http.Handler) {
	w := &web{Server: s, sessions: newSessions(s.limits.Sessions, time.Now), drain: newDrain()}
	w.streamable = server.NewStreamableHTTPServer(s.mcp,
		server.WithSessionIdManagerResolver(w.sessions),
		server.WithStreamableHTTPLogger(slog.New(&discreetHandler{s.log.Handler()})),
	)
	w.share = &share{web: w, store: s.shared}
	w.sessions.end = w.endSession
	w.sessions.onEnd = s.onSessionEnd
	mux := http.NewServeMux()
	know := s.gate(token)
	mux.Handle("/mcp", w.withPage(know, admit(know, s.protected, w)))
	mux.Handle("/mcp/{set}", admit(know, s.protected, inSet(h.Sets, w.withPage(know, w))))
	mux.Handle("GET /metrics", admit(know, s.protected, unlimited(s.metrics.handler())))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"status":"ok"}`)
	})
	mux.HandleFunc("GET /readyz", w.drain.ready)
	if s.protected != nil {
		mux.HandleFunc("GET "+metadataPath, s.protected.metadata())
		mux.HandleFunc("GET "+metadataPath+"/mcp", s.protected.metadata())
	}
	open := func(*http.Request) bool { return false }
	if h.Connect != nil {
		connect := h.Connect(func(bearer string) (string, error) { return idOf(token, bearer) })
		mux.Handle(connectPath, connect)
		mux.Handle(connectPath+"/", connect)
		open = connects
	}
	mux.Handle(root, w.withPage(know, http.HandlerFunc(func(to http.ResponseWriter, _ *http.Request) {
		to.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(to, "%s serves MCP at /mcp: give that address to an MCP client. "+
			"/healthz reports whether it runs, /readyz whether it takes requests, /metrics has figures.\n", w.name)
	})))
	var all http.Handler = mux
	if h.Site != nil {
		login := Login{Stopping: w.drain.begun.Done()}
		if token != nil {
			login.Admin = func(hash [sha256.Size]byte) (string, error) { return adminOf(token, hash) }
		}
		all = withSite(h.Site(mux, login), mux)
	}
	return w, s.waits.limit(sameOrigin(h.Hosts, open, all))
}

// web serves /mcp in front of mcp-go's handler.
type web struct {
	*Server
	streamable *server.StreamableHTTPServer
	sessions   *sessions
	share      *share
	drain      *drain
	bodies     atomic.Int64 // body bytes of the open requests
}

// ServeHTTP implements [http.Handler].
func (s *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	modern := mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))
	if r.Method == http.MethodPost {
		s.post(w, r, modern)
		return
	}
	ctx := r.Context()
	if !modern && (r.Method == http.MethodGet || r.Method == http.MethodDelete) {
		id := r.Header.Get(server.HeaderKeySessionID)
		session, err := s.share.enter(ctx, id, callerOf(ctx))
		if id == "" {
			http.Error(w, namesNoSession, http.StatusBadRequest)
			return
		}
		if err == nil && session != nil && r.Method == http.MethodDelete {
			defer s.sessions.leave(session)
			err = s.share.end(ctx, session)
		}
		switch {
		case err != nil:
			refuseSession(w)
			return
		case session == nil:
			http.Error(w, noSession, http.StatusNotFound)
			return
		case r.Method == http.MethodGet:
			defer s.sessions.leave(session)
		}
		if r.Method == http.MethodGet { // a stream ends with its session
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(session.ctx, cancel)()
			defer context.AfterFunc(s.drain.begun, cancel)()
			if session.shared {
				go s.share.follow(ctx, session, callerOf(ctx))
			}
		}
	}
	s.streamable.Handle(&response{ResponseWriter: w}, &server.HTTPRequest{Method: r.Method, URL: r.URL, Header: r.Header, Context: ctx})
}

const (
	noSession      = "there is no such session: begin one with initialize"
	namesNoSession = "the header " + server.HeaderKeySessionID + " is missing: begin a session with initialize"
)

// refuseSession answers a request whose session cannot be looked up now.
func refuseSession(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, "the session cannot be looked up now: send the request again in a moment", http.StatusServiceUnavailable)
}

func (s *web) post(w http.ResponseWriter, from *http.Request, modern bool) {
	body, err := s.body(w, from)
	if err != nil {
		s.refuseBody(w, from, err)
		return
	}
	defer s.bodies.Add(-int64(len(body)))
	r := &request{message: readMessage(body), caller: callerOf(from.Context()), log: s.log, header: from.Header, out: &postOutlet{w: w}}
	t := &postTransport{web: s, w: w, from: from, request: r}
	if r.message == nil { // not a JSON object
		if refused := refusedBatch(body); refused != nil {
			r.out.answer(refused, http.StatusBadRequest)
		} else {
			t.pass(from.Context(), body)
		}
		return
	}
	r.clientHost, _, _ = net.SplitHostPort(from.RemoteAddr)
	ctx, cancel := context.WithCancelCause(from.Context())
	defer cancel(nil)
	r.cancel = cancel
	if id := from.Header.Get(server.HeaderKeySessionID); id != "" && !modern && r.method != mcp.MethodInitialize {
		session, err := s.share.enter(ctx, id, r.caller)
		if err != nil {
			refuseSession(w)
			return
		}
		if session == nil {
			http.Error(w, noSession, http.StatusNotFound)
			return
		}
		defer s.sessions.leave(session)
		r.session, r.questions = session.client, &session.questions
		session.questions.markSeen()
		session.requests.cancel(r)
		defer session.requests.enter(r)()
		if session.questions.take(r.message) || s.share.pass(ctx, session, r.message) {
			w.WriteHeader(http.StatusAccepted)
			return
		}
	}
	if r.isStream() {
		defer context.AfterFunc(s.drain.begun, func() { cancel(callctx.ErrStopped) })()
	} else if r.id != nil {
		defer s.drain.enter(r)()
	}
	s.exchange(ctx, r, t)
}

// postTransport is the transport of a POST.
type postTransport struct {
	*web
	w       http.ResponseWriter
	from    *http.Request
	request *request
}

func (t *postTransport) check(ctx context.Context, message []byte) refusal {
	captured := &capture{refusal{header: http.Header{}, status: http.StatusOK}}
	t.streamable.Handle(captured, &server.HTTPRequest{
		Method: t.from.Method, URL: t.from.URL, Header: t.request.checkedHeader(), Body: message, Context: ctx,
	})
	return captured.refusal
}

func (t *postTransport) refuse(refused refusal) {
	t.w.Header().Set("Content-Type", refused.header.Get("Content-Type"))
	if t.sessionless() && ofSession(refused.status, refused.header) {
		refused.status, refused.body = http.StatusBadRequest, []byte(namesNoSession+"\n")
	}
	t.w.WriteHeader(refused.status)
	t.w.Write(refused.body)
}

// sessionless reports whether the request names no session. Clients tell a missing session from an
// ended one by the status (400 or 404); mcp-go answers 404 for both.
func (t *postTransport) sessionless() bool { return t.from.Header.Get(server.HeaderKeySessionID) == "" }

// ofSession reports whether an answer of mcp-go means that there is no such session. The other 404
// answers of mcp-go are JSON.
func ofSession(status int, header http.Header) bool {
	return status == http.StatusNotFound && strings.HasPrefix(header.Get("Content-Type"), "text/plain")
}

func (t *postTransport) pass(ctx context.Context, message []byte) {
	r, s := t.request, t.sessions
	r.onSession = func(session server.SessionWithClientInfo, message *mcp.InitializeRequest) {
		s.own(session, r.caller)
		t.share.begin(ctx, session.SessionID(), r.caller, message)
	}
	t.streamable.Handle(&response{ResponseWriter: t.w, sessionless: t.sessionless()}, &server.HTTPRequest{
		Method: t.from.Method, URL: t.from.URL, Header: t.from.Header, Body: message, Context: ctx,
	})
	if id := t.w.Header().Get(server.HeaderKeySessionID); id != "" {
		// The session may have ended before mcp-go registered it.
		if gone, err := s.Validate(id); gone || err != nil {
			t.endSession(id)
		}
	}
}

// body reads the body of a request. Its bytes count in s.bodies until the caller subtracts them.
func (s *web) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > s.limits.Body {
		return nil, &http.MaxBytesError{Limit: s.limits.Body}
	}
	counted := &countedBody{from: http.MaxBytesReader(w, r.Body, s.limits.Body), all: &s.bodies, limit: maxBodies * s.limits.Body}
	body := make([]byte, 0, min(max(r.ContentLength, 0), 16<<10)+1) // one byte more than a known length, to read the end
	for {
		n, err := counted.Read(body[len(body):cap(body)])
		if body = body[:len(body)+n]; err == io.EOF {
			break
		}
		if err != nil {
			s.bodies.Add(-counted.mine)
			return nil, err
		}
		if len(body) == cap(body) {
			body = slices.Grow(body, len(body))
		}
	}
	// From here on the connection is read only to notice that the client leaves.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body, nil
}

// refuseBody answers a request whose body could not be read.
func (s *web) refuseBody(w http.ResponseWriter, r *http.Request, err error) {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		refuse(w, r, fmt.Sprintf("the body is larger than %d bytes", large.Limit), http.StatusRequestEntityTooLarge)
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "5")
		refuse(w, r, err.Error(), http.StatusServiceUnavailable)
	case errors.Is(err, os.ErrDeadlineExceeded):
		refuse(w, r, fmt.Sprintf("the body did not come within %s", s.waits.body), http.StatusRequestTimeout)
	default:
		refuse(w, r, "the body could not be read", http.StatusBadRequest)
	}
}

var errBusy = errors.New("the requests that are open are too large together: send it again in a moment")

// countedBody adds the bytes that it reads to all, the bytes of all open requests. Beyond limit it
// fails.
type countedBody struct {
	from  io.Reader
	all   *atomic.Int64
	limit int64
	mine  int64
}

// Read implements [io.Reader].
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.mine += int64(n)
	if b.all.Add(int64(n)) > b.limit {
		return n, errBusy
	}
	return n, err
}

// endSession makes mcp-go forget a session.
func (s *web) endSession(id string) {
	s.streamable.Handle(&capture{refusal{header: http.Header{}}}, &server.HTTPRequest{
		Method: http.MethodDelete, Header: http.Header{server.HeaderKeySessionID: {id}}, Context: context.Background(),
	})
}

// checkedHeader returns the headers for mcp-go's check of a request. A header that repeats the
// method gets the method that checkMessage uses instead.
func (r *request) checkedHeader() http.Header {
	as := r.ownMethod.standIn
	if r.method == as || r.header.Get(mcp.HeaderMethod) != string(r.method) {
		return r.header
	}
	header := r.header.Clone()
	header.Set(mcp.HeaderMethod, string(as))
	if r.ownMethod.name == "" {
		header.Del(mcp.HeaderName)
	}
	return header
}

// postOutlet writes the answer to a POST: as JSON, or as the last event if events went out before
// it.
type postOutlet struct {
	w      http.ResponseWriter
	events bool
}

func (p *postOutlet) event(message []byte) {
	if !p.events {
		p.events = true
		p.w.Header().Set("Content-Type", eventStream)
		p.w.Header().Set("Cache-Control", "no-cache")
		p.w.Header().Set(unbuffered, "no")
		p.w.WriteHeader(http.StatusOK)
	}
	p.w.Write(append(append([]byte("event: message\ndata: "), message...), "\n\n"...))
	_ = http.NewResponseController(p.w).Flush()
}

func (p *postOutlet) answer(message []byte, status int) {
	switch {
	case message == nil && !p.events:
		p.w.WriteHeader(http.StatusAccepted)
	case message == nil:
	case p.events:
		p.event(message)
	default:
		p.w.Header()["Content-Type"] = jsonContent
		if len(message) > knownLength {
			p.w.Header()["Content-Length"] = []string{strconv.Itoa(len(message))}
		}
		p.w.WriteHeader(status)
		p.w.Write(message)
	}
}

var jsonContent = []string{"application/json"}

const (
	eventStream = "text/event-stream"
	// unbuffered is the header of streams. With the value no, nginx passes each event on at once; else it
	// holds events back until there are many.
	unbuffered = "X-Accel-Buffering"
)

// knownLength is the size in bytes up to which net/http sets Content-Length itself; it sends longer
// answers in chunks.
const knownLength = 2048

// response passes on mcp-go's answers. mcp-go writes each message with one Write.
type response struct {
	http.ResponseWriter
	sessionless bool // whether the request names no session
	refused     bool // mcp-go refused the request for that reason
}

// WriteHeader implements [http.ResponseWriter].
func (r *response) WriteHeader(status int) {
	if r.refused = r.sessionless && ofSession(status, r.Header()); r.refused {
		status = http.StatusBadRequest
	}
	if r.Header().Get("Content-Type") == eventStream {
		r.Header().Set(unbuffered, "no")
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements [io.Writer].
func (r *response) Write(p []byte) (int, error) {
	if r.refused {
		_, err := io.WriteString(r.ResponseWriter, namesNoSession+"\n")
		return len(p), err
	}
	if _, err := r.ResponseWriter.Write(inOurWords(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush implements [server.HTTPResponseWriter].
func (r *response) Flush() { _ = http.NewResponseController(r.ResponseWriter).Flush() }

// CanStream implements [server.HTTPResponseWriter].
func (r *response) CanStream() bool { return true }

// capture stores a response.
type capture struct{ refusal }

// Header implements [server.HTTPResponseWriter].
func (c *capture) Header() http.Header { return c.header }

// WriteHeader implements [server.HTTPResponseWriter].
func (c *capture) WriteHeader(status int) { c.status = status }

// Write implements [server.HTTPResponseWriter].
func (c *capture) Write(p []byte) (int, error) {
	c.body = append(c.body, p...)
	return len(p), nil
}

// Flush implements [server.HTTPResponseWriter].
func (c *capture) Flush() {}

// CanStream implements [server.HTTPResponseWriter].
func (c *capture) CanStream() bool { return false }

// limit limits how long clients may take to send the rest of a request, and to read the answer.
func (p patience) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := &timedWriter{w, http.NewResponseController(w), p.write}
		if r.ContentLength != 0 {
			_ = t.controller.SetReadDeadline(time.Now().Add(p.body))
		}
		defer t.extend() // for writes after the handler has returned
		next.ServeHTTP(t, r)
	})
}

type timedWriter struct {
	http.ResponseWriter
	controller *http.ResponseController
	write      time.Duration
}

func (t *timedWriter) extend() { _ = t.controller.SetWriteDeadline(time.Now().Add(t.write)) }

// Write implements [io.Writer].
func (t *timedWriter) Write(p []byte) (int, error) {
	t.extend()
	return t.ResponseWriter.Write(p)
}

// FlushError flushes for [http.ResponseController].
func (t *timedWriter) FlushError() error {
	t.extend()
	return t.controller.Flush()
}

// Unwrap returns the writer underneath for [http.ResponseController].
func (t *timedWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// Check rejects an address that other machines can reach if callers need neither a token nor a login, and a token file
// that is invalid. Rules in the file have to match actions of families. authorizes says whether the server has
// [Options.Authorize].
func (h HTTP) Check(families []*toolfold.Family, authorizes bool) error {
	if _, _, err := net.SplitHostPort(h.Addr); err != nil {
		return fmt.Errorf("%q is not an address such as 127.0.0.1:8080", h.Addr)
	}
	if h.TokenFile == "" && !authorizes && !loopback(h.Addr) {
		return fmt.Errorf("%s is not a loopback address: other users could call every tool; give a bearer token with --http-token-file", h.Addr)
	}
	_, err := openToken(h.TokenFile, func() []*toolfold.Family { return families }, h.Sets, slog.New(slog.DiscardHandler))
	return err
}

// loopback reports whether an address is reachable from this machine only.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}
