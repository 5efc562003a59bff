package serve

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

const (
	maxBody       = 64 << 20 // bytes of one request
	sessionIdle   = 24 * time.Hour
	shutdownGrace = 5 * time.Second
)

// HTTP is how a server listens.
type HTTP struct {
	Addr string // host:port; port 0 takes a free one

	// Token is the bearer token that /mcp and /metrics ask for. Empty asks
	// for none, and then only loopback addresses are allowed.
	Token string

	// Ready is told the address once the server listens; nil tells nobody.
	Ready func(net.Addr)
}

// HTTP serves streamable HTTP at /mcp, with /healthz and /metrics, until ctx
// is done.
func (s *Server) HTTP(ctx context.Context, h HTTP) error {
	if h.Token == "" && !loopback(h.Addr) {
		return fmt.Errorf("%s is not a loopback address: others could call every tool; give a bearer token with --http-token-file", h.Addr)
	}
	listener, err := net.Listen("tcp", h.Addr)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", h.Addr, err)
	}
	streamable := s.streamable()
	fresh := &freshConns{}
	web := &http.Server{
		Handler: s.handler(streamable, h.Token), ReadHeaderTimeout: 10 * time.Second, ConnState: fresh.track,
	}
	if h.Ready != nil {
		h.Ready(listener.Addr())
	}
	stopped := make(chan error, 1)
	go func() { stopped <- web.Serve(listener) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	fresh.close()
	return shutDown(web, streamable)
}

// Handler is what HTTP serves, for a web server of the caller's own.
func (s *Server) Handler(token string) http.Handler {
	return s.handler(s.streamable(), token)
}

// streamable is mcp-go's transport. Sessions are kept, so that a deleted one
// is gone: by default mcp-go takes any session id for good.
func (s *Server) streamable() *server.StreamableHTTPServer {
	return server.NewStreamableHTTPServer(s.mcp,
		server.WithStateful(true),
		server.WithSessionIdleTTL(sessionIdle),
		server.WithStreamableHTTPLogger(s.log),
	)
}

func shutDown(web *http.Server, streamable *server.StreamableHTTPServer) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	streamable.CloseSessions(ctx)
	err := web.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return web.Close() // streams that clients keep open
	}
	return err
}

func (s *Server) handler(streamable http.Handler, token string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", sameOrigin(bearer(token, http.MaxBytesHandler(s.inFrontOf(streamable), maxBody))))
	mux.Handle("GET /metrics", bearer(token, s.metrics.handler()))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"status":"ok"}`)
	})
	return mux
}

// bearer lets only requests with the token through. An empty token asks for
// none.
func bearer(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(given))
		if !ok || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a bearer token is required", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// sameOrigin refuses what a web page from elsewhere sends: a browser says
// where the page is from, other clients say nothing.
func sameOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		from, err := url.Parse(origin)
		if origin != "" && (err != nil || from.Host != r.Host && !loopbackHost(from.Hostname())) {
			http.Error(w, "requests from pages of another origin are refused", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

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

// loopback tells whether an address can be reached from this machine only.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	return loopbackHost(host)
}

func loopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
