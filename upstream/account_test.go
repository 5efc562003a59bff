package upstream_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolfold/toolfold/upstream"
)

// issuer is an MCP server with tools behind an authorization server. Its tokens live for two seconds by
// its own clock, which every call of the server advances.
type issuer struct {
	*httptest.Server
	life time.Duration
	pace atomic.Int64 // nanoseconds of a call
	past atomic.Int64 // nanoseconds since the start

	mu       sync.Mutex
	codes    map[string]string // challenges, by code
	tokens   map[string]time.Time
	refresh  map[string]bool // valid refresh tokens, each for one use
	renewals int
	refused  atomic.Int64 // requests with an expired or missing token
	renewing atomic.Int64
	together atomic.Int64 // renewals that ran at the same time as another
}

func (i *issuer) now() time.Time { return time.Unix(1_800_000_000, i.past.Load()) }

func newIssuer(t *testing.T) *issuer {
	i := &issuer{life: 2 * time.Second, codes: map[string]string{}, tokens: map[string]time.Time{}, refresh: map[string]bool{}}
	tools := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server(3) }, nil)
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		i.past.Add(i.pace.Load())
		i.mu.Lock()
		good := i.now().Before(i.tokens[token])
		i.mu.Unlock()
		if !good {
			i.refused.Add(1)
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+i.URL+`/.well-known/oauth-protected-resource"`)
			http.Error(w, "log in", http.StatusUnauthorized)
			return
		}
		tools.ServeHTTP(w, r)
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"resource": i.URL + "/mcp", "authorization_servers": []string{i.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
			"registration_endpoint": i.URL + "/register", "code_challenge_methods_supported": []string{"S256"},
			"response_types_supported": []string{"code"}, "token_endpoint_auth_methods_supported": []string{"none"},
		})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var client map[string]any
		_ = json.NewDecoder(r.Body).Decode(&client)
		client["client_id"] = "toolfold-test"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(client)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		code := rand.Text()
		i.mu.Lock()
		i.codes[code] = q.Get("code_challenge")
		i.mu.Unlock()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		if r.Form.Get("grant_type") == "refresh_token" {
			if i.renewing.Add(1) > 1 {
				i.together.Add(1)
			}
			defer i.renewing.Add(-1)
			time.Sleep(20 * time.Millisecond) // time for another renewal to begin
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		old := r.Form.Get("refresh_token")
		if r.Form.Get("grant_type") == "refresh_token" && !i.refresh[old] || old == "" && i.codes[r.Form.Get("code")] == "" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			answer(w, map[string]any{"error": "invalid_grant"})
			return
		}
		if old != "" {
			i.renewals++
			delete(i.refresh, old)
		}
		token, next := rand.Text(), rand.Text()
		i.tokens[token], i.refresh[next] = i.now().Add(i.life), true
		answer(w, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": int(i.life.Seconds()), "refresh_token": next})
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

// revoke invalidates the existing tokens.
func (i *issuer) revoke(refreshToo bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.tokens)
	if refreshToo {
		clear(i.refresh)
	}
}

// browse follows the address like the browser of a user who agrees.
func browse(t *testing.T) func(string) {
	return func(address string) {
		go func() {
			response, err := http.Get(address)
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			if text, _ := io.ReadAll(response.Body); !strings.Contains(string(text), "You are logged in") {
				t.Errorf("the browser shows %d %s", response.StatusCode, text)
			}
		}()
	}
}

func loggedIn(t *testing.T, i *issuer) (upstream.Accounts, upstream.Server) {
	t.Helper()
	accounts := upstream.Accounts{Path: filepath.Join(t.TempDir(), "settings", "logins.json"), Now: i.now}
	s := upstream.Server{URL: i.URL + "/mcp", Account: accounts.Of("files", i.URL+"/mcp")}
	if err := s.Account.LogIn(t.Context(), upstream.Login{Server: s, Show: browse(t)}); err != nil {
		t.Fatal(err)
	}
	return accounts, s
}

// After a login, calls are answered. Only the user can read the login file, and a login holds for one
// server.
func TestLogIn(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	accounts, s := loggedIn(t, i)
	a, err := upstream.List(t.Context(), s, "1")
	checkAnswer(t, a, err, 3)
	info, err := os.Stat(accounts.Path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	other := newIssuer(t)
	s.URL, s.Account = other.URL+"/mcp", accounts.Of("files", other.URL+"/mcp")
	if _, err := upstream.List(t.Context(), s, "1"); err == nil || !strings.Contains(err.Error(), "toolfold upstream login files") {
		t.Errorf("another server is answered: %v", err)
	}
	if removed, err := accounts.Remove(t.Context(), "files"); !removed || err != nil {
		t.Errorf("%v, %v", removed, err)
	}
	if names, err := accounts.Names(); len(names) > 0 || err != nil {
		t.Errorf("%v, %v", names, err)
	}
}

// A user whose browser runs elsewhere pastes the address that it was led to.
func TestLogInElsewhere(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	accounts := upstream.Accounts{Path: filepath.Join(t.TempDir(), "logins.json")}
	s := upstream.Server{URL: i.URL + "/mcp", Account: accounts.Of("files", i.URL+"/mcp")}
	var shown string
	elsewhere := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	login := upstream.Login{Server: s, Show: func(address string) { shown = address }, Paste: func(context.Context) (string, error) {
		response, err := elsewhere.Get(shown)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		return response.Header.Get("Location") + "\n", nil
	}}
	if err := s.Account.LogIn(t.Context(), login); err != nil {
		t.Fatal(err)
	}
	a, err := upstream.List(t.Context(), s, "1")
	checkAnswer(t, a, err, 3)
	login.Paste = func(context.Context) (string, error) { return "https://example.com", nil }
	if err := s.Account.LogIn(t.Context(), login); err == nil || !strings.Contains(err.Error(), "is not the address") {
		t.Errorf("another address: %v", err)
	}
}

func TestLoginWithoutNeed(t *testing.T) {
	t.Parallel()
	open := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server(1) }, nil))
	defer open.Close()
	accounts := upstream.Accounts{Path: filepath.Join(t.TempDir(), "logins.json")}
	s := upstream.Server{URL: open.URL, Account: accounts.Of("open", open.URL)}
	if err := s.Account.LogIn(t.Context(), upstream.Login{Server: s, Show: browse(t)}); !errors.Is(err, upstream.ErrNoLogin) {
		t.Error(err)
	}
	a, err := upstream.List(t.Context(), s, "1")
	checkAnswer(t, a, err, 1)
}

// During a thousand calls, tokens expire every two seconds, and the server forgets one earlier. No
// caller gets a refusal that a renewal could have prevented. Callers, also in several processes, wait
// for one renewal, and every refresh token is used once.
func TestTokensAreRenewedOnce(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	accounts, s := loggedIn(t, i)
	second := s // like another process
	second.Account = accounts.Of("files", s.URL)
	var sessions []*upstream.Session
	for _, server := range []upstream.Server{s, second} {
		session, err := upstream.Connect(t.Context(), server, upstream.Client{Name: "t"})
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		sessions = append(sessions, session)
	}
	const callers, calls = 20, 50
	i.pace.Store(int64(20 * time.Millisecond)) // a token lives for about a hundred requests
	var wait sync.WaitGroup
	for n := range callers {
		wait.Go(func() {
			for done := range calls {
				call := upstream.Call{Tool: "get_000", Arguments: json.RawMessage(`{"b":"x"}`)}
				result, err := sessions[n%len(sessions)].Call(t.Context(), call)
				if err != nil || !bytes.Contains(result, []byte(`"content":[]`)) {
					t.Errorf("call %d of caller %d: %s, %v", done, n, result, err)
					return
				}
				if n == 0 && done == calls/2 {
					i.revoke(false)
				}
			}
		})
	}
	wait.Wait()
	i.mu.Lock()
	defer i.mu.Unlock()
	least := callers * calls / 100
	most := int(time.Duration(i.past.Load())/(i.life*3/4)) + 1 // one more for the forgotten token
	if i.together.Load() > 0 || i.renewals < least || i.renewals > most {
		t.Errorf("%d renewals, of which %d beside another; from %d to %d are due", i.renewals, i.together.Load(), least, most)
	}
}

// A token is renewed before it expires: a single caller is never refused.
func TestTokensAreRenewedInTime(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	_, s := loggedIn(t, i)
	session, err := upstream.Connect(t.Context(), s, upstream.Client{Name: "t"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	i.refused.Store(0) // the login takes one refused request
	i.pace.Store(int64(20 * time.Millisecond))
	for range 300 {
		if _, err := session.Call(t.Context(), upstream.Call{Tool: "get_000", Arguments: json.RawMessage(`{"b":"x"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.refused.Load() > 0 || i.renewals < 3 {
		t.Errorf("%d refusals, %d renewals", i.refused.Load(), i.renewals)
	}
}

// The error for an expired login names the command to run.
func TestExpiredLogin(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	_, s := loggedIn(t, i)
	i.revoke(true)
	_, err := upstream.List(t.Context(), s, "1")
	if err == nil || !strings.Contains(err.Error(), "toolfold upstream login files") {
		t.Errorf("%v", err)
	}
}
