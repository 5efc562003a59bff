package serve

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
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
	web := &http.Server{Handler: s.handler(streamable, h.Token), ReadHeaderTimeout: 10 * time.Second}
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
	mux.Handle("/mcp", bearer(token, http.MaxBytesHandler(s.inFrontOf(streamable), maxBody)))
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

// loopback tells whether an address can be reached from this machine only.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
