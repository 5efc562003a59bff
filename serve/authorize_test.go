package serve_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/serve"
)

type whoIn struct{}

type whoOut struct {
	Caller string `json:"caller" doc:"Its name."`
}

// who answers with its caller.
type who struct{}

func (who) Ask(ctx context.Context, _ whoIn) (whoOut, error) {
	return whoOut{toolfold.OriginOf(ctx).Caller}, nil
}

func newAuthorized(t *testing.T, log *slog.Logger, authorize func(*http.Request) (serve.Identity, error)) *serve.Server {
	t.Helper()
	action := func(name string, effect toolfold.Effect) *toolfold.Action {
		return &toolfold.Action{Name: name, Summary: "Answer.", Effect: effect, Example: `{}`, Run: toolfold.Method(who.Ask)}
	}
	family, err := toolfold.Mount(toolfold.Family{Name: "who", Summary: "Callers", Actions: []*toolfold.Action{
		action("ask", toolfold.Reads), action("set", toolfold.Sets),
	}}, func(context.Context) (who, error) { return who{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{Families: []*toolfold.Family{family}, Authorize: authorize, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// An author's own check decides who calls, what the caller may do, and how others are refused.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer // written during a request only
	s := newAuthorized(t, slog.New(slog.NewTextHandler(&logged, nil)), func(r *http.Request) (serve.Identity, error) {
		switch user := r.Header.Get("X-User"); user {
		case "":
			return serve.Identity{}, toolfold.Errorf("NO_LOGIN", "log in first")
		case "eve":
			return serve.Identity{}, toolfold.Errorf(toolfold.PermissionDenied, "eve may not call")
		case "down":
			return serve.Identity{}, errors.New("the directory does not answer")
		case "nobody":
			return serve.Identity{Name: "nobody"}, nil
		case "reader":
			return serve.Identity{Issuer: "test", Subject: "17", Name: "Reader", Rights: permission.Rules{ReadOnly: true}.Rights()}, nil
		default:
			return serve.Identity{Issuer: "test", Subject: user}, nil
		}
	})
	h := mcptest.ConnectTo(t, s.Handler(""))
	call := func(user, name string, headers ...string) (answer string, status int) {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},%s}}`, name, mcptest.ModernMeta)
		return h.Post(body, append(headers, "X-User", user, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call",
			"Mcp-Name", name)...)
	}
	for _, test := range []struct {
		user, name string
		status     int
		want       string
	}{
		{"ada", "who.ask", http.StatusOK, `\"caller\":\"ada\"`},
		{"ada", "who.set", http.StatusOK, `\"caller\":\"ada\"`},
		{"reader", "who.ask", http.StatusOK, `\"caller\":\"Reader\"`},
		{"reader", "who.set", http.StatusOK, "PERMISSION_DENIED"},
		{"", "who.ask", http.StatusUnauthorized, "log in first"},
		{"eve", "who.ask", http.StatusForbidden, "eve may not call"},
		{"down", "who.ask", http.StatusServiceUnavailable, "its log has the reason"},
		{"nobody", "who.ask", http.StatusServiceUnavailable, "its log has the reason"},
	} {
		if answer, status := call(test.user, test.name); status != test.status || !strings.Contains(answer, test.want) {
			t.Errorf("%s of %q is answered %d %s, want %d %s", test.name, test.user, status, answer, test.status, test.want)
		}
	}
	if log := logged.String(); !strings.Contains(log, "the directory does not answer") || !strings.Contains(log, "without a subject") {
		t.Errorf("the log has %s", log)
	}
	for user, want := range map[string]int{"": http.StatusUnauthorized, "reader": http.StatusForbidden, "ada": http.StatusOK} {
		response := h.Send(http.MethodGet, "/metrics", "X-User", user)
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("/metrics for %q is answered %d", user, response.StatusCode)
		}
	}
}

// A session belongs to its caller.
func TestSessionsOfIdentities(t *testing.T) {
	t.Parallel()
	s := newAuthorized(t, quiet, func(r *http.Request) (serve.Identity, error) {
		issuer, subject, _ := strings.Cut(r.Header.Get("X-User"), " ")
		return serve.Identity{Issuer: issuer, Subject: subject, Name: "same"}, nil
	})
	h := mcptest.ConnectTo(t, s.Handler(""))
	h.Post(mcptest.Initialize, "X-User", "a ada")
	for user, want := range map[string]int{"a ada": http.StatusOK, "b ada": http.StatusNotFound, "a eve": http.StatusNotFound} {
		if answer, status := h.Post(ping, "X-User", user); status != want {
			t.Errorf("%s gets %d %s", user, status, answer)
		}
	}
}

// A stream ends when its caller is refused, and not because the caller cannot be known for a moment.
func TestStreamsEndWithTheirCaller(t *testing.T) {
	t.Parallel()
	var answer atomic.Value
	answer.Store("")
	asked := make(chan struct{}, 100)
	s := newAuthorized(t, quiet, func(r *http.Request) (serve.Identity, error) {
		asked <- struct{}{}
		switch answer.Load() {
		case "down":
			return serve.Identity{}, errors.New("down")
		case "refused":
			return serve.Identity{}, toolfold.Errorf("EXPIRED", "the login has expired")
		}
		return serve.Identity{Subject: "ada"}, nil
	})
	h := mcptest.ConnectTo(t, s.Handler(""))
	h.Post(mcptest.Initialize)
	stream := h.Send(http.MethodGet, "/mcp", "Mcp-Session-Id", h.Session)
	if stream.StatusCode != http.StatusOK {
		t.Fatalf("a stream is answered %d", stream.StatusCode)
	}
	answer.Store("down")
	for range len(asked) + 2 {
		<-asked
	}
	answer.Store("refused")
	if _, err := io.ReadAll(stream.Body); err != nil {
		t.Error(err)
	}
}

// A server that authorizes its callers needs no token file for other addresses. Beside one, it authorizes those whose
// token is not in the file.
func TestAuthorizeWithTokens(t *testing.T) {
	t.Parallel()
	s := newAuthorized(t, quiet, func(r *http.Request) (serve.Identity, error) {
		if r.Header.Get("Authorization") != "Bearer of-ada" {
			return serve.Identity{}, toolfold.Errorf("NO_LOGIN", "log in first")
		}
		return serve.Identity{Subject: "ada"}, nil
	})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.HTTP(ctx, serve.HTTP{Addr: "0.0.0.0:0"}); err != nil {
		t.Error(err)
	}
	h := mcptest.ConnectTo(t, s.Handler("token-of-a-machine"))
	for token, want := range map[string]string{"of-ada": `caller\":\"ada`, "token-of-a-machine": `caller\":\"\"`, "of-eve": "log in first"} {
		answer, _ := h.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who_ask","arguments":{},%s}}`,
			mcptest.ModernMeta), "Authorization", "Bearer "+token, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call",
			"Mcp-Name", "who_ask")
		if !strings.Contains(answer, want) {
			t.Errorf("%s: %s, want %s", token, answer, want)
		}
	}
}

// A protected resource describes itself, and every refusal says where.
func TestProtectedResource(t *testing.T) {
	t.Parallel()
	options := func(p *serve.ProtectedResource) serve.Options {
		return serve.Options{Name: "t", Version: "1", Protected: p, Authorize: func(r *http.Request) (serve.Identity, error) {
			switch r.Header.Get("Authorization") {
			case "Bearer narrow":
				return serve.Identity{}, toolfold.Errorf(serve.InsufficientScope, "the token lacks a scope")
			case "Bearer stranger":
				return serve.Identity{}, toolfold.Errorf(toolfold.PermissionDenied, "no group of yours")
			}
			return serve.Identity{}, toolfold.Errorf("UNAUTHORIZED", "log in")
		}}
	}
	s, err := serve.New(options(&serve.ProtectedResource{
		URL: "https://tools.example.com/mcp", Issuers: []string{"https://login.example.com"}, Scopes: []string{"a", "b"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	h := mcptest.ConnectTo(t, s.Handler(""))
	const where = `resource_metadata="https://tools.example.com/.well-known/oauth-protected-resource/mcp", scope="a b"`
	for _, test := range []struct {
		token, challenge string
		status           int
	}{
		{"", "Bearer " + where, http.StatusUnauthorized},
		{"old", "Bearer " + where + `, error="invalid_token"`, http.StatusUnauthorized},
		{"narrow", "Bearer " + where + `, error="insufficient_scope"`, http.StatusForbidden},
		{"stranger", "", http.StatusForbidden},
	} {
		var headers []string
		if test.token != "" {
			headers = []string{"Authorization", "Bearer " + test.token}
		}
		for _, path := range []string{"/mcp", "/metrics"} {
			answer := h.Send(http.MethodGet, path, headers...)
			if got := answer.Header.Get("Www-Authenticate"); answer.StatusCode != test.status || got != test.challenge {
				t.Errorf("%s %s: %d %s, want %d %s", test.token, path, answer.StatusCode, got, test.status, test.challenge)
			}
		}
	}
	const want = `{"resource":"https://tools.example.com/mcp","authorization_servers":["https://login.example.com"],` +
		`"scopes_supported":["a","b"],"bearer_methods_supported":["header"]}`
	for _, path := range []string{"", "/mcp"} {
		answer := h.Send(http.MethodGet, "/.well-known/oauth-protected-resource"+path)
		if text, err := io.ReadAll(answer.Body); err != nil || string(text) != want {
			t.Errorf("%s: %v %s", path, err, text)
		}
	}
	for _, bad := range []serve.ProtectedResource{
		{URL: "https://tools.example.com/mcp"}, {URL: "https://tools.example.com", Issuers: []string{"x"}},
		{URL: "tools.example.com/mcp", Issuers: []string{"x"}}, {URL: "ftp://x/mcp", Issuers: []string{"x"}},
	} {
		if _, err := serve.New(options(&bad)); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// A check that panics refuses its request, and ends neither the process nor an open stream.
func TestAuthorizePanics(t *testing.T) {
	t.Parallel()
	var breaks atomic.Bool
	asked := make(chan struct{}, 100)
	s := newAuthorized(t, quiet, func(*http.Request) (serve.Identity, error) {
		if breaks.Load() {
			asked <- struct{}{}
			panic("the check is broken")
		}
		return serve.Identity{Subject: "ada"}, nil
	})
	server := httptest.NewServer(s.Handler(""))
	t.Cleanup(server.Close)
	send := func(method, session, body string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Session-Id", session)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	session := send(http.MethodPost, "", mcptest.Initialize).Header.Get("Mcp-Session-Id")
	if stream := send(http.MethodGet, session, ""); stream.StatusCode != http.StatusOK {
		t.Fatal(stream.Status)
	}
	breaks.Store(true)
	<-asked // for the stream
	<-asked // again: the stream goes on
	if refused := send(http.MethodPost, "", mcptest.Initialize); refused.StatusCode != http.StatusServiceUnavailable {
		t.Error(refused.Status)
	}
}

// A call has the access token of its request, and no other.
func TestBearerOfCall(t *testing.T) {
	t.Parallel()
	ends := time.Now().Add(time.Minute)
	action := &toolfold.Action{Name: "token", Summary: "Answer.", Effect: toolfold.Reads, Example: `{}`, Run: toolfold.Method(bearers.Token)}
	family, err := toolfold.Mount(toolfold.Family{Name: "who", Summary: "Callers", Actions: []*toolfold.Action{action}},
		func(context.Context) (bearers, error) { return bearers{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{Families: []*toolfold.Family{family}, Authorize: func(*http.Request) (serve.Identity, error) {
		return serve.Identity{Subject: "ada", Expires: ends}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	h := mcptest.ConnectTo(t, s.Handler(""))
	for header, want := range map[string]string{
		"Bearer one": "one " + ends.Format(time.RFC3339Nano), "bearer  two": "two " + ends.Format(time.RFC3339Nano), "Basic three": " ",
	} {
		answer, _ := h.Post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who.token","arguments":{},`+mcptest.ModernMeta+`}}`,
			"Authorization", header, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "who.token")
		if !strings.Contains(answer, `\"caller\":\"`+want) {
			t.Errorf("%s: %s", header, answer)
		}
	}
}

// bearers answers with the access token of its caller.
type bearers struct{}

func (bearers) Token(ctx context.Context, _ whoIn) (whoOut, error) {
	b := callctx.Of[callctx.Bearer](ctx)
	if b.Reveal() == "" {
		return whoOut{" "}, nil
	}
	return whoOut{b.Reveal() + " " + b.Expires().Format(time.RFC3339Nano)}, nil
}
