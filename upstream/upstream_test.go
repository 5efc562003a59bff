package upstream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolfold/toolfold/upstream"
)

// A schema whose members are unsorted, to notice if it is decoded.
const schema = `{"type":"object","required":["b"],"properties":{"b":{"type":"string"},"a":{"type":"integer"}},"additionalProperties":false}`

// TestMain runs as a server on standard input and output if its arguments ask for that.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "play" {
		os.Exit(m.Run())
	}
	switch os.Args[2] {
	case "server":
		fmt.Println("Server is ready.") // many servers do, though it belongs on standard error
		_ = server(300).Run(context.Background(), &mcp.StdioTransport{})
	case "logger": // like loggers that write JSON, and languages that print objects
		fmt.Println(`{"level":30,"msg":"ready"}` + "\n{ level: 'info', tools: [\n  'a' ] }")
		fmt.Println(`{"msg":"got","message":{"jsonrpc":"2.0","id":1}}`)
		fmt.Println(`{ got: '{"jsonrpc":"2.0","id":1,"method":"initialize"}' }`)
		_ = server(1).Run(context.Background(), &mcp.StdioTransport{})
	case "environment":
		fmt.Fprintln(os.Stderr, "no access with", os.Getenv("SECRET"), "and", strings.Join(os.Args[3:], " "))
		os.Exit(3)
	case "silent":
		time.Sleep(time.Hour)
	case "deaf": // does not end when its input ends
		_ = os.WriteFile(os.Args[3], []byte(fmt.Sprint(os.Getpid())), 0o600)
		_ = server(1).Run(context.Background(), &mcp.StdioTransport{})
		time.Sleep(time.Hour)
	case "asks":
		_ = asks().Run(context.Background(), &mcp.StdioTransport{})
	case "odd":
		playOdd(os.Args[3], os.Args[4])
	case "newer":
		playNewer()
	case "watched":
		playWatched(os.Args[3])
	case "reads little":
		playReadsLittle()
	case "says":
		fmt.Fprintln(os.Stderr, os.Args[3])
		os.Exit(3)
	case "garbage":
		fmt.Println(`{"jsonrpc":`)
	}
	os.Exit(0)
}

// server returns a server that lists its tools ten at a time.
func server(tools int) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{Instructions: "Be brief.", PageSize: 10})
	for i := range tools {
		s.AddTool(&mcp.Tool{Name: fmt.Sprintf("get_%03d", i), Description: "Get <it>.", InputSchema: json.RawMessage(schema)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
			})
	}
	return s
}

func play(name string, more ...string) upstream.Server {
	return upstream.Server{Argv: append([]string{os.Args[0], "play", name}, more...)}
}

func checkAnswer(t *testing.T, a upstream.Answer, err error, tools int) {
	t.Helper()
	if err != nil || a.Instructions != "Be brief." || len(a.Tools) != tools {
		t.Fatalf("%q, %d tools, %v", a.Instructions, len(a.Tools), err)
	}
	for i, raw := range a.Tools {
		if !bytes.Contains(raw, []byte(fmt.Sprintf(`"get_%03d"`, i))) || !bytes.Contains(raw, []byte(schema)) {
			t.Errorf("tool %d is not as it was sent: %s", i, raw)
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	answer, err := upstream.List(t.Context(), play("server"), "1")
	checkAnswer(t, answer, err, 300)
}

// Log lines on standard output are skipped, as clients do.
func TestLogger(t *testing.T) {
	t.Parallel()
	answer, err := upstream.List(t.Context(), play("logger"), "1")
	checkAnswer(t, answer, err, 1)
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]*mcp.StreamableHTTPOptions{
		"sessions": {}, "stateless": {Stateless: true}, "JSON": {JSONResponse: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server(25) }, options)
			versions := make(chan string, 100)
			at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer letmein" {
					http.Error(w, "no: "+r.Header.Get("Authorization"), http.StatusUnauthorized)
					return
				}
				versions <- r.Header.Get("Mcp-Protocol-Version")
				handler.ServeHTTP(w, r)
			}))
			defer at.Close()
			s := upstream.Server{URL: at.URL + "/mcp", Header: http.Header{"Authorization": {"Bearer letmein"}}}
			answer, err := upstream.List(t.Context(), s, "1")
			checkAnswer(t, answer, err, 25)
			close(versions)
			last := ""
			for last = range versions {
			}
			if last == "" {
				t.Error("requests after the first have no protocol version")
			}
			s.Header.Set("Authorization", "Bearer wrongwrong")
			if _, err := upstream.List(t.Context(), s, "1"); err == nil || strings.Contains(err.Error(), "wrongwrong") ||
				!strings.Contains(err.Error(), "Unauthorized") {
				t.Errorf("%v", err)
			}
		})
	}
}

// A server that only supports the handshake of 2025-11-25.
func TestOlderHTTP(t *testing.T) {
	t.Parallel()
	var versions []string
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&request)
		result := map[string]string{
			"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"},` +
				`"instructions":"Be brief."}`,
			"tools/list": `{"tools":[{"name":"get_000","inputSchema":` + schema + `}]}`,
		}[request.Method]
		w.Header().Set("Content-Type", "application/json")
		switch {
		case request.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case result == "":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, request.ID)
		default:
			if request.Method == "tools/list" {
				versions = append(versions, r.Header.Get("Mcp-Protocol-Version"))
			}
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, result)
		}
	}))
	defer at.Close()
	answer, err := upstream.List(t.Context(), upstream.Server{URL: at.URL}, "1")
	checkAnswer(t, answer, err, 1)
	if len(versions) != 1 || versions[0] != "2025-06-18" {
		t.Errorf("the list was asked for with versions %q", versions)
	}
}

// The older transport is used if the settings name it, or if the server requires it. Its session
// outlives the context that opened it.
func TestSSE(t *testing.T) {
	t.Parallel()
	handler := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server(12) }, nil)
	for name, s := range map[string]upstream.Server{"named": {SSE: true}, "found": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := httptest.NewServer(handler)
			defer at.CloseClientConnections()
			s.URL = at.URL
			ctx, cancel := context.WithCancel(t.Context())
			session, err := upstream.Connect(ctx, s, upstream.Client{Name: "test", Version: "1"})
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			answer, err := session.List(t.Context())
			checkAnswer(t, answer, err, 12)
		})
	}
}

// If there is no MCP server at a URL, the error explains that to the user.
func TestNoServer(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	say := func(path string, status int, kind, text string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			if kind == "location" {
				w.Header().Set("Location", text)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		})
	}
	say("/unauthorized", 401, "application/json", `{"error":"invalid_token"}`)
	say("/forbidden", 403, "text/plain", "no")
	say("/page", 200, "text/html; charset=utf-8", "<html>Welcome</html>")
	say("/broken", 503, "text/html", "<html>")
	say("/json", 200, "application/json", `{"hello":1}`)
	say("/cut", 200, "application/json", `{"jsonrpc":"2.0","id":1,"res`)
	say("/empty", 200, "application/json", "")
	say("/login", 302, "location", "/page")
	say("/circle", 307, "location", "/circle")
	say("/refused", 400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: no such tenant"}}`)
	at := httptest.NewServer(mux)
	defer at.Close()
	for path, want := range map[string]string{
		"/unauthorized": "it answered 401 Unauthorized: it wants a header Authorization, or toolfold upstream add and then login",
		"/forbidden":    "it answered 403 Forbidden",
		"/none":         "it answered 404 Not Found: is there an MCP server at this URL?",
		"/page":         "it answered with text/html: is there an MCP server at this URL?",
		"/broken":       "it answered 503 Service Unavailable",
		"/json":         "its answer has no result",
		"/cut":          "its answer broke off, or is no JSON",
		"/empty":        "its answer broke off, or is no JSON",
		"/login":        "it redirects to the page " + at.URL + "/page: is there an MCP server at this URL?",
		"/circle":       "it redirects again and again",
		"/refused":      `calling "initialize": Bad Request: no such tenant`,
	} {
		_, err := upstream.List(t.Context(), upstream.Server{URL: at.URL + path}, "1")
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	sent := http.Header{"Authorization": {"Bearer x"}}
	_, err := upstream.List(t.Context(), upstream.Server{URL: at.URL + "/unauthorized", Header: sent}, "1")
	if want := "it answered 401 Unauthorized: it does not take the header Authorization that it is sent"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// Redirects within a host are followed for all requests.
func TestRedirect(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.Handle("/", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server(1) }, nil))
	mux.Handle("/old", http.RedirectHandler("/new", http.StatusTemporaryRedirect))
	at := httptest.NewServer(mux)
	defer at.Close()
	session, err := upstream.Connect(t.Context(), upstream.Server{URL: at.URL + "/old"}, upstream.Client{Name: "test", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.Call(t.Context(), upstream.Call{Tool: "get_000", Arguments: json.RawMessage(`{"b":"x"}`)})
	if err != nil || !strings.Contains(string(result), `"content":[]`) {
		t.Errorf("%s, %v", result, err)
	}
}

// Headers, arguments and variables are never sent to another server, and are in no error.
func TestFailures(t *testing.T) {
	t.Parallel()
	stolen := ""
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen += r.Header.Get("X-Api-Key") }))
	defer thief.Close()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
	}))
	defer elsewhere.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	secret := play("environment", "--key", "argumentsecret")
	secret.Env = []string{"SECRET=environmentsecret"}
	keyed := http.Header{"X-Api-Key": {"headersecret"}}
	for _, test := range []struct {
		server upstream.Server
		want   string
	}{
		{secret, "it ended: exit status 3; it printed: no access with xxxxx and --key xxxxx"},
		{play("garbage"), ""},
		{upstream.Server{Argv: []string{"toolfold-no-such-program"}}, "it does not start: executable file not found"},
		{upstream.Server{URL: elsewhere.URL + "/p?token=querysecret", Header: keyed}, "redirects to another server"},
		{upstream.Server{URL: gone.URL + "/pathsecret/mcp?x=querysecret", Header: keyed}, "connection refused"},
		{upstream.Server{URL: "ftp://x/pathsecret"}, "no http or https URL"},
		{upstream.Server{URL: "127.0.0.1:80"}, "no http or https URL"},
	} {
		_, err := upstream.List(t.Context(), test.server, "1")
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.server, err, test.want)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%v has a secret", err)
		}
	}
	if stolen != "" {
		t.Errorf("a redirect got %q", stolen)
	}
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	stuck := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that its client is gone
		<-r.Context().Done()
	}))
	defer stuck.Close()
	for _, s := range []upstream.Server{play("silent"), {URL: stuck.URL}} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if _, err := upstream.List(ctx, s, "1"); err == nil || err.Error() != "no answer in time" {
			t.Error(err)
		}
		cancel()
	}
}

// List ends the programs that it started, even if they do not end with their input.
func TestListEndsPrograms(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("kill"); err != nil {
		t.Skip("there is no kill to look with")
	}
	file := filepath.Join(t.TempDir(), "pid")
	answer, err := upstream.List(t.Context(), play("deaf", file), "1")
	checkAnswer(t, answer, err, 1)
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if exec.Command("kill", "-0", string(pid)).Run() == nil {
		t.Errorf("process %s still runs", pid)
	}
}
