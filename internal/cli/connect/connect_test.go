package connect_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/connect"
	"github.com/toolfold/toolfold/internal/cli/issuer"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/upstream"
)

// realm is an issuer of users, and the authorization server of an upstream too. It takes the header X-User for the
// user of a browser.
type realm struct {
	*httptest.Server
	metadata oidctest.Server
	key      *rsa.PrivateKey

	mu     sync.Mutex
	codes  map[string]url.Values // of the request to authorize, by code
	users  map[string]string     // by code
	claims map[string]any        // in place of the right ones of an id token
}

const secret = "s3cret"

func newRealm(t *testing.T) *realm {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &realm{key: key, codes: map[string]url.Values{}, users: map[string]string{}}
	i.metadata.PublicKeys = []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "one", Algorithm: "RS256"}}
	answer := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"issuer": i.URL, "authorization_endpoint": i.URL + "/auth", "token_endpoint": i.URL + "/token",
			"jwks_uri": i.URL + "/keys", "registration_endpoint": i.URL + "/register", "response_types_supported": []string{"code"},
			"code_challenge_methods_supported":      []string{"S256"},
			"id_token_signing_alg_values_supported": []string{"RS256"}})
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"resource": i.URL + "/mcp", "authorization_servers": []string{i.URL}})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		client := map[string]any{}
		_ = json.NewDecoder(r.Body).Decode(&client)
		client["client_id"] = "registered"
		answer(w, http.StatusCreated, client)
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+i.URL+`/.well-known/oauth-protected-resource"`)
		http.Error(w, "log in", http.StatusUnauthorized)
	})
	mux.HandleFunc("/auth", func(w http.ResponseWriter, r *http.Request) {
		code := rand.Text()
		i.mu.Lock()
		i.codes[code], i.users[code] = r.URL.Query(), r.Header.Get("X-User")
		i.mu.Unlock()
		back := url.Values{"code": {code}, "state": {r.URL.Query().Get("state")}}
		http.Redirect(w, r, r.URL.Query().Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		_ = r.ParseForm()
		code := r.Form.Get("code")
		began := i.codes[code]
		delete(i.codes, code)
		hash := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		id, password, basic := r.BasicAuth()
		if !basic {
			id, password = r.Form.Get("client_id"), r.Form.Get("client_secret")
		}
		switch {
		case began == nil, began.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(hash[:]),
			began.Get("redirect_uri") != r.Form.Get("redirect_uri"), began.Get("client_id") != id,
			id == "gateway" && password != secret:
			answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
			return
		}
		claims := map[string]any{"iss": i.URL, "aud": id, "sub": i.users[code], "nonce": began.Get("nonce"),
			"exp": time.Now().Add(time.Hour).Unix()}
		for name, value := range i.claims {
			claims[name] = value
		}
		text, _ := json.Marshal(claims)
		answer(w, http.StatusOK, map[string]any{"access_token": "of " + i.users[code], "token_type": "Bearer", "expires_in": 3600,
			"id_token": oidctest.SignIDToken(i.key, "one", "RS256", string(text))})
	})
	mux.HandleFunc("/keys", i.metadata.ServeHTTP)
	i.Server = httptest.NewServer(mux)
	i.metadata.SetIssuer(i.URL)
	t.Cleanup(i.Close)
	return i
}

// gate is a server with the pages, whose callers are users of a realm.
type gate struct {
	*httptest.Server
	realm  *realm
	logins upstream.CallerLogins
	done   chan string // callers who have logged in
}

func newGate(t *testing.T) *gate {
	g := &gate{realm: newRealm(t), logins: upstream.CallerLogins{Vault: &upstream.MemoryVault{}}, done: make(chan string, 10)}
	rights := filepath.Join(t.TempDir(), "rights.yaml")
	if err := os.WriteFile(rights, []byte("- group: \"*\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	users, err := issuer.New(t.Context(), issuer.Options{URL: g.realm.URL, Resource: "https://tools.example.com/mcp", Rights: rights,
		ClientID: "gateway", ClientSecret: secret, Log: log, Families: func() []*toolfold.Family { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	server := gateway.Upstream{Name: "team", Server: upstream.Server{Name: "team", URL: g.realm.URL + "/mcp"}}
	var handler http.Handler
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(g.Close)
	handler = connect.New(connect.Options{
		Base: g.URL, Logins: g.logins, Issuer: users, Log: log, Done: func(_, caller string) { g.done <- caller },
		Server: func(name string) *gateway.Upstream {
			if name == server.Name {
				return &server
			}
			return nil
		},
	})
	return g
}

// caller returns the key of a user.
func (g *gate) caller(user string) string {
	return upstream.CallerKey(serve.Identity{Issuer: g.realm.URL, Subject: user}.Key())
}

// link returns a link for a user.
func (g *gate) link(t *testing.T, user string) string {
	t.Helper()
	ticket, err := g.logins.Ticket(t.Context(), g.caller(user), "team")
	if err != nil {
		t.Fatal(err)
	}
	return connect.Address(g.URL, "team", ticket)
}

// browser is the browser of a user.
type browser struct {
	http.Client
	t    *testing.T
	user string
}

func newBrowser(t *testing.T, user string) *browser {
	b := &browser{t: t, user: user}
	b.Jar, _ = cookiejar.New(nil)
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return b
}

// get follows an address once; with a form it sends that.
func (b *browser) get(address string, form url.Values) (page, next string) {
	b.t.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("X-User", b.user)
	response, err := b.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, text), response.Header.Get("Location")
}

// identify opens a link, goes to the issuer, and returns the address to which the issuer leads.
func (b *browser) identify(link string) (back string) {
	b.t.Helper()
	at, err := url.Parse(link)
	if err != nil {
		b.t.Fatal(err)
	}
	ticket := at.Query()
	at.RawQuery = ""
	page, toIssuer := b.get(at.String(), ticket)
	if !strings.HasPrefix(page, "303 ") {
		b.t.Fatalf("the form: %s", page)
	}
	_, back = b.get(toIssuer, nil)
	return back
}

func expect(t *testing.T, what, page, want string) {
	t.Helper()
	if !strings.Contains(page, want) {
		t.Errorf("%s shows %s, want %s", what, page, want)
	}
}

// A user of an issuer proves there who they are, and then logs in at the server.
func TestUserLogsIn(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	ada, link := newBrowser(t, "ada"), g.link(t, "ada")
	page, _ := ada.get(link, nil)
	expect(t, "the link", page, "Show at "+g.realm.URL+" who you are")
	page, toServer := ada.get(ada.identify(link), nil)
	expect(t, "the address after the issuer", page, "303 ")
	_, back := ada.get(toServer, nil)
	if !strings.HasPrefix(back, g.URL+"/connect/callback/team?") {
		t.Errorf("the server leads back to %s", back)
	}
	page, _ = ada.get(back, nil)
	expect(t, "the last address", page, "You are logged in at team")
	if caller := <-g.done; caller != g.caller("ada") {
		t.Errorf("%s has logged in", caller)
	}
	raw, err := g.logins.Vault.Read(t.Context(), g.caller("ada"), "team")
	if err != nil || !strings.Contains(string(raw), `"access_token":"of ada"`) {
		t.Errorf("the vault has %s, %v", raw, err)
	}
	page, _ = ada.get(back, nil)
	expect(t, "the last address again", page, "403 ")
	page, _ = ada.get(link, nil)
	expect(t, "the link again", page, "403 ")
}

// Nobody but the caller of a link gets beyond the issuer with it, and no answer of the issuer helps elsewhere.
func TestAttacksAtTheIssuer(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	eve, bob := newBrowser(t, "eve"), newBrowser(t, "bob")
	link := g.link(t, "eve")
	page, next := bob.get(bob.identify(link), nil)
	expect(t, "the link of another caller", page, "This link is for another caller")
	if next != "" {
		t.Errorf("it leads to %s", next)
	}
	identified := eve.identify(link)
	page, _ = bob.get(identified, nil)
	expect(t, "the issuer's answer in another browser", page, "403 ")
	_, toServer := eve.get(identified, nil)
	page, _ = eve.get(identified, nil)
	expect(t, "the issuer's answer again", page, "403 ")
	_, back := bob.get(toServer, nil)
	page, _ = bob.get(back, nil)
	expect(t, "the server's answer in another browser", page, "403 ")
	page, _ = eve.get(strings.Replace(eve.identify(link), "/connect?", "/connect/callback/team?", 1), nil)
	expect(t, "the issuer's answer as the server's", page, "403 ")
	page, _ = eve.get(strings.Replace(identified, "state=", "state=x", 1), nil)
	expect(t, "another state", page, "403 ")
	for name, claims := range map[string]map[string]any{
		"an id token for another client": {"aud": "another"}, "an id token of another login": {"nonce": "another"},
		"an id token of another issuer": {"iss": "https://evil.example"}, "an old id token": {"exp": time.Now().Add(-time.Hour).Unix()},
	} {
		g.realm.mu.Lock()
		g.realm.claims = claims
		g.realm.mu.Unlock()
		page, next := eve.get(eve.identify(link), nil)
		expect(t, name, page, "502 ")
		if next != "" {
			t.Errorf("%s leads to %s", name, next)
		}
	}
	select {
	case caller := <-g.done:
		t.Errorf("%s has logged in", caller)
	default:
	}
}

// A form with a token that is not known says so: its caller has most likely mistyped it, and the link is theirs.
func TestUnknownToken(t *testing.T) {
	t.Parallel()
	logins := upstream.CallerLogins{Vault: &upstream.MemoryVault{}}
	server := gateway.Upstream{Name: "team", Server: upstream.Server{Name: "team", URL: "https://team.example/mcp"}}
	pages := connect.New(connect.Options{
		Base: "https://tools.example", Logins: logins, Log: slog.New(slog.DiscardHandler),
		Server: func(string) *gateway.Upstream { return &server },
		Caller: func(token string) (string, error) { return map[string]string{"a": "ada", "b": "bob"}[token], nil },
	})
	ticket, err := logins.Ticket(t.Context(), upstream.CallerKey("ada"), server.Name)
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]string{
		"b": "This link is for another caller", "": "does not know this token", "x": "does not know this token",
	} {
		form := strings.NewReader(url.Values{"ticket": {ticket}, "token": {token}}.Encode())
		r := httptest.NewRequest(http.MethodPost, "/connect/team", form)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer := httptest.NewRecorder()
		pages.ServeHTTP(answer, r)
		if text := answer.Body.String(); answer.Code != http.StatusForbidden || !strings.Contains(text, want) {
			t.Errorf("with the token %q: %d %s", token, answer.Code, text)
		}
	}
}
