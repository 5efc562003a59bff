package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"golang.org/x/net/netutil"

	"github.com/toolfold/toolfold"
)

const (
	headerTimeout = 10 * time.Second // to send the head of a request
	idleTimeout   = 2 * time.Minute  // between requests of a connection
	shutdownGrace = 5 * time.Second
	maxHead       = 64 << 10 // bytes of the head of a request
	maxBodies     = 64       // times the limit of one body: of all bodies together
)

// HTTP configures a server that listens.
type HTTP struct {
	Addr string // host:port; port 0 takes a free one

	// TokenFile holds the bearer tokens that /mcp and /metrics ask for, and the
	// rights of each, see [permission.ParseTokens]. It is read again when it
	// changes. Empty asks for none, and then only loopback addresses are allowed.
	TokenFile string

	// Hosts are the names, with or without a port, that clients may reach the
	// server by, such as those of a proxy in front of it. Its own address, and
	// localhost where that is one, are always allowed.
	Hosts []string

	// Ready is called with the address once the server listens; it may be nil.
	Ready func(net.Addr)
}

// HTTP serves streamable HTTP at /mcp, with /healthz and /metrics, until ctx
// is done.
func (s *Server) HTTP(ctx context.Context, h HTTP) error {
	if err := h.Check(s.surface.Families()); err != nil {
		return err
	}
	token, err := openToken(h.TokenFile, s.surface.Families, s.log)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", h.Addr)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", h.Addr, err)
	}
	streamable, handler := s.web(token, h.Hosts)
	fresh := &freshConns{}
	web := &http.Server{
		Handler: handler, ConnState: fresh.track, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHead,
	}
	if h.Ready != nil {
		h.Ready(listener.Addr())
	}
	stopped := make(chan error, 1)
	go func() { stopped <- web.Serve(netutil.LimitListener(listener, s.limits.Connections)) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	fresh.close()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	streamable.CloseSessions(ctx)
	err = web.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return web.Close() // streams that clients keep open
	}
	return err
}

// Handler returns the handler that HTTP serves, for a web server of the
// caller's own, which has to limit connections and idle time itself. An empty
// token asks for none; hosts are those of [HTTP].
func (s *Server) Handler(token string, hosts ...string) http.Handler {
	var given tokens
	if token != "" {
		given = fixedToken(sha256.Sum256([]byte(token)))
	}
	_, handler := s.web(given, hosts)
	return handler
}

// web returns mcp-go's transport, and the handler with everything in front of
// it.
func (s *Server) web(token tokens, hosts []string) (*server.StreamableHTTPServer, http.Handler) {
	w := &web{Server: s, sessions: newSessions(s.limits.Sessions, time.Now)}
	w.streamable = server.NewStreamableHTTPServer(s.mcp,
		server.WithSessionIdManager(w.sessions),
		server.WithStreamableHTTPLogger(slog.New(&discreetHandler{s.log.Handler()})),
	)
	w.sessions.end = w.endSession
	mux := http.NewServeMux()
	mux.Handle("/mcp", bearer(token, w))
	mux.Handle("GET /metrics", bearer(token, unlimited(s.metrics.handler())))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"status":"ok"}`)
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "toolfold serves MCP at /mcp: give that address to an MCP client. /healthz says whether it runs, /metrics has figures.")
	})
	return w.streamable, s.waits.limit(sameOrigin(hosts, mux))
}

// web serves /mcp: it stands in front of mcp-go's handler.
type web struct {
	*Server
	streamable *server.StreamableHTTPServer
	sessions   *sessions
	bodies     atomic.Int64 // bytes of the requests that are open
}

// ServeHTTP implements [http.Handler].
func (s *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	modern := mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))
	if r.Method == http.MethodPost {
		s.post(w, r, modern)
		return
	}
	ctx, x := r.Context(), &exchange{notices: &notices{}, caller: callerOf(r.Context())}
	if !modern && (r.Method == http.MethodGet || r.Method == http.MethodDelete) {
		one := s.sessions.enter(r.Header.Get(server.HeaderKeySessionID), callerOf(ctx))
		if one == nil {
			http.Error(w, noSession, http.StatusNotFound)
			return
		}
		defer s.sessions.leave(one)
		x.notices = one.notices
		if r.Method == http.MethodGet { // a stream ends with its session
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(one.ctx, cancel)()
		}
	}
	s.streamable.Handle(&response{ResponseWriter: w, exchange: x}, &server.HTTPRequest{Method: r.Method, URL: r.URL, Header: r.Header, Context: ctx})
}

const noSession = "there is no such session: begin one with initialize"

func (s *web) post(w http.ResponseWriter, r *http.Request, modern bool) {
	if r.ContentLength > s.limits.Body {
		s.refuseBody(w, r, &http.MaxBytesError{Limit: s.limits.Body})
		return
	}
	counted := &countedBody{from: http.MaxBytesReader(w, r.Body, s.limits.Body), all: &s.bodies, most: maxBodies * s.limits.Body}
	defer counted.release()
	body, err := io.ReadAll(counted)
	if err != nil {
		s.refuseBody(w, r, err)
		return
	}
	// From here on the connection is read to notice when the client leaves.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})

	m, isObject := readMessage(body)
	method, x := m.name(), &exchange{notices: &notices{}, caller: callerOf(r.Context())}
	id := r.Header.Get(server.HeaderKeySessionID)
	if id != "" && !modern && method != mcp.MethodInitialize {
		one := s.sessions.enter(id, x.caller)
		if one == nil {
			http.Error(w, noSession, http.StatusNotFound)
			return
		}
		defer s.sessions.leave(one)
		x.notices = one.notices
		if isObject {
			one.requests.cancel(m)
			defer one.requests.enter(m, x)()
		}
	}
	x.remote, _, _ = net.SplitHostPort(r.RemoteAddr)
	request := &server.HTTPRequest{Method: r.Method, URL: r.URL, Header: r.Header, Body: body, Context: x.in(r.Context())}
	out := &response{ResponseWriter: w, exchange: x}
	if !isObject {
		s.streamable.Handle(out, request)
		return
	}
	if method == mcp.MethodToolsList && !s.hasGrown(id) {
		key := listKey(m, r.Header, modern, x.caller)
		answer, tokens, generation := s.lists.answer(m, key)
		if answer != nil {
			s.metrics.listed(tokens, true)
			w.Header().Set("Content-Type", "application/json")
			w.Write(answer)
			return
		}
		out.keep = func(answer []byte) { s.lists.keep(m, key, answer, x.listTokens, generation) }
	}
	probed := &capture{header: http.Header{}, status: http.StatusOK}
	reply, next := s.front(m, x, func(method mcp.MCPMethod, message []byte) []byte {
		s.streamable.Handle(probed, probing(request, m.name(), method, message))
		return probed.body
	})
	if reply != nil {
		w.Header().Set("Content-Type", "application/json")
		if probed.status >= http.StatusBadRequest {
			w.Header().Set("Content-Type", probed.header.Get("Content-Type"))
			w.WriteHeader(probed.status)
		}
		w.Write(reply)
		return
	}
	request.Body = next
	s.streamable.Handle(out, request)
	if method == mcp.MethodInitialize {
		if id := out.Header().Get(server.HeaderKeySessionID); id != "" {
			s.sessions.own(id, x.caller)
			// It may have ended before mcp-go had registered it.
			if gone, err := s.sessions.Validate(id); gone || err != nil {
				s.endSession(id)
			}
		}
	}
}

// listKey returns the key of an answer to tools/list: the caller's rights, the
// headers and the message that it follows from. It returns nil when other headers
// might matter.
func listKey(m message, h http.Header, modern bool, from *caller) []byte {
	names := [...]string{"Content-Type", "Accept", "Last-Event-Id", mcp.HeaderProtocolVersion, mcp.HeaderMethod, mcp.HeaderName}
	known, values := 0, make([]string, 0, len(names)+2)
	rights := ""
	if from.rights != nil {
		rights = from.rights.Text
	}
	values = append(values, rights)
	for _, name := range names {
		values = append(values, strings.Join(h.Values(name), "\x01"))
		if len(h.Values(name)) > 0 && strings.HasPrefix(name, "Mcp-") {
			known++
		}
	}
	if h.Get(server.HeaderKeySessionID) != "" {
		known++
		if !modern {
			values = append(values, "in a session")
		}
	}
	for name := range h {
		if strings.HasPrefix(name, "Mcp-") {
			known--
		}
	}
	if known != 0 {
		return nil
	}
	return m.key(values...)
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

// countedBody is a body whose bytes count among those of all open requests.
type countedBody struct {
	from io.Reader
	all  *atomic.Int64
	most int64
	mine int64
}

// Read implements [io.Reader].
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.mine += int64(n)
	if b.all.Add(int64(n)) > b.most {
		return n, errBusy
	}
	return n, err
}

func (b *countedBody) release() { b.all.Add(-b.mine) }

// endSession has mcp-go forget a session.
func (s *web) endSession(id string) {
	s.streamable.Handle(&capture{header: http.Header{}}, &server.HTTPRequest{
		Method: http.MethodDelete, Header: http.Header{server.HeaderKeySessionID: {id}}, Context: context.Background(),
	})
}

// probing is a request with another message in it. The header that repeats the
// method follows, if it was right for the message that came.
func probing(r *server.HTTPRequest, was, method mcp.MCPMethod, message []byte) *server.HTTPRequest {
	probe := *r
	probe.Body, probe.Header = message, r.Header.Clone()
	if probe.Header.Get(mcp.HeaderMethod) == string(was) {
		probe.Header.Set(mcp.HeaderMethod, string(method))
		probe.Header.Del(mcp.HeaderName)
	}
	return &probe
}

// response carries what mcp-go answers. It writes each message whole.
type response struct {
	http.ResponseWriter
	exchange *exchange
	keep     func(answer []byte) // nil for what is not kept
}

// WriteHeader implements [http.ResponseWriter]. A request that the client has
// cancelled is acknowledged, not answered.
func (r *response) WriteHeader(status int) {
	if r.exchange.cancelled.Load() {
		r.Header().Del("Content-Type")
		status = http.StatusAccepted
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements [io.Writer].
func (r *response) Write(p []byte) (int, error) {
	if r.exchange.cancelled.Load() {
		return len(p), nil
	}
	if r.keep != nil {
		r.keep(p)
	}
	if _, err := r.ResponseWriter.Write(r.exchange.complete(plainError(unmask(p)))); err != nil {
		return 0, err
	}
	if bytes.HasPrefix(p, []byte("event:")) && bytes.Contains(p, []byte(`"method":"notifications/`)) {
		r.exchange.notices.written()
	}
	return len(p), nil
}

// Flush implements [server.HTTPResponseWriter].
func (r *response) Flush() { _ = http.NewResponseController(r.ResponseWriter).Flush() }

// CanStream implements [server.HTTPResponseWriter].
func (r *response) CanStream() bool { return true }

// capture keeps a response.
type capture struct {
	header http.Header
	status int
	body   []byte
}

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

// limit limits how long clients may take to send the rest of a request, and to
// read what is written.
func (p patience) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := &timedWriter{w, http.NewResponseController(w), p.write}
		if r.ContentLength != 0 {
			_ = t.controller.SetReadDeadline(time.Now().Add(p.body))
		}
		defer t.extend() // for what is written when the handler has returned
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

// freshConns are connections that have sent nothing yet. A shutdown would
// wait seconds for each of them.
type freshConns struct {
	mu   sync.Mutex
	open map[net.Conn]bool
}

func (f *freshConns) track(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		f.open = map[net.Conn]bool{}
	}
	if state == http.StateNew {
		f.open[c] = true
		return
	}
	delete(f.open, c)
}

func (f *freshConns) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.open {
		c.Close()
	}
}

// Check refuses an address that others can reach when there is no token, and a
// token file that cannot be used. Rules in it have to match actions of the
// families.
func (h HTTP) Check(families []*toolfold.Family) error {
	if _, _, err := net.SplitHostPort(h.Addr); err != nil {
		return fmt.Errorf("%q is not an address such as 127.0.0.1:8080", h.Addr)
	}
	if h.TokenFile == "" && !loopback(h.Addr) {
		return fmt.Errorf("%s is not a loopback address: others could call every tool; give a bearer token with --http-token-file", h.Addr)
	}
	_, err := openToken(h.TokenFile, func() []*toolfold.Family { return families }, slog.New(slog.DiscardHandler))
	return err
}

// loopback reports whether an address can be reached from this machine only.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}
