package upstream_test

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolfold/toolfold/upstream"
)

// Refusals of a server during a session explain what to do. They keep the server's code and data.
func TestRefusedCalls(t *testing.T) {
	t.Parallel()
	type response struct {
		status          int
		challenge, body string
	}
	const insufficient = `Bearer error="insufficient_scope", scope="read write", resource_metadata="http://x.test/y"`
	account := func(at string) *upstream.Account {
		return upstream.Accounts{Path: filepath.Join(t.TempDir(), "logins.json")}.Of("files", at)
	}
	for name, test := range map[string]struct {
		response
		account, header bool
		want, data      string
	}{
		"401": {response{401, "", "{}"}, true, false, "it requires a login: toolfold upstream login files", ""},
		"401, no account": {response{401, "", "{}"}, false, false,
			"it answered 401 Unauthorized: it wants a header Authorization, or toolfold upstream add and then login", ""},
		"scope": {response{403, insufficient, `{"error":"insufficient_scope"}`}, true, false,
			`it answered 403 Forbidden: the login lacks a scope: toolfold upstream login files --scope "read write"`, ""},
		"scope, header": {response{403, insufficient, "{}"}, true, true,
			`it answered 403 Forbidden: its header Authorization needs the scope "read write"`, ""},
		"no scope": {response{403, `Bearer error="insufficient_scope"`, ""}, true, false,
			"it answered 403 Forbidden: the login lacks a scope, and the answer does not name it", ""},
		"403": {response{403, "", "no"}, true, false, "it answered 403 Forbidden", ""},
		"data": {response{200, "", "{\"jsonrpc\":\"2.0\",\"id\":ID,\"error\":{\"code\":-32602,\"message\":\"bad\",\"data\":{\"issues\":\n[1]}}}"},
			false, false, "bad (-32602)", `{"issues":[1]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := web(t, func(w http.ResponseWriter, _ *http.Request, m message) {
				if m.Method != "tools/call" {
					_, _ = io.WriteString(w, ordinary(m))
					return
				}
				w.Header().Set("WWW-Authenticate", test.challenge)
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, strings.Replace(test.body, "ID", string(m.ID), 1))
			})
			s := upstream.Server{URL: at}
			if test.account {
				s.Account = account(at)
			}
			if test.header {
				s.Header = http.Header{"Authorization": {"Bearer x"}}
			}
			session, err := upstream.Connect(t.Context(), s, upstream.Client{Name: "test", Version: "1"})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			_, err = session.Call(t.Context(), upstream.Call{Tool: "echo", Arguments: json.RawMessage(`{}`)})
			if err == nil || err.Error() != test.want {
				t.Errorf("%v, want %s", err, test.want)
			}
			var refused *upstream.ProtocolError
			if errors.As(err, &refused) != (test.data != "") || refused != nil && string(refused.Data) != test.data {
				t.Errorf("%+v, want the data %s", refused, test.data)
			}
		})
	}
}

// Login requests the caller's scopes, and explains what to do if the authorization server registers no
// clients.
func TestLogInWithScopes(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	accounts := upstream.Accounts{Path: filepath.Join(t.TempDir(), "logins.json"), Now: i.now}
	s := upstream.Server{URL: i.URL + "/mcp", Account: accounts.Of("files", i.URL+"/mcp")}
	var address string
	follow := browse(t)
	show := func(at string) { address = at; follow(at) }
	login := upstream.Login{Server: s, Scopes: []string{"read", "write"}, Show: show}
	err := s.Account.LogIn(t.Context(), login)
	shown, _ := url.Parse(address)
	if scopes := strings.Fields(shown.Query().Get("scope")); err != nil || len(scopes) != 2 || // in any order
		!slices.Contains(scopes, "read") || !slices.Contains(scopes, "write") {
		t.Errorf("%s, %v", address, err)
	}
	var closed *httptest.Server
	closed = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.Contains(r.URL.Path, "oauth-protected-resource"):
			_, _ = io.WriteString(w, `{"resource":"`+closed.URL+`","authorization_servers":["`+closed.URL+`"]}`)
		case strings.Contains(r.URL.Path, "oauth-authorization-server"):
			_, _ = io.WriteString(w, `{"issuer":"`+closed.URL+`","authorization_endpoint":"`+closed.URL+`/a","token_endpoint":"`+closed.URL+
				`/t","response_types_supported":["code"],"code_challenge_methods_supported":["S256"]}`)
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer closed.Close()
	s = upstream.Server{URL: closed.URL, Account: accounts.Of("closed", closed.URL)}
	err = s.Account.LogIn(t.Context(), upstream.Login{Server: s, Show: func(string) {}})
	if err == nil || !strings.Contains(err.Error(), "--client-id ID") {
		t.Error(err)
	}
}

// A request that did not reach the server is sent once more.
func TestUnsentRequests(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	handler := func(w http.ResponseWriter, r *http.Request) {
		var m message
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Connection", "close") // each request needs a new connection
		if m.Method == "tools/call" {
			calls.Add(1)
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		_, _ = io.WriteString(w, ordinary(m))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	at := &http.Server{Handler: http.HandlerFunc(handler)}
	go func() { _ = at.Serve(listener) }()
	session, err := upstream.Connect(t.Context(), upstream.Server{URL: "http://" + address}, upstream.Client{Name: "test", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	call := func() error {
		_, err := session.Call(t.Context(), upstream.Call{Tool: "echo", Arguments: json.RawMessage(`{}`)})
		return err
	}
	_ = at.Close()
	if err := call(); err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "rejected") {
		t.Errorf("without a server: %v", err)
	}
	var done sync.WaitGroup
	done.Go(func() { err = call() })
	again, failed := net.Listen("tcp", address) // while the call waits, or before it is made
	if failed != nil {
		t.Fatal(failed)
	}
	at = &http.Server{Handler: http.HandlerFunc(handler)}
	go func() { _ = at.Serve(again) }()
	done.Wait()
	defer at.Close()
	if err != nil || calls.Load() != 1 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}
