package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold/upstream"
)

// callers are logins of callers at an issuer, by its clock.
func callers(i *issuer) upstream.CallerLogins {
	return upstream.CallerLogins{Vault: &upstream.MemoryVault{}, Now: i.now}
}

// agree follows an address of an authorization server like the browser of a user who agrees, and returns the
// query with which it is led back.
func agree(t *testing.T, address string) url.Values {
	t.Helper()
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := browser.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	back, err := response.Location()
	if err != nil {
		t.Fatal(err)
	}
	return back.Query()
}

// logInCaller logs a caller in at a server.
func logInCaller(t *testing.T, l upstream.CallerLogins, s upstream.Server, caller string) {
	t.Helper()
	secret, err := l.Ticket(t.Context(), caller, s.Name)
	if err != nil {
		t.Fatal(err)
	}
	browser := upstream.Browser{Secret: "cookie", State: "state", Back: "https://tools.example/connect/callback/files"}
	address, err := l.Begin(t.Context(), s, secret, browser)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.End(t.Context(), s, caller, browser.Secret, agree(t, address)); err != nil {
		t.Fatal(err)
	}
	if done, err := l.Redeemed(t.Context(), s.Name, secret); !done || err != nil {
		t.Errorf("the ticket: %v, %v", done, err)
	}
}

// The login of a caller is renewed like that of a user, is for this caller alone, and is forgotten when it is over.
func TestCallerLogsIn(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	l := callers(i)
	s := upstream.Server{Name: "files", URL: i.URL + "/mcp"}
	ada, bob := s, s
	ada.Account, bob.Account = l.Of("ada", s.Name, s.URL), l.Of("bob", s.Name, s.URL)
	if _, err := upstream.List(t.Context(), ada, "1"); !errors.Is(err, upstream.ErrLogin) || i.refused.Load() > 0 {
		t.Errorf("without a login, after %d requests: %v", i.refused.Load(), err)
	}
	logInCaller(t, l, s, "ada")
	a, err := upstream.List(t.Context(), ada, "1")
	checkAnswer(t, a, err, 3)
	session, err := upstream.Connect(t.Context(), ada, upstream.Client{Name: "t"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	call := func() error {
		_, err := session.Call(t.Context(), upstream.Call{Tool: "get_000", Arguments: json.RawMessage(`{"b":"x"}`)})
		return err
	}
	i.revoke(false)
	if err := call(); err != nil || i.renewals != 1 {
		t.Errorf("after %d renewals: %v", i.renewals, err)
	}
	if _, err := upstream.List(t.Context(), bob, "1"); !errors.Is(err, upstream.ErrLogin) {
		t.Errorf("another caller: %v", err)
	}
	i.revoke(true)
	if err := call(); !errors.Is(err, upstream.ErrLogin) {
		t.Errorf("with a revoked login: %v", err)
	}
	if raw, err := l.Vault.Read(t.Context(), "ada", s.Name); raw != nil || err != nil {
		t.Errorf("the revoked login stays: %s, %v", raw, err)
	}
	logInCaller(t, l, s, "ada")
	if err := call(); err != nil {
		t.Errorf("after another login: %v", err)
	}
	ada.Header = http.Header{"Authorization": {"Bearer shared"}}
	if _, err := upstream.List(t.Context(), ada, "1"); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("with a header for everybody: %v", err)
	}
}

// A login uses the client that the authorization server knows.
func TestKnownClient(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	l := callers(i)
	s := upstream.Server{Name: "files", URL: i.URL + "/mcp"}
	ticket, err := l.Ticket(t.Context(), "ada", s.Name)
	if err != nil {
		t.Fatal(err)
	}
	lost := errors.New("no keyring")
	b := upstream.Browser{Secret: "cookie", State: "state", Back: "https://tools.example/connect/callback/files"}
	b.Client = upstream.KnownClient{ID: "known", Secret: func(context.Context) (string, error) { return "", lost }}
	if _, err := l.Begin(t.Context(), s, ticket, b); !errors.Is(err, lost) {
		t.Errorf("without its secret: %v", err)
	}
	b.Client.Secret = func(context.Context) (string, error) { return "password", nil }
	address, err := l.Begin(t.Context(), s, ticket, b)
	if err != nil || !strings.Contains(address, "client_id=known") {
		t.Fatalf("%s, %v", address, err)
	}
	if err := l.End(t.Context(), s, "ada", "cookie", agree(t, address)); err != nil {
		t.Error(err)
	}
	raw, err := l.Vault.Read(t.Context(), "ada", s.Name)
	if err != nil || !strings.Contains(string(raw), `"id":"known","secret":"password"`) {
		t.Errorf("%s, %v", raw, err)
	}
}

// A login ends only with its own state, once, in time, for its caller and in its browser.
func TestCallerLoginAttacks(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	s := upstream.Server{Name: "files", URL: i.URL + "/mcp"}
	const back = "https://tools.example/connect/callback/files"
	type logins struct {
		upstream.CallerLogins
		query  url.Values // of the login of ada
		ticket string
		later  time.Duration
	}
	tests := map[string]func(l *logins) error{
		"another state": func(l *logins) error {
			l.query.Set("state", "of eve")
			return l.End(t.Context(), s, "ada", "cookie", l.query)
		},
		"no state": func(l *logins) error {
			l.query.Del("state")
			return l.End(t.Context(), s, "ada", "cookie", l.query)
		},
		"a state twice": func(l *logins) error {
			if err := l.End(t.Context(), s, "ada", "cookie", l.query); err != nil {
				t.Error(err)
			}
			return l.End(t.Context(), s, "ada", "cookie", l.query)
		},
		"a state after a refusal": func(l *logins) error {
			refused := url.Values{"state": l.query["state"], "error": {"access_denied"}}
			if err := l.End(t.Context(), s, "ada", "cookie", refused); err == nil || errors.Is(err, upstream.ErrTicket) {
				t.Error(err)
			}
			return l.End(t.Context(), s, "ada", "cookie", l.query)
		},
		"too late": func(l *logins) error {
			l.later = 11 * time.Minute
			return l.End(t.Context(), s, "ada", "cookie", l.query)
		},
		"another browser": func(l *logins) error { return l.End(t.Context(), s, "ada", "another", l.query) },
		"another caller":  func(l *logins) error { return l.End(t.Context(), s, "eve", "cookie", l.query) },
		"another server": func(l *logins) error {
			return l.End(t.Context(), upstream.Server{Name: "mail", URL: s.URL}, "ada", "cookie", l.query)
		},
		"another address of the server": func(l *logins) error {
			return l.End(t.Context(), upstream.Server{Name: s.Name, URL: i.URL + "/other"}, "ada", "cookie", l.query)
		},
		"a later login of the ticket": func(l *logins) error {
			if _, err := l.Begin(t.Context(), s, l.ticket, upstream.Browser{Secret: "new", State: "new", Back: back}); err != nil {
				t.Error(err)
			}
			return l.End(t.Context(), s, "ada", "cookie", l.query)
		},
		"a ticket that was used": func(l *logins) error {
			if err := l.End(t.Context(), s, "ada", "cookie", l.query); err != nil {
				t.Error(err)
			}
			_, err := l.Caller(t.Context(), s.Name, l.ticket)
			return err
		},
		"an old ticket": func(l *logins) error {
			l.later = 11 * time.Minute
			_, err := l.Begin(t.Context(), s, l.ticket, upstream.Browser{Secret: "new", State: "new", Back: back})
			return err
		},
		"a made-up ticket": func(l *logins) error {
			_, err := l.Caller(t.Context(), s.Name, "ada.guess")
			return err
		},
		"the ticket of another server": func(l *logins) error {
			_, err := l.Caller(t.Context(), "mail", l.ticket)
			return err
		},
		"another issuer": func(l *logins) error {
			l.query.Set("iss", "https://evil.example")
			if err := l.End(t.Context(), s, "ada", "cookie", l.query); err == nil || !strings.Contains(err.Error(), "is of the issuer") {
				t.Error(err)
			}
			return l.End(t.Context(), s, "ada", "cookie", l.query)
		},
	}
	for name, attack := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &logins{}
			l.CallerLogins = upstream.CallerLogins{Vault: &upstream.MemoryVault{}, Now: func() time.Time { return i.now().Add(l.later) }}
			var err error
			if l.ticket, err = l.Ticket(t.Context(), "ada", s.Name); err != nil {
				t.Fatal(err)
			}
			if again, err := l.Ticket(t.Context(), "ada", s.Name); again != l.ticket || err != nil {
				t.Errorf("another link for the same login: %q, %v", again, err)
			}
			address, err := l.Begin(t.Context(), s, l.ticket, upstream.Browser{Secret: "cookie", State: "state", Back: back})
			if err != nil {
				t.Fatal(err)
			}
			l.query = agree(t, address)
			if err := attack(l); !errors.Is(err, upstream.ErrTicket) {
				t.Error(err)
			}
		})
	}
}

// changes counts the updates of a vault.
type changes struct {
	upstream.Vault
	count int
}

// Update implements [upstream.Vault].
func (c *changes) Update(ctx context.Context, caller, at string, edit func([]byte) ([]byte, error)) error {
	c.count++
	return c.Vault.Update(ctx, caller, at, edit)
}

// Strangers, who can send any cookie and state, do not hold the entry of a caller.
func TestStrangerHoldsNothing(t *testing.T) {
	t.Parallel()
	vault := &changes{Vault: &upstream.MemoryVault{}}
	l := upstream.CallerLogins{Vault: vault}
	s := upstream.Server{Name: "files", URL: "https://files.example/mcp"}
	if err := l.End(t.Context(), s, "ada", "cookie", url.Values{"state": {"guess"}}); !errors.Is(err, upstream.ErrTicket) || vault.count > 0 {
		t.Errorf("%d updates: %v", vault.count, err)
	}
}

// What a server answers in place of a registration is not in the error, which is on the page and in the log.
func TestRegistrationErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status       int
		answer, want string
	}{
		{http.StatusForbidden, `{"of the network": "secret"}`, "the authorization server answered 403 Forbidden: register toolfold there"},
		{http.StatusCreated, `{"client_secret": "secret", "client_id": 7}`, "failed to decode successful registration response"},
		{http.StatusBadRequest, `{"error": "invalid_redirect_uri", "error_description": "not this host"}`, "not this host"},
		{http.StatusBadRequest, `secret`, "failed to decode registration error response"},
	} {
		mux := http.NewServeMux()
		web := httptest.NewServer(mux)
		defer web.Close()
		mux.HandleFunc("/mcp", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
		mux.HandleFunc("/register", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.answer)
		})
		l := upstream.CallerLogins{Vault: &upstream.MemoryVault{}}
		ticket, err := l.Ticket(t.Context(), "ada", "files")
		if err != nil {
			t.Fatal(err)
		}
		s := upstream.Server{Name: "files", URL: web.URL + "/mcp"}
		_, err = l.Begin(t.Context(), s, ticket, upstream.Browser{Back: "https://tools.example"})
		if text := fmt.Sprint(err); !strings.Contains(text, c.want) || strings.Contains(text, `secret"`) || strings.Contains(text, "(secret") {
			t.Errorf("%d %s: %s", c.status, c.answer, text)
		}
	}
}
