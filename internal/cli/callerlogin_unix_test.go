//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/test/testwait"
)

// tenants is a server that knows its users by tokens of its authorization server, which takes the header X-User for
// the user of a browser. The tool whoami returns the user.
type tenants struct {
	*httptest.Server

	mu       sync.Mutex
	users    map[string]string          // by code and by token
	sessions map[string]map[string]bool // users by session
	calls    map[string]int             // of whoami, by user
	refused  int                        // requests without a good token
}

func newTenants(t *testing.T) *tenants {
	s := &tenants{users: map[string]string{}, sessions: map[string]map[string]bool{}, calls: map[string]int{}}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/.well-known/oauth-protected-resource", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
			"registration_endpoint": s.URL + "/register", "response_types_supported": []string{"code"},
			"code_challenge_methods_supported": []string{"S256"}})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		client := map[string]any{}
		_ = json.NewDecoder(r.Body).Decode(&client)
		client["client_id"] = "gateway"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(client)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		code, query := rand.Text(), r.URL.Query()
		s.mu.Lock()
		s.users[code] = r.Header.Get("X-User")
		s.mu.Unlock()
		back := url.Values{"code": {code}, "state": {query.Get("state")}}
		http.Redirect(w, r, query.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		token := rand.Text()
		s.mu.Lock()
		s.users[token] = s.users[r.PostFormValue("code")]
		s.mu.Unlock()
		answer(w, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 3600})
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		session := r.Header.Get("Mcp-Session-Id")
		s.mu.Lock()
		defer s.mu.Unlock()
		user := s.users[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		if user == "" {
			s.refused++
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+s.URL+`/.well-known/oauth-protected-resource"`)
			http.Error(w, "log in", http.StatusUnauthorized)
			return
		}
		var result any
		switch m.Method {
		case "initialize":
			session = rand.Text()
			s.sessions[session] = map[string]bool{}
			w.Header().Set("Mcp-Session-Id", session)
			result = map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]string{"name": "tenants", "version": "1"}}
		case "tools/list":
			result = map[string]any{"tools": []any{map[string]any{"name": "whoami", "description": "Return the user who calls.",
				"inputSchema": map[string]any{"type": "object"}}}}
		case "tools/call":
			s.calls[user]++
			result = map[string]any{"content": []any{map[string]string{"type": "text", "text": "user " + user}}}
		}
		if s.sessions[session] != nil {
			s.sessions[session][user] = true
		}
		if result == nil {
			w.Header().Set("Content-Type", "application/json")
			if m.ID == nil {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "no"}})
			return
		}
		answer(w, map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// revoke makes the tokens of a user invalid.
func (s *tenants) revoke(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.users, func(_, of string) bool { return of == user })
}

// callWithPage calls a tool in a session of 2025-11-25. It agrees to open a page, opens it, and returns the result.
func callWithPage(t *testing.T, h *mcptest.HTTP, token, name string, open func(page string)) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL, strings.NewReader(
		fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, name)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Authorization": "Bearer " + token, "Mcp-Session-Id": h.Session} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Mode, URL string }
		}
		data, _ := strings.CutPrefix(lines.Text(), "data: ")
		switch err := json.Unmarshal([]byte(data), &m); {
		case err != nil:
		case m.Method == "elicitation/create" && m.Params.Mode == "url":
			h.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept"}}`, m.ID), "Authorization", "Bearer "+token)
			open(m.Params.URL)
		case string(m.ID) == "7":
			return data
		}
	}
	t.Fatal("the call has no result")
	return ""
}

// visitor is the browser of a user of tenants.
type visitor struct {
	t *testing.T
	http.Client
	user string
}

func newVisitor(t *testing.T, user string) *visitor {
	v := &visitor{t: t, user: user}
	v.Jar, _ = cookiejar.New(nil)
	v.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return v
}

// visit makes a request as a browser does that comes from another site, and returns the page and where it leads.
func (v *visitor) visit(method, address string, form url.Values, headers ...string) (status int, page, next string) {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	request.Header.Set("X-User", v.user)
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else {
		request.Header.Set("Sec-Fetch-Site", "cross-site")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := v.Do(request)
	if err != nil {
		v.t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text), response.Header.Get("Location")
}

// toCallback opens a link and gives a token, and returns the address to which the authorization server leads.
func (v *visitor) toCallback(link, token string) (callback string) {
	v.t.Helper()
	at, err := url.Parse(link)
	if err != nil {
		v.t.Fatal(err)
	}
	if status, page, _ := v.visit(http.MethodGet, link, nil); status != http.StatusOK || !strings.Contains(page, "Log in at team") {
		v.t.Fatalf("the link shows %d %s", status, page)
	}
	form := url.Values{"ticket": {at.Query().Get("ticket")}, "token": {token}}
	at.RawQuery = ""
	status, page, next := v.visit(http.MethodPost, at.String(), form)
	if status != http.StatusSeeOther {
		v.t.Fatalf("the form shows %d %s", status, page)
	}
	if _, _, callback = v.visit(http.MethodGet, next, nil); callback == "" {
		v.t.Fatalf("%s leads nowhere", next)
	}
	return callback
}

func (v *visitor) logIn(link, token string) {
	v.t.Helper()
	status, page, _ := v.visit(http.MethodGet, v.toCallback(link, token), nil)
	if status != http.StatusOK || !strings.Contains(page, "You are logged in at team") {
		v.t.Fatalf("the callback shows %d %s", status, page)
	}
}

var connectLink = regexp.MustCompile(`http://[^"\\ ,]*/connect/team\?ticket=[\w.]+`)

// Two callers with tokens log in at a server as themselves: by the link of an error, and by a page that a client opens.
// Neither gets a login of the other, whatever link is sent to whom.
func TestCallersLogIn(t *testing.T) {
	t.Parallel()
	upstream := newTenants(t)
	m := newSandbox(t)
	config := filepath.Join(m.home, "config", "toolfold", "config.json")
	m.write(t, config, fmt.Sprintf(`{"upstreams":{"team":{"url":"%s/mcp","login":"caller"}}}`, upstream.URL))
	keyless, _ := m.command(t, "serve", "--http=127.0.0.1:1", "--store=memory:", "--workspace=.").CombinedOutput()
	if !strings.Contains(string(keyless), "upstreams.team: login caller: loginKeys is not set: make a key with openssl rand -base64 32") {
		t.Errorf("without a key: %s", keyless)
	}
	loginKey := base64.StdEncoding.EncodeToString([]byte(rand.Text() + rand.Text())[:32])
	m.write(t, config, fmt.Sprintf(`{"upstreams":{"team":{"url":"%s/mcp","login":"caller"}},"loginKeys":["${LOGIN_KEY:-%s}"]}`,
		upstream.URL, loginKey))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	file := filepath.Join(t.TempDir(), "t.db")
	p, base, tokens := m.network(t, "--http="+free.Addr().String(), "--tier=none", "--store=sqlite://"+file)
	if strings.Contains(p.stderr.String(), "asking for the first list") {
		t.Errorf("a server is asked without a login: %s", p.stderr.String())
	}
	post := func(caller, name, more, capabilities string) string {
		t.Helper()
		meta := strings.Replace(mcptest.ModernMeta, `clientCapabilities":{}`, `clientCapabilities":`+capabilities, 1)
		answer, _ := mcptest.To(t, base+"/mcp").Post(fmt.Sprintf(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":{}%s,%s}}`, name, more, meta),
			"Authorization", "Bearer "+tokens[caller], "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", name)
		return answer
	}
	call := func(caller, name string) string { t.Helper(); return post(caller, name, "", `{}`) }
	linkIn := func(answer string) string {
		t.Helper()
		link := connectLink.FindString(answer)
		if link == "" {
			t.Fatalf("no link: %s", answer)
		}
		return link
	}
	expect := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	refused := func(what string, v *visitor, method, address string, form url.Values, headers ...string) {
		t.Helper()
		if status, page, next := v.visit(method, address, form, headers...); status != http.StatusForbidden {
			t.Errorf("%s: %d %s %s", what, status, next, page)
		}
	}

	first := call("me", "team_login")
	expect(first, "LOGIN_REQUIRED")
	link := linkIn(first)
	ada, bob := newVisitor(t, "ada"), newVisitor(t, "bob")
	form := func(token string) url.Values {
		return url.Values{"ticket": {strings.SplitN(link, "=", 2)[1]}, "token": {token}}
	}
	page, _, _ := strings.Cut(link, "?")
	refused("another caller's link", bob, http.MethodPost, page, form(tokens["agent"]))
	refused("no caller", bob, http.MethodPost, page, form("guess"))
	refused("a form of another site", ada, http.MethodPost, page, form(tokens["me"]), "Sec-Fetch-Site", "cross-site")
	refused("a made-up ticket", ada, http.MethodGet, page+"?ticket=x.y", nil)
	callback := ada.toCallback(link, tokens["me"])
	refused("another browser", bob, http.MethodGet, callback, nil)
	refused("no state", ada, http.MethodGet, strings.SplitN(callback, "?", 2)[0]+"?code=x", nil)
	ada.logIn(link, tokens["me"])
	refused("an address of a login before", ada, http.MethodGet, callback, nil)
	refused("a link that was used", ada, http.MethodGet, link, nil)
	testwait.Until(t, "the tools are offered", func() bool { return strings.Contains(call("me", "team_whoami"), "user ada") })

	const shows = `{"elicitation":{"form":{},"url":{}}}`
	asked := post("agent", "team_whoami", "", shows)
	expect(asked, "input_required")
	var question struct {
		Result struct {
			RequestState  string
			InputRequests map[string]struct{ Params struct{ URL, Mode string } }
		}
	}
	if err := json.Unmarshal([]byte(asked), &question); err != nil {
		t.Fatal(err)
	}
	var key, page2 string
	for k, request := range question.Result.InputRequests {
		key, page2 = k, request.Params.URL
	}
	bob.logIn(linkIn(page2), tokens["agent"])
	expect(post("agent", "team_whoami", fmt.Sprintf(`,"requestState":%q,"inputResponses":{%q:{"action":"accept"}}`,
		question.Result.RequestState, key), shows), "user bob")
	expect(call("me", "team_whoami"), "user ada")

	upstream.revoke("ada")
	again := call("me", "team_whoami")
	expect(again, "LOGIN_REQUIRED")
	expect(call("agent", "team_whoami"), "user bob")
	ada.logIn(linkIn(again), tokens["me"])
	expect(call("me", "team_whoami"), "user ada")

	upstream.revoke("ada")
	older := mcptest.To(t, base+"/mcp")
	older.Post(strings.Replace(mcptest.Initialize, `"capabilities":{}`, `"capabilities":`+shows, 1), "Authorization", "Bearer "+tokens["me"])
	expect(callWithPage(t, older, tokens["me"], "team_whoami", func(page string) { ada.logIn(linkIn(page), tokens["me"]) }), "user ada")

	out, _ := m.command(t, "upstream", "login", "team").CombinedOutput()
	expect(string(out), "each caller of toolfold serve --http logs in at team by a link")
	out, _ = m.command(t, "upstream", "check", "team").CombinedOutput()
	expect(string(out), "login: caller")
	end := func() {
		t.Helper()
		p.signal(t, syscall.SIGTERM)
		if !p.ends(testwait.Limit) {
			t.Errorf("it does not end: %s", p.stderr)
		}
	}
	end()
	p = start(t, m.command(t, "serve", "--http="+free.Addr().String(), "--tier=none", "--store=sqlite://"+file, "--workspace=."), nil)
	testwait.Until(t, "it serves again", func() bool { return strings.Contains(p.stderr.String(), " tools, ") })
	expect(call("me", "team_whoami"), "user ada")
	expect(call("agent", "team_whoami"), "user bob")
	end()
	upstream.mu.Lock()
	defer upstream.mu.Unlock()
	for _, name := range []string{file, file + "-wal"} {
		text, _ := os.ReadFile(name)
		for token := range upstream.users {
			if bytes.Contains(text, []byte(token)) || bytes.Contains(text, []byte(loginKey)) {
				t.Errorf("%s has a token of the server, or the key", name)
			}
		}
	}
	for session, users := range upstream.sessions {
		if len(users) > 1 {
			t.Errorf("the session %s has several users: %v", session, users)
		}
	}
	for _, token := range tokens {
		if strings.Contains(p.stderr.String(), token) {
			t.Error("the log has a token")
		}
	}
}
