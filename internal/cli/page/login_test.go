package page

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/test/notetest"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/toolfoldtest"
	"github.com/toolfold/toolfold/tools/task"
)

// network is a page on a server over HTTP that knows the tokens of an admin, a second admin and a client.
type network struct {
	*Page
	t      *testing.T
	base   string
	tokens string // their file; empty if the server requires no token

	mu     sync.Mutex
	called []string
	late   time.Duration // by which the page's clock is ahead
}

const (
	admin  = "the-token-of-the-admin"
	second = "the-token-of-the-second-admin"
	client = "the-token-of-a-client"
)

// tokenLines are the lines of the tokens in the file.
func tokenLines(names ...string) string {
	var lines strings.Builder
	for _, name := range names {
		t := permission.Token{Name: name, Hash: sha256.Sum256([]byte(map[string]string{"me": admin, "you": second, "ci": client}[name])),
			Admin: name != "ci"}
		fmt.Fprintln(&lines, t)
	}
	return lines.String()
}

// onNetwork serves a page whose calls of actions all succeed. It stops with the test, or by stop.
func onNetwork(t *testing.T, tokens bool) (n *network, stop func()) {
	t.Helper()
	n = &network{t: t}
	n.Page = &Page{
		machine: &machine{state: &state{Servers: []server{{Name: "small"}}}, files: func() (string, error) { return "", nil }},
		stored:  func() bool { return true }, version: "test", log: slog.New(slog.DiscardHandler),
		now: func() time.Time {
			n.mu.Lock()
			defer n.mu.Unlock()
			return time.Now().Add(n.late)
		},
		call: func(ctx context.Context, action string, _ json.RawMessage) (json.RawMessage, error) {
			n.add(action)
			return json.RawMessage(`{}`), nil
		},
		activity:    func(context.Context, time.Time, time.Time) ([]storage.Activity, error) { return nil, nil },
		asks:        &asked{open: []task.Question{form(`{}`)}},
		definitions: func(context.Context, string) (map[string]json.RawMessage, error) { return nil, nil },
		storeMark:   func(context.Context) (string, error) { return "", nil },
		record: func(ctx context.Context, _ string, _ any, change func(context.Context) error) error {
			return change(ctx)
		},
	}
	n.live = newLive(n.log, n.mark)
	h := serve.HTTP{Addr: "127.0.0.1:0", Hosts: []string{"tools.example"}, Drain: time.Hour}
	if tokens {
		n.tokens = filepath.Join(t.TempDir(), "tokens")
		n.write(tokenLines("me", "you", "ci"))
		h.TokenFile = n.tokens
	}
	h.Site = func(next http.Handler, l serve.Login) http.Handler {
		n.login = newLogin(n.Page, l, next)
		n.routes()
		return n.Page
	}
	addr := make(chan net.Addr, 1)
	h.Ready = func(a net.Addr) { addr <- a }
	note := toolfoldtest.Mount(t, notetest.Family, &notetest.Service{})
	s, err := serve.New(serve.Options{Families: []*toolfold.Family{note}, Log: n.log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.HTTP(ctx, h) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serving: %v", err)
		}
		n.live.close()
	})
	t.Cleanup(stop)
	select {
	case at := <-addr:
		n.base = "http://" + at.String()
	case err := <-ended:
		t.Fatal(err)
	}
	return n, stop
}

func (n *network) add(action string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.called = append(n.called, action)
}

// took returns the actions called since the last time.
func (n *network) took() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	called := n.called
	n.called = nil
	return called
}

func (n *network) write(text string) {
	n.t.Helper()
	if err := os.WriteFile(n.tokens, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// visitor returns a browser that follows no redirect.
func (n *network) visitor() *http.Client {
	jar, _ := cookiejar.New(nil)
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// get requests a view as a browser does.
func (n *network) get(browser *http.Client, path string) (int, string) {
	n.t.Helper()
	r := get(n.t, n.base+path)
	r.Header.Set("Accept", "text/html,application/xhtml+xml")
	return fetch(n.t, browser, r)
}

// enter logs a new browser in.
func (n *network) enter(token string) *http.Client {
	n.t.Helper()
	browser := n.visitor()
	if status, text := fetch(n.t, browser, post(n.t, n.base+"/login", url.Values{"token": {token}})); status != http.StatusSeeOther {
		n.t.Fatalf("the login: %d %s", status, text)
	}
	if status, _ := n.get(browser, "/notes"); status != http.StatusOK {
		n.t.Fatalf("a view after the login: %d", status)
	}
	n.took()
	return browser
}

// cookie returns the cookie of a browser.
func (n *network) cookie(browser *http.Client) *http.Cookie {
	n.t.Helper()
	at, _ := url.Parse(n.base)
	all := browser.Jar.Cookies(at)
	if len(all) != 1 {
		n.t.Fatalf("the browser has the cookies %v", all)
	}
	return all[0]
}

// form returns a form of a browser's session.
func (n *network) form(browser *http.Client) url.Values {
	return url.Values{"form": {formOf(n.cookie(browser).Value)}, "key": {"a"}, "to": {"off"}, "tool": {"t"}, "digest": {"d"},
		"back": {"/notes"}}
}

// posts are the addresses that change something.
var posts = []string{"/do/memory.delete", "/do/task.cancel", "/do/queue.pause", "/servers/small/switch", "/servers/small/approve",
	"/servers/small/reject", "/tasks/7/answer", "/logout"}

func TestOtherOriginsChangeNothing(t *testing.T) {
	t.Parallel()
	n, _ := onNetwork(t, true)
	browser := n.enter(admin)
	port := n.base[strings.LastIndex(n.base, ":"):]
	origin := func(text string) func(*http.Request) { return func(r *http.Request) { r.Header.Set("Origin", text) } }
	for name, change := range map[string]func(*http.Request){
		"another host, by DNS rebinding":     func(r *http.Request) { r.Host = "evil.example" + port },
		"the same with its origin":           func(r *http.Request) { r.Host = "evil.example"; origin("http://evil.example")(r) },
		"another port":                       func(r *http.Request) { r.Host = "127.0.0.1:1" },
		"another origin":                     origin("http://evil.example"),
		"another port of this machine":       origin("http://127.0.0.1:1"),
		"another name of this machine":       origin("http://localhost" + port),
		"another scheme":                     origin(strings.Replace(n.base, "http", "https", 1)),
		"the origin null":                    origin("null"),
		"two origins":                        func(r *http.Request) { r.Header["Origin"] = []string{n.base, "http://evil.example"} },
		"another port of a host behind TLS":  func(r *http.Request) { r.Host = "tools.example"; origin("https://tools.example:8443")(r) },
		"a host behind TLS, to the address":  origin("https://tools.example"),
		"a form of another site":             func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"a form of the same site":            func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"another site with the right origin": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site"); origin(n.base)(r) },
	} {
		for _, path := range append([]string{"/login"}, posts...) {
			form := n.form(browser)
			form.Set("token", admin)
			r := post(t, n.base+path, form)
			change(r)
			before := n.cookie(browser).Value
			if status, text := fetch(t, browser, r); status != http.StatusForbidden {
				t.Errorf("%s: POST %s: %d %s", name, path, status, text)
			}
			if n.cookie(browser).Value != before {
				t.Errorf("%s: POST %s set another cookie", name, path)
			}
		}
		r := get(t, n.base+"/notes")
		change(r)
		if r.Header.Get("Origin") == "" && r.Host != r.URL.Host || r.Header.Get("Sec-Fetch-Site") != "" {
			if status, _ := fetch(t, browser, r); status != http.StatusForbidden {
				t.Errorf("%s: GET /notes: %d", name, status)
			}
		}
	}
	if called := n.took(); called != nil {
		t.Errorf("these were called: %v", called)
	}
	if status, _ := n.get(browser, "/notes"); status != http.StatusOK {
		t.Errorf("the session did not outlive the attacks: %d", status)
	}

	// The page's own forms, as browsers send them.
	for _, headers := range [][]string{{"Origin", n.base, "Sec-Fetch-Site", "same-origin"}, {"Origin", n.base}, {}} {
		r := post(t, n.base+"/do/memory.delete", n.form(browser))
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		if status, text := fetch(t, browser, r); status != http.StatusSeeOther {
			t.Errorf("the page's own form with %v: %d %s", headers, status, text)
		}
	}
}

func TestFormsNeedTheTokenOfTheirSession(t *testing.T) {
	t.Parallel()
	n, _ := onNetwork(t, true)
	one, other := n.enter(admin), n.enter(second)
	for _, token := range []string{"", "wrong", n.cookie(one).Value, n.form(other).Get("form"), admin} {
		for _, path := range posts {
			form := n.form(one)
			form.Set("form", token)
			if status, _ := fetch(t, one, post(t, n.base+path, form)); status != http.StatusForbidden {
				t.Errorf("POST %s with the form %q: %d", path, token, status)
			}
			form = n.form(one)
			form.Del("form")
			if status, _ := fetch(t, one, post(t, n.base+path+"?form="+n.form(one).Get("form"), form)); status != http.StatusForbidden {
				t.Errorf("POST %s with the form in its address: %d", path, status)
			}
		}
	}
	if status, _ := n.get(one, "/do/memory.delete?"+n.form(one).Encode()); status != http.StatusNotFound {
		t.Errorf("a change by GET: %d", status)
	}
	if called := n.took(); called != nil {
		t.Errorf("these were called: %v", called)
	}
}

// A bearer token opens no view, whoever has it: a client's configuration has it, and so a model may read it.
func TestBearerTokensApproveNothing(t *testing.T) {
	t.Parallel()
	n, _ := onNetwork(t, true)
	form := n.form(n.enter(admin))
	for _, token := range []string{"", client, admin} {
		for _, path := range posts {
			r := post(t, n.base+path, form)
			r.Header.Set("Authorization", "Bearer "+token)
			if status, text := fetch(t, n.visitor(), r); status != http.StatusForbidden || !strings.Contains(text, "nothing was changed") {
				t.Errorf("POST %s with the bearer token %q: %d %s", path, token, status, text)
			}
		}
		r := get(t, n.base+"/notes")
		r.Header.Set("Authorization", "Bearer "+token)
		if status, _ := fetch(t, n.visitor(), r); status != http.StatusNotFound {
			t.Errorf("GET /notes with the bearer token %q: %d", token, status)
		}
	}
	if status, _ := fetch(t, n.visitor(), post(t, n.base+"/login", url.Values{"token": {client}})); status != http.StatusForbidden {
		t.Errorf("a client logs in: %d", status)
	}
	if called := n.took(); called != nil {
		t.Errorf("these were called: %v", called)
	}
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	n, _ := onNetwork(t, true)
	ended := func(why string, browser *http.Client) {
		t.Helper()
		if status, _ := n.get(browser, "/notes"); status != http.StatusSeeOther {
			t.Errorf("a view %s: %d", why, status)
		}
		if status, _ := fetch(t, browser, post(t, n.base+"/do/memory.delete", n.form(browser))); status != http.StatusForbidden {
			t.Errorf("a form %s: %d", why, status)
		}
		if called := n.took(); called != nil {
			t.Errorf("%s, these were called: %v", why, called)
		}
	}
	at, _ := url.Parse(n.base)

	left := n.enter(admin)
	stolen := n.visitor()
	stolen.Jar.SetCookies(at, []*http.Cookie{n.cookie(left)})
	if status, _ := n.get(stolen, "/notes"); status != http.StatusOK {
		t.Fatalf("the cookie in another browser: %d", status)
	}
	n.took()
	if status, _ := fetch(t, left, post(t, n.base+"/logout", n.form(left))); status != http.StatusSeeOther || len(left.Jar.Cookies(at)) != 0 {
		t.Errorf("the logout: %d, cookies %v", status, left.Jar.Cookies(at))
	}
	ended("with the cookie of a session that was left", stolen)

	again := n.enter(admin)
	before := n.visitor()
	before.Jar.SetCookies(at, []*http.Cookie{n.cookie(again)})
	fetch(t, again, post(t, n.base+"/login", url.Values{"token": {second}}))
	ended("with the cookie before the next login", before)
	if _, page := n.get(again, "/"); !strings.Contains(page, ">you</span>") {
		t.Errorf("the page does not name the token: %s", page)
	}

	removed, other := n.enter(admin), n.enter(second)
	n.write(tokenLines("you", "ci"))
	testwait.Until(t, "the server reads its tokens again", func() bool { s, _ := n.get(removed, "/notes"); return s == http.StatusSeeOther })
	n.took()
	ended("with the cookie of a removed token", removed)
	if status, _ := n.get(other, "/notes"); status != http.StatusOK {
		t.Errorf("another session after the removal: %d", status)
	}
	n.write("broken")
	testwait.Until(t, "the server finds its tokens broken", func() bool {
		s, _ := n.get(other, "/notes")
		return s == http.StatusServiceUnavailable
	})
	if status, _ := fetch(t, n.visitor(), post(t, n.base+"/login", url.Values{"token": {second}})); status != http.StatusServiceUnavailable {
		t.Errorf("a login without tokens: %d", status)
	}
	n.write(tokenLines("you", "ci"))
	testwait.Until(t, "the server reads its tokens again", func() bool { s, _ := n.get(other, "/notes"); return s == http.StatusOK })
	n.took()

	n.write(tokenLines("me", "you"))
	testwait.Until(t, "the token is there again", func() bool {
		name, _ := n.login.Admin(sha256.Sum256([]byte(admin)))
		return name == "me"
	})
	ended("with the cookie of a token that was removed and added again", removed)
	n.mu.Lock()
	n.late = sessionTime + time.Second
	n.mu.Unlock()
	ended("with the cookie of yesterday", other)
	n.enter(second)
}

func TestWrongTokensShutNobodyOut(t *testing.T) {
	t.Parallel()
	n, _ := onNetwork(t, true)
	working := n.enter(second)
	handle := func(token string, cookie *http.Cookie) int { // without a connection each
		r := post(t, n.base+"/login", url.Values{"token": {token}})
		if cookie != nil {
			r.AddCookie(cookie)
		}
		w := httptest.NewRecorder()
		n.ServeHTTP(w, r)
		return w.Code
	}
	for i := range 10_000 {
		cookie := &http.Cookie{Name: "toolfold-session", Value: fmt.Sprint(i)}
		if status := handle(fmt.Sprintf("%s-%d", admin, i), cookie); status != http.StatusForbidden {
			t.Fatalf("the wrong token %d: %d", i, status)
		}
	}
	n.enter(admin)
	if status, _ := n.get(working, "/notes"); status != http.StatusOK {
		t.Errorf("a session after the wrong tokens: %d", status)
	}

	// An admin's script that never logs out ends its own sessions, the oldest first.
	for range 3 * maxSessions {
		if status := handle(admin, nil); status != http.StatusSeeOther {
			t.Fatalf("the right token: %d", status)
		}
	}
	n.enter(second)
	if len(n.login.sessions) > maxSessions {
		t.Errorf("there are %d sessions", len(n.login.sessions))
	}
}

// Programs get the answers of a server without a page, so that clients look for no login of it.
func TestProgramsGetTheirAnswers(t *testing.T) {
	t.Parallel()
	n, _ := onNetwork(t, true)
	for path, want := range map[string]string{
		"GET /": "200 toolfold serves MCP at /mcp", "GET /healthz": `200 {"status":"ok"}`, "GET /mcp": "401 a bearer token",
		"GET /metrics": "401 a bearer token", "GET /.well-known/oauth-protected-resource": "404 ", "GET /notes": "404 ",
		"GET /nothing": "404 ", "POST /nothing": "404 ", "POST /register": "404 ", "POST /token": "404 ", "POST /healthz": "405 ",
		"POST /": "405 ", "DELETE /": "405 ", "PUT /notes": "404 ", "DELETE /login": "404 ", "GET /enter/x": "404 ",
		"GET /login":     "200 <!doctype",
		"GET /style.css": "200 ", "GET /icon.svg": "200 <svg",
	} {
		method, at, _ := strings.Cut(path, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, n.base+at, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "*/*")
		if status, text := fetch(t, n.visitor(), r); !strings.HasPrefix(fmt.Sprint(status, " ", text), want) {
			t.Errorf("%s: %d %s, want %s", path, status, text, want)
		}
	}
	for path, want := range map[string]int{"/": http.StatusSeeOther, "/notes?query=a": http.StatusSeeOther, "/nothing": http.StatusNotFound,
		"/.well-known/oauth-protected-resource": http.StatusNotFound, "/mcp": http.StatusOK, "/login": http.StatusOK} {
		if status, _ := n.get(n.visitor(), path); status != want {
			t.Errorf("GET %s of a browser: %d, want %d", path, status, want)
		}
	}
	browser := n.enter(admin)
	if status, page := n.get(browser, "/nothing"); status != http.StatusNotFound || !strings.Contains(page, "there is no such page") {
		t.Errorf("an unknown view after the login: %d %s", status, page)
	}
	if _, text := fetch(t, browser, get(t, n.base+"/")); strings.Contains(text, "<html") {
		t.Errorf("/ without HTML, with the cookie: %s", text)
	}
}

// TestLoginHeaders checks the cookie, and what browsers may do with the pages.
func TestLoginHeaders(t *testing.T) {
	t.Parallel()
	n, _ := onNetwork(t, true)
	for _, proto := range []string{"", "https"} {
		r := post(t, n.base+"/login", url.Values{"token": {" " + admin + "\n"}, "back": {"//evil.example"}})
		if proto != "" {
			r.Header.Set("X-Forwarded-Proto", proto)
		}
		answer, err := n.visitor().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		cookie := answer.Cookies()[0]
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.MaxAge != 12*60*60 ||
			cookie.Domain != "" || cookie.Secure != (proto == "https") || strings.HasPrefix(cookie.Name, "__Host-") != cookie.Secure {
			t.Errorf("the cookie is %v", cookie)
		}
		if answer.Header.Get("Location") != "/" {
			t.Errorf("the login leads to %s", answer.Header.Get("Location"))
		}
		for name, want := range map[string]string{"Content-Security-Policy": policy, "Referrer-Policy": "same-origin",
			"Cache-Control": "no-store"} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
	}

	// Only views after the login have the script.
	browser := n.enter(admin)
	for _, test := range []struct {
		browser *http.Client
		path    string
		policy  string
		script  bool
	}{
		{n.visitor(), "/login", policy, false},
		{browser, "/login", policy, false},
		{browser, "/", policy + livePolicy, true},
		{browser, "/nothing", policy + livePolicy, true},
	} {
		r := get(t, n.base+test.path)
		r.Header.Set("Accept", "text/html")
		answer, err := test.browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		got := answer.Header.Values("Content-Security-Policy")
		if err != nil || !slices.Equal(got, []string{test.policy}) || strings.Contains(string(page), "<script") != test.script {
			t.Errorf("%s has the policy %q, %v: %s", test.path, got, err, page)
		}
	}
	if status, text := fetch(t, browser, get(t, n.base+"/live.js")); status != http.StatusOK || !strings.Contains(text, "EventSource") {
		t.Errorf("the script: %d %s", status, text)
	}

	for id, session := range n.login.sessions {
		if strings.Contains(fmt.Sprintf("%s %s", id, session.token), admin) {
			t.Error("a session has the token")
		}
	}
	_, page := n.get(n.visitor(), "/login?back="+url.QueryEscape("/notes?query="+hostile))
	checkHTML(t, "/login", page)
	_, page = n.get(n.visitor(), "/login?back="+url.QueryEscape("/notes?query=a"))
	if !strings.Contains(page, `name="back" value="/notes?query=a"`) {
		t.Errorf("the form does not lead back: %s", page)
	}
}

// TestWithoutTokens says how to get in, and lets nobody in.
func TestWithoutTokens(t *testing.T) {
	t.Parallel()
	n, _ := onNetwork(t, false)
	if status, page := n.get(n.visitor(), "/login"); status != http.StatusOK || !strings.Contains(page, "toolfold page") ||
		!strings.Contains(page, "toolfold token add NAME --admin") || strings.Contains(page, "<form") {
		t.Errorf("the page without tokens: %d %s", status, page)
	}
	for _, token := range []string{"", admin} {
		if status, _ := fetch(t, n.visitor(), post(t, n.base+"/login", url.Values{"token": {token}})); status != http.StatusForbidden {
			t.Errorf("a login with the token %q: %d", token, status)
		}
	}
	for _, path := range posts {
		if status, _ := fetch(t, n.visitor(), post(t, n.base+path, url.Values{"form": {formOf("")}})); status != http.StatusForbidden {
			t.Errorf("POST %s: %d", path, status)
		}
	}
	if called := n.took(); called != nil {
		t.Errorf("these were called: %v", called)
	}
}

// TestStreamsEndWithTheirSession opens a stream for each reason that ends it. The server waits an hour for open requests,
// so a stream that does not end by itself fails the test.
func TestStreamsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	n, stop := onNetwork(t, true)
	follow := func(browser *http.Client, accept string) (ended <-chan error) {
		t.Helper()
		r := get(t, n.base+"/changes")
		r.Header.Set("Accept", accept)
		answer, err := browser.Do(r)
		if err != nil || answer.StatusCode != http.StatusOK || answer.Header.Get("X-Accel-Buffering") != "no" {
			t.Fatalf("the stream: %v %v", answer, err)
		}
		lines := bufio.NewScanner(answer.Body)
		if !lines.Scan() || lines.Text() != ":" {
			t.Fatalf("the stream begins with %q", lines.Text())
		}
		done := make(chan error, 1)
		go func() {
			defer answer.Body.Close()
			for lines.Scan() {
			}
			done <- lines.Err()
		}()
		return done
	}
	enter := func(token string) *http.Client {
		browser := n.visitor()
		fetch(t, browser, post(t, n.base+"/login", url.Values{"token": {token}}))
		return browser
	}
	left, removed, last := enter(admin), enter(admin), enter(second)
	const events, anything = "text/event-stream", "*/*" // of a script's request
	for _, accept := range []string{events, anything} {
		again := n.visitor()
		at, _ := url.Parse(n.base)
		again.Jar.SetCookies(at, []*http.Cookie{n.cookie(left)})
		stream := follow(left, accept)
		fetch(t, again, post(t, n.base+"/logout", n.form(again)))
		testwait.Receive(t, "the stream ends after the logout", stream)
		left = enter(admin)
	}
	gone, others := follow(removed, events), []<-chan error{follow(last, events), follow(last, anything)}
	n.write(tokenLines("you"))
	testwait.Receive(t, "the stream ends without its token", gone)
	for _, stream := range others {
		select {
		case <-stream:
			t.Error("the stream of another session ended")
		default:
		}
	}
	go stop()
	for _, stream := range others {
		testwait.Receive(t, "the stream ends when the server stops", stream)
	}
}
