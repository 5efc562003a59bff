package served_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// tokenServer serves all families on its own port, to callers with tokens of a file.
type tokenServer struct {
	t         *testing.T
	url, file string
}

const adminToken = "token-of-the-admin"

func tokenOf(name string) string { return "the-token-of-" + name + "-is-long" }

func newTokenServer(t *testing.T, mode surface.Mode, lines ...permission.Token) tokenServer {
	t.Helper()
	s, _ := newWorkbench(t, mode, serve.Limits{})
	ts := tokenServer{t: t, file: filepath.Join(t.TempDir(), "tokens")}
	ts.write(lines...)
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		ended <- s.HTTP(ctx, serve.HTTP{Addr: "127.0.0.1:0", TokenFile: ts.file, Ready: func(a net.Addr) { ready <- a }})
	}()
	t.Cleanup(func() { cancel(); <-ended })
	select {
	case addr := <-ready:
		ts.url = "http://" + addr.String()
	case err := <-ended:
		t.Fatal(err)
	}
	return ts
}

func (ts tokenServer) write(lines ...permission.Token) {
	ts.t.Helper()
	text := "# all rights\n" + adminToken + "\n"
	for _, line := range lines {
		line.Hash = sha256.Sum256([]byte(tokenOf(line.Name)))
		text += line.String() + "\n"
	}
	if err := os.WriteFile(ts.file, []byte(text), 0o600); err != nil {
		ts.t.Fatal(err)
	}
}

// send sends a request. It returns the answer, its status and its session.
func (ts tokenServer) send(method, path, token, session, body string) (answer string, status int, began string) {
	ts.t.Helper()
	request, err := http.NewRequestWithContext(ts.t.Context(), method, ts.url+path, strings.NewReader(body))
	if err != nil {
		ts.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	if session != "" {
		request.Header.Set("Mcp-Session-Id", session)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		ts.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		ts.t.Fatal(err)
	}
	return string(text), response.StatusCode, response.Header.Get("Mcp-Session-Id")
}

func (ts tokenServer) post(token, session, body string) string {
	ts.t.Helper()
	answer, _, _ := ts.send(http.MethodPost, "/mcp", token, session, body)
	return answer
}

func (ts tokenServer) begin(token string) (session string) {
	ts.t.Helper()
	_, _, session = ts.send(http.MethodPost, "/mcp", token, "", mcptest.Initialize)
	return session
}

// Each caller of a server only sees what its rights allow, also in cached lists. Everything else is
// refused under every name and by every method.
func TestTokensHaveRights(t *testing.T) {
	t.Parallel()
	for _, mode := range surface.Modes() {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			ts := newTokenServer(t, mode, permission.Token{Name: "reader", Rules: permission.Rules{Deny: []string{"memory.clear", "session"}}})
			reader := tokenOf("reader")
			clear := regexp.MustCompile(`clear\(|"clear"|memory_clear`)
			own := map[string]string{adminToken: ts.begin(adminToken), reader: ts.begin(reader)}
			for range 3 { // the second and third are answered from the cache
				for token, session := range own {
					for _, request := range []string{
						`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"lazy":true}}`,
						`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"lazy":false}}`,
					} {
						list := ts.post(token, session, request)
						shows := strings.Contains(list, `"name":"session`)
						if shows != (token == adminToken) || !strings.Contains(list, `"name":"memory`) || token == reader && clear.MatchString(list) {
							t.Errorf("%s is listed, %s: %.300s", token, request, list)
						}
					}
				}
			}
			const absent, refused = "there is no tool", " is not permitted"
			for call, want := range map[string]string{
				`"tools/describe","params":{"tool_name":%q}`:                                                      absent,
				`"tools/describe_batch","params":{"tool_names":[%q]}`:                                             absent,
				`"tools/call","params":{"name":"tool_describe","arguments":{"name":%q}}`:                          absent,
				`"tools/call","params":{"name":"tool_load","arguments":{"names":[%q]}}`:                           absent,
				`"tools/call","params":{"name":"tool_call","arguments":{"name":%q,"arguments":{"confirm":true}}}`: refused,
				`"tools/call","params":{"name":%q,"arguments":{"confirm":true}}`:                                  refused,
			} {
				for _, name := range []string{"memory.clear", "memory_clear"} {
					request := `{"jsonrpc":"2.0","id":2,"method":` + fmt.Sprintf(call, name) + `}`
					if answer := ts.post(reader, own[reader], request); !strings.Contains(answer, want) || want == refused &&
						!strings.Contains(answer, name+refused) {
						t.Errorf("%s is answered %.300s, want %q", request, answer, want)
					}
					if answer := ts.post(adminToken, own[adminToken], request); strings.Contains(answer, absent) || strings.Contains(answer, refused) {
						t.Errorf("with all rights %s is answered %.300s", request, answer)
					}
				}
			}
			for request, want := range map[string]string{
				`"tools/call","params":{"name":"memory","arguments":{"action":"clear","confirm":true}}`:           "memory.clear is not permitted",
				`"tools/call","params":{"name":"tool_find","arguments":{"query":"empty the notebook, clear it"}}`: "results",
				`"tools/call","params":{"name":"session","arguments":{"action":"list"}}`:                          "session is not permitted",
				`"tools/call","params":{"name":"memory_store","arguments":{"key":"a","value":{}}}`:                "stored",
			} {
				answer := ts.post(reader, own[reader], `{"jsonrpc":"2.0","id":2,"method":`+request+`}`)
				if !strings.Contains(answer, want) || want == "results" && strings.Contains(answer, "clear") {
					t.Errorf("%s is answered %.300s", request, answer)
				}
			}
		})
	}
}

// The metrics cover all callers, so they need all rights.
func TestMetricsNeedAllRights(t *testing.T) {
	t.Parallel()
	ts := newTokenServer(t, surface.Consolidated, permission.Token{Name: "ci", Rules: permission.Rules{ReadOnly: true}},
		permission.Token{Name: "monitor"})
	for token, want := range map[string]int{adminToken: http.StatusOK, tokenOf("monitor"): http.StatusOK, tokenOf("ci"): http.StatusForbidden,
		"x": http.StatusUnauthorized} {
		if _, status, _ := ts.send(http.MethodGet, "/metrics", token, "", ""); status != want {
			t.Errorf("%s is answered %d, want %d", token, status, want)
		}
	}
}

// A session belongs to the token that started it.
func TestSessionsBelongToTokens(t *testing.T) {
	t.Parallel()
	ts := newTokenServer(t, surface.Consolidated, permission.Token{Name: "a"}, permission.Token{Name: "b"})
	session := ts.begin(tokenOf("a"))
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		if answer, status, _ := ts.send(method, "/mcp", tokenOf("b"), session,
			`{"jsonrpc":"2.0","id":2,"method":"ping"}`); status != http.StatusNotFound {
			t.Errorf("%s in the session of another is answered %d %s", method, status, answer)
		}
	}
	if answer := ts.post(tokenOf("a"), session, `{"jsonrpc":"2.0","id":2,"method":"ping"}`); !strings.Contains(answer, `"result":{}`) {
		t.Errorf("its own caller is answered %.300s", answer)
	}
}

// Changed rights in the file take effect, also in a session and for a cached list. A removed token
// is refused.
func TestRightsChange(t *testing.T) {
	t.Parallel()
	ts := newTokenServer(t, surface.Consolidated, permission.Token{Name: "ci"})
	session := ts.begin(tokenOf("ci"))
	eventually := func(what string, good func(answer string, status int) bool) {
		t.Helper()
		for deadline := time.Now().Add(patient); ; time.Sleep(50 * time.Millisecond) {
			answer, status, _ := ts.send(http.MethodPost, "/mcp", tokenOf("ci"), session, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
			if good(answer, status) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d %s", what, status, answer)
			}
		}
	}
	eventually("at first", func(answer string, _ int) bool { return strings.Contains(answer, "clear") })
	ts.write(permission.Token{Name: "ci", Rules: permission.Rules{Deny: []string{"*.clear"}}})
	eventually("denied", func(answer string, _ int) bool { return answer != "" && !strings.Contains(answer, "clear") })
	ts.write()
	eventually("removed", func(_ string, status int) bool { return status == http.StatusUnauthorized })
}

// Removing a token ends its streams, and no others.
func TestStreamsEndWithTheirToken(t *testing.T) {
	t.Parallel()
	ts := newTokenServer(t, surface.Consolidated, permission.Token{Name: "ci"}, permission.Token{Name: "monitor"})
	const listen = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` +
		mcptest.ModernMeta + `}}`
	open := func(token string, modern bool) (ended <-chan struct{}) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ts.url+"/mcp", nil)
		if modern {
			request, err = http.NewRequestWithContext(t.Context(), http.MethodPost, ts.url+"/mcp", strings.NewReader(listen))
		}
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Accept", "application/json, text/event-stream")
		if modern {
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Mcp-Protocol-Version", "2026-07-28")
			request.Header.Set("Mcp-Method", "subscriptions/listen")
		} else {
			request.Header.Set("Mcp-Session-Id", ts.begin(token))
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
			t.Fatalf("a stream is answered %d, %s", response.StatusCode, response.Header.Get("Content-Type"))
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer response.Body.Close()
			_, _ = io.Copy(io.Discard, response.Body)
		}()
		return done
	}
	for _, modern := range []bool{false, true} {
		mine, others := open(tokenOf("ci"), modern), open(tokenOf("monitor"), modern)
		ts.write(permission.Token{Name: "monitor"})
		select {
		case <-mine:
		case <-time.After(patient):
			t.Errorf("modern %t: a stream outlives its token", modern)
		}
		select {
		case <-others:
			t.Errorf("modern %t: the stream of a token that is there has ended", modern)
		default:
		}
		ts.write(permission.Token{Name: "ci"}, permission.Token{Name: "monitor"})
		for deadline := time.Now().Add(patient); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			if _, status, _ := ts.send(http.MethodPost, "/mcp", tokenOf("ci"), "", mcptest.Initialize); status == http.StatusOK {
				break
			}
		}
	}
}
