//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/internal/test/testwait"
)

// team is a number of replicas on one PostgreSQL store, behind a balancer that sends each request to any of them.
// Each replica has disks of its own: its home and its workspace.
type team struct {
	t        *testing.T
	balancer *httptest.Server
	upstream *teamServer
	tokens   map[string]string // by the name of the caller
	serve    []string          // the command of a replica
	alone    bool              // each request has a connection of its own to its replica

	mu       sync.Mutex
	random   *rand.Rand
	replicas []*replica
	last     *replica // to which the last request went
}

// replica is a server of a team.
type replica struct {
	process
	sandbox
	at   string // its URL; empty while it gets no requests
	turn int    // counts starts and kills
}

// newTeam starts replicas. Callers are ada, and bob who may only read.
func newTeam(t *testing.T, seed uint64, replicas int, alone bool) *team {
	t.Helper()
	team := &team{t: t, upstream: newTeamServer(t), tokens: map[string]string{}, random: rand.New(rand.NewPCG(seed, uint64(replicas))),
		alone: alone}
	shared := newSandbox(t)
	shared.store = storagetest.Postgres(t)
	tokens := filepath.Join(shared.home, "tokens")
	for name, flags := range map[string][]string{"ada": nil, "bob": {"--read-only"}} {
		out, err := shared.command(t, append([]string{"token", "add", name, "--http-token-file", tokens}, flags...)...).Output()
		if err != nil {
			t.Fatalf("%s %v", out, err)
		}
		team.tokens[name] = strings.TrimSpace(string(out))
	}
	team.balancer = httptest.NewServer(team.proxy())
	t.Cleanup(team.balancer.Close)
	team.serve = []string{"serve", "--http=127.0.0.1:0", "--workspace=.", "--workspace-name=team", "--http-token-file", tokens,
		"--upstream-wait-ms=60000", "--allowed-hosts", strings.TrimPrefix(team.balancer.URL, "http://")}
	for range replicas {
		r := &replica{sandbox: newSandbox(t)}
		r.store = shared.store
		r.write(t, filepath.Join(r.home, "config", "toolfold", "config.json"), fmt.Sprintf(`{"upstreams":{"up":{"url":%q}}}`, team.upstream.URL))
		team.replicas = append(team.replicas, r)
		team.start(r)
		testwait.Until(t, "a replica serves", func() bool { return team.address(r) != "" })
	}
	return team
}

// start starts a replica, which gets requests once it is ready.
func (s *team) start(r *replica) {
	p := start(s.t, r.command(s.t, s.serve...), nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	r.process, r.at = p, ""
	r.turn++
	go s.admit(r, p, r.turn)
}

// admit waits until a replica is ready, and sends it requests unless it was killed meanwhile.
func (s *team) admit(r *replica, p process, turn int) {
	for ; !p.ends(0); time.Sleep(10 * time.Millisecond) {
		_, at, serves := strings.Cut(p.stderr.String(), "serving MCP at ")
		at, _, _ = strings.Cut(at, "/mcp\n")
		if !serves || status(at) != http.StatusOK {
			continue
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.turn == turn {
			r.at = at
		}
		return
	}
}

// status returns the status of /readyz; 0 if nothing listens.
func status(base string) int {
	response, err := http.Get(base + "/readyz")
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

// address returns the URL of a replica; empty while it gets no requests.
func (s *team) address(r *replica) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.at
}

// serving returns the replicas that get requests.
func (s *team) serving() (list []*replica) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.replicas {
		if r.at != "" {
			list = append(list, r)
		}
	}
	return list
}

// pick returns the URL of the replica for a request.
func (s *team) pick() (*url.URL, error) {
	list := s.serving()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = list[s.random.IntN(len(list))]
	return url.Parse(s.last.at)
}

// proxy returns the balancer. A client whose replica ends meanwhile loses its connection.
func (s *team) proxy() http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(callctx.Of[*url.URL](r.In.Context()))
			r.Out.Host = r.In.Host
		},
		FlushInterval: -1,
		Transport:     &http.Transport{DisableKeepAlives: s.alone},
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The proxy would break an answer that comes before it has seen the end of the body.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		to, err := s.pick()
		if err != nil {
			panic(err)
		}
		proxy.ServeHTTP(w, r.WithContext(callctx.With(r.Context(), to)))
	})
}

// kill kills a replica and starts it again. The others get the requests until it serves.
func (s *team) kill(r *replica) {
	s.t.Helper()
	testwait.Until(s.t, "another replica serves", func() bool { return len(s.serving()) > 1 })
	s.mu.Lock()
	r.at = ""
	r.turn++
	s.mu.Unlock()
	if err := r.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	<-r.ended
	s.start(r)
}

// follow asks a replica whether it is ready until it has ended. It gets no requests once it is not ready.
func (s *team) follow(r *replica) {
	base := s.address(r)
	for ; ; time.Sleep(50 * time.Millisecond) {
		switch status(base) {
		case 0:
			return
		case http.StatusServiceUnavailable:
			s.mu.Lock()
			r.at = ""
			s.mu.Unlock()
		}
	}
}

// killOther kills a replica to which the last request did not go.
func (s *team) killOther() {
	s.t.Helper()
	s.mu.Lock()
	at := slices.Index(s.replicas, s.last)
	s.mu.Unlock()
	s.kill(s.replicas[(at+1)%len(s.replicas)])
}

// killLast kills the replica to which the last request went.
func (s *team) killLast() {
	s.t.Helper()
	s.mu.Lock()
	r := s.last
	s.mu.Unlock()
	s.kill(r)
}
