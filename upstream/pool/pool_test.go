//go:build unix

package pool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/upstream"
	"github.com/toolfold/toolfold/upstream/pool"
)

// TestMain runs as a host or as a shared server if its arguments ask for that.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 4 && os.Args[1] == "share":
		if err := pool.Serve(os.Args[2], os.Args[3]); err != nil {
			os.Exit(1)
		}
	case len(os.Args) == 3 && os.Args[1] == "play":
		play(os.Args[2])
	case len(os.Args) == 3 && os.Args[1] == "echo":
		news, _ := strconv.Atoi(os.Args[2])
		echo(news)
	default:
		os.Exit(m.Run())
	}
}

// play serves tools that return its process id. It records the id in a folder.
func play(dir string) {
	pid := fmt.Sprint(os.Getpid())
	_ = os.WriteFile(filepath.Join(dir, pid), nil, 0o600)
	s := mcp.NewServer(&mcp.Implementation{Name: "play", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: pid}}}, nil
	}
	s.AddResource(&mcp.Resource{URI: "x:1", Name: "one"}, read)
	s.AddPrompt(&mcp.Prompt{Name: "greet"}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: r.Params.Arguments["who"]}, nil
	})
	tool := func(name string, run func(context.Context, *mcp.CallToolRequest) string) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type": "object"}`)},
			func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: run(ctx, r)}}}, nil
			})
	}
	tool("pid", func(_ context.Context, r *mcp.CallToolRequest) string { return pid + " " + string(r.Params.Arguments) })
	tool("env", func(context.Context, *mcp.CallToolRequest) string { return strings.Join(os.Environ(), " ") })
	tool("touch", func(ctx context.Context, _ *mcp.CallToolRequest) string {
		return fmt.Sprint(s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "x:1"}))
	})
	tool("die", func(context.Context, *mcp.CallToolRequest) string { os.Exit(3); return "" })
	tool("wait", func(ctx context.Context, r *mcp.CallToolRequest) string {
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1})
		<-ctx.Done()
		_ = os.WriteFile(filepath.Join(dir, "cancelled"), nil, 0o600)
		return ""
	})
	tool("can", func(_ context.Context, r *mcp.CallToolRequest) string {
		declared, _ := json.Marshal(r.Params.Meta[mcp.MetaKeyClientCapabilities])
		return string(declared)
	})
	s.AddTool(&mcp.Tool{Name: "need", InputSchema: json.RawMessage(`{"type": "object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			data := json.RawMessage(`{"requiredCapabilities":{"roots":{},"sampling":{}}}`)
			return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "it takes a model", Data: data}
		})
	s.AddTool(&mcp.Tool{Name: "where", InputSchema: json.RawMessage(`{"type": "object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer, answered := r.Params.InputResponses["where"].(*mcp.ListRootsResult) //lint:ignore SA1019 servers ask for it as long as they do
			if !answered {
				//lint:ignore SA1019 as above
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"where": &mcp.ListRootsParams{}}}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer.Roots[0].URI}}}, nil
		})
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type": "object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer, answered := r.Params.InputResponses["who"].(*mcp.ElicitResult)
			if !answered {
				who := &mcp.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object"}`)}
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"who": who}, RequestState: "s<"}, nil
			}
			text := fmt.Sprint(answer.Action, answer.Content, r.Params.RequestState)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	log, err := os.OpenFile(filepath.Join(dir, "said-to-"+pid), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		panic(err)
	}
	tool("request", func(context.Context, *mcp.CallToolRequest) string { // asks by a request, like servers of 2025-11-25
		fmt.Println(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}`)
		for {
			text, _ := os.ReadFile(log.Name())
			for line := range strings.Lines(string(text)) {
				if strings.Contains(line, `"id":"q"`) {
					return line
				}
			}
			time.Sleep(10 * time.Millisecond) // this separate process polls its file
		}
	})
	_ = s.Run(context.Background(), &mcp.LoggingTransport{Transport: &mcp.StdioTransport{}, Writer: log})
	if strings.HasSuffix(dir, "deaf") {
		time.Sleep(time.Hour) // does not end with its input
	}
}

func newPool(t testing.TB, version string) pool.Pool {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", "/tmp") // socket paths must be short
	dir, err := pool.Dir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return at(dir, version)
}

func at(dir, version string) pool.Pool {
	return pool.Pool{Dir: dir, Version: version, Start: func(socket string) []string { return []string{"share", socket, version} }}
}

func playing(dir string, env ...string) upstream.Server {
	return upstream.Server{Argv: []string{os.Args[0], "play", dir}, Env: env, EnvOnly: true}
}

func connect(t testing.TB, p pool.Pool, s upstream.Server, c upstream.Client) *pool.Session {
	t.Helper()
	session, err := p.Connect(t.Context(), s, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

func call(t *testing.T, s *pool.Session, tool string) string {
	t.Helper()
	result, err := s.Call(t.Context(), upstream.Call{Tool: tool, Arguments: json.RawMessage(`{"a":1.50}`)})
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Content []struct{ Text string } }
	if json.Unmarshal(result, &answer) != nil || len(answer.Content) != 1 {
		t.Fatalf("%s answers %s", tool, result)
	}
	return answer.Content[0].Text
}

// running lists the processes recorded in a folder that still run.
func running(dir string) (pids []int) {
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		var pid int
		if _, err := fmt.Sscan(f.Name(), &pid); err == nil && syscall.Kill(pid, 0) == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Equal servers are shared, different ones are not. A server ends with its last session, even if it
// ignores its input.
func TestShare(t *testing.T) {
	p := newPool(t, "1")
	dir := filepath.Join(t.TempDir(), "deaf")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var sessions []*pool.Session
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range 10 {
		wait.Go(func() {
			s, err := p.Connect(t.Context(), playing(dir, "A=1"), upstream.Client{Name: "t"})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			sessions = append(sessions, s)
		})
	}
	wait.Wait()
	if pids := running(dir); len(pids) != 1 {
		t.Errorf("%d processes for 10 equal sessions", len(pids))
	}
	pid := call(t, sessions[0], "pid")
	for _, s := range sessions {
		if got := call(t, s, "pid"); got != pid || !strings.HasSuffix(got, `{"a":1.50}`) {
			t.Errorf("%s is answered by %s", pid, got)
		}
	}
	list, err := sessions[3].List(t.Context())
	if err != nil || len(list.Tools) != 10 || !strings.Contains(string(list.Tools[0]), `"name":"ask"`) {
		t.Errorf("%s, %v", list.Tools, err)
	}
	other := connect(t, p, playing(dir, "A=2"), upstream.Client{Name: "t"})
	if got := call(t, other, "pid"); got == pid {
		t.Error("a server with another environment is shared")
	}
	if got := call(t, other, "env"); got != "A=2" {
		t.Errorf("its environment is %s", got)
	}
	for _, s := range append(sessions, other) {
		s.Close()
	}
	testwait.Until(t, "the servers end", func() bool { return len(running(dir)) == 0 })
	testwait.Until(t, "the host ends", func() bool {
		_, err := os.Stat(filepath.Join(p.Dir, "upstreams.sock"))
		return errors.Is(err, os.ErrNotExist)
	})
}

// A question reaches the client of its call if the server names the call. Otherwise a first question
// waits until only one of the calls that ran when it came is left.
func TestAsk(t *testing.T) {
	p, dir := newPool(t, "1"), t.TempDir()
	client := func(name string) upstream.Client {
		return upstream.Client{Name: "t", Ask: func(_ context.Context, q upstream.Question) (json.RawMessage, error) {
			if q.Method != upstream.Elicit || q.Key != "who" {
				return nil, fmt.Errorf("%s under %q", q.Method, q.Key)
			}
			return json.RawMessage(`{"action":"accept","content":{"name":"` + name + `"}}`), nil
		}}
	}
	a, b := connect(t, p, playing(dir), client("a")), connect(t, p, playing(dir), client("b"))
	for want, s := range map[string]*pool.Session{"a": a, "b": b} {
		if got := call(t, s, "ask"); got != "acceptmap[name:"+want+"]s<" {
			t.Errorf("%s is asked: %s", want, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	progress, ended := make(chan upstream.Progress, 1), make(chan error)
	go func() {
		_, err := b.Call(ctx, upstream.Call{Tool: "wait", Arguments: json.RawMessage(`{}`),
			Progress: func(p upstream.Progress) { progress <- p }})
		ended <- err
	}()
	if p := <-progress; p.Done != 1 {
		t.Errorf("told of %+v", p)
	}
	if got := call(t, a, "ask"); got != "acceptmap[name:a]s<" {
		t.Errorf("beside another call a is asked: %s", got)
	}
	requested := make(chan string)
	go func() {
		result, err := a.Call(t.Context(), upstream.Call{Tool: "request", Arguments: json.RawMessage(`{}`)})
		requested <- fmt.Sprint(string(result), err)
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := <-requested; !strings.Contains(got, `elicitation/create under \\\"\\\"`) {
		t.Errorf("a request is answered with %s", got)
	}
	testwait.Until(t, "the server hears that its call was cancelled", func() bool {
		_, err := os.Stat(filepath.Join(dir, "cancelled"))
		return err == nil
	})
}

// A call of an asking tool waits until the other session's call has its answer. That call is notified
// that another waits.
func TestTurns(t *testing.T) {
	p, dir := newPool(t, "1"), t.TempDir()
	a, b := connect(t, p, playing(dir), upstream.Client{Name: "t"}), connect(t, p, playing(dir), upstream.Client{Name: "t"})
	questions, queue, ended := make(chan upstream.Question, 2), make(chan bool, 2), make(chan error, 2)
	begin := func(s *pool.Session, answer func(upstream.Question)) {
		go func() {
			_, err := s.Call(t.Context(), upstream.Call{
				Tool: "request", Arguments: json.RawMessage(`{}`), Asks: true, Queue: func(waits bool) { queue <- waits },
				Ask: func(_ context.Context, q upstream.Question) (json.RawMessage, error) {
					questions <- q
					answer(q)
					return json.RawMessage(`{"action":"decline"}`), nil
				},
			})
			ended <- err
		}()
	}
	begin(a, func(q upstream.Question) { <-q.Demand })
	<-questions
	begin(b, func(upstream.Question) {})
	for _, want := range []bool{true, false} {
		if waits := <-queue; waits != want {
			t.Errorf("the other call waits: %t, want %t", waits, want)
		}
	}
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// A server of 2026-07-28 gets the client's capabilities with each call, and asks that client. Calls
// without capabilities use those of all sessions.
func TestCapabilities(t *testing.T) {
	p, dir := newPool(t, "1"), t.TempDir()
	s := connect(t, p, playing(dir), upstream.Client{Name: "t"})
	answerOf := func(tool, capabilities string) string {
		t.Helper()
		c := upstream.Call{Tool: tool, Arguments: json.RawMessage(`{}`)}
		c.Ask = func(_ context.Context, q upstream.Question) (json.RawMessage, error) {
			return json.RawMessage(`{"roots":[{"uri":"file:///asked-by-` + q.Key + `"}]}`), nil
		}
		if capabilities != "" {
			c.Capabilities = json.RawMessage(capabilities)
		}
		result, err := s.Call(t.Context(), c)
		return fmt.Sprint(string(result), err)
	}
	for _, test := range []struct{ tool, capabilities, want string }{
		{"can", ``, `{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{}}`},
		{"can", `{}`, `"text":"{}"`},
		{"can", `{"roots":{},"sampling":{"tools":{}}}`, `"text":"{\"roots\":{},\"sampling\":{\"tools\":{}}}"`},
		{"where", `{"roots":{}}`, `"text":"file:///asked-by-where"`},
		{"where", ``, "roots/list is not passed on to clients here"},
	} {
		if got := answerOf(test.tool, test.capabilities); !strings.Contains(got, test.want) {
			t.Errorf("%s with %q: %s, want %s", test.tool, test.capabilities, got, test.want)
		}
	}
	_, err := s.Call(t.Context(), upstream.Call{Tool: "need", Arguments: json.RawMessage(`{}`), Capabilities: json.RawMessage(`{}`)})
	var refused *upstream.ProtocolError
	if !errors.As(err, &refused) || refused.Code != -32021 || refused.Lacking != "sampling" {
		t.Errorf("a tool that needs a model: %#v", err)
	}
}

// A server that sends a change notification before its first answer is shared like any other. Its
// sessions get the notification once they are open.
func TestChangeBeforeTheFirstAnswer(t *testing.T) {
	p := newPool(t, "1")
	for _, news := range []string{"1", "5000"} {
		changes := make(chan bool, 10_000)
		server := upstream.Server{Argv: []string{os.Args[0], "echo", news}, EnvOnly: true}
		s := connect(t, p, server, upstream.Client{Name: "t", Changed: func() { changes <- true }})
		if got := call(t, s, "x"); got != "x" {
			t.Errorf("%s: %s", news, got)
		}
		select {
		case <-changes:
		case <-s.Gone():
			t.Errorf("%s: the session ended, and was told nothing", news)
		}
	}
}

// Programs get the environment of their settings, added to the session's unless the settings replace
// it. The host outlives its first session and gets neither.
func TestEnvironments(t *testing.T) {
	p, dir := newPool(t, "1"), t.TempDir()
	env := func() string {
		s := connect(t, p, upstream.Server{Argv: []string{os.Args[0], "play", dir}, Env: []string{"A=1"}}, upstream.Client{Name: "t"})
		return " " + call(t, s, "env") + " "
	}
	for _, token := range []string{"first", "second"} {
		t.Setenv("TOKEN_OF_A_SESSION", token)
		got := env()
		for _, want := range []string{" TOKEN_OF_A_SESSION=" + token + " ", " A=1 ", " PATH=" + os.Getenv("PATH") + " "} {
			if !strings.Contains(got, want) {
				t.Errorf("the environment for the %s session lacks %s: %s", token, want, got)
			}
		}
	}
	host, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", hostOf(t, p)))
	if err != nil {
		t.Fatal(err)
	}
	for variable := range strings.SplitSeq(string(host), "\x00") {
		if variable != "" && !strings.HasPrefix(variable, "GO") {
			t.Errorf("the host has %s", variable)
		}
	}
}

// After any process is killed, no process is left behind, and the next session works.
func TestKilled(t *testing.T) {
	p, dir := newPool(t, "1"), t.TempDir()
	s := connect(t, p, playing(dir), upstream.Client{Name: "t"})
	other := connect(t, p, playing(dir), upstream.Client{Name: "t"})
	if _, err := s.Call(t.Context(), upstream.Call{Tool: "die"}); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("a server that dies: %v", err)
	}
	for _, s := range []*pool.Session{s, other} {
		testwait.Receive(t, "a session of a server that died ends", s.Gone())
	}
	s = connect(t, p, playing(dir), upstream.Client{Name: "t"})
	call(t, s, "pid")
	pids := running(dir)
	host := hostOf(t, p)
	_ = syscall.Kill(host, syscall.SIGKILL)
	<-s.Gone()
	testwait.Until(t, "the server ends with its host", func() bool { return len(running(dir)) == 0 })
	s = connect(t, p, playing(dir), upstream.Client{Name: "t"})
	call(t, s, "pid")
	if now := running(dir); len(now) != 1 || slices.Contains(pids, now[0]) {
		t.Errorf("then %v run, before %v", now, pids)
	}
}

// hostOf returns the id of the process that listens at a pool's socket.
func hostOf(t *testing.T, p pool.Pool) int {
	t.Helper()
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), "share\x00"+p.Dir) {
			var pid int
			_, _ = fmt.Sscanf(name, "/proc/%d/", &pid)
			return pid
		}
	}
	t.Skip("processes are not listed in /proc")
	return 0
}

// A host of another version is replaced, and keeps its existing sessions.
func TestAnotherVersion(t *testing.T) {
	p, dir := newPool(t, "1"), t.TempDir()
	old := connect(t, p, playing(dir), upstream.Client{Name: "t"})
	first := call(t, old, "pid")
	now := connect(t, at(p.Dir, "2"), playing(dir), upstream.Client{Name: "t"})
	if got := call(t, now, "pid"); got == first {
		t.Error("versions share a server")
	}
	if got := call(t, old, "pid"); got != first {
		t.Error("the old session has another server")
	}
}

// Only the user can access the folder of the socket.
func TestDir(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	if err := os.Chmod(os.Getenv("XDG_RUNTIME_DIR"), 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := pool.Dir("data")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Dir("data"); err == nil {
		t.Error("a folder that others can open is used")
	}
}

// Prompts and resources are shared too. Each session is notified of the resources that it watches,
// until it stops watching or leaves.
func TestOffers(t *testing.T) {
	p := newPool(t, "1")
	dir := t.TempDir()
	updates := make(chan string, 10)
	client := func(name string) upstream.Client {
		return upstream.Client{Name: name, Version: "1", Updated: func(uri string) { updates <- name + " " + uri }}
	}
	a, b := connect(t, p, playing(dir), client("a")), connect(t, p, playing(dir), client("b"))
	answer, err := a.List(t.Context())
	if err != nil || len(answer.Resources) != 1 || len(answer.Prompts) != 1 || len(answer.Problems) > 0 {
		t.Fatalf("%s %s %v %v", answer.Prompts, answer.Resources, answer.Problems, err)
	}
	greeting, err := b.Call(t.Context(), upstream.Call{
		Method: upstream.GetPrompt, Params: json.RawMessage(`{"name":"greet","arguments":{"who":"me"}}`),
	})
	if err != nil || !strings.Contains(string(greeting), `"description":"me"`) {
		t.Errorf("a prompt is %s, %v", greeting, err)
	}
	expect := func(want ...string) {
		t.Helper()
		call(t, a, "touch")
		var names []string
		for len(names) < len(want) {
			names = append(names, testwait.Receive(t, fmt.Sprintf("told %q, want %q", names, want), updates))
		}
		for more := true; more; {
			select {
			case name := <-updates:
				names = append(names, name)
			case <-time.After(300 * time.Millisecond): // unwanted notifications would come at once
				more = false
			}
		}
		if slices.Sort(names); !slices.Equal(names, want) {
			t.Errorf("told %q, want %q", names, want)
		}
	}
	expect()
	for _, s := range []*pool.Session{a, b} {
		if err := s.Watch(t.Context(), "x:1", true); err != nil {
			t.Fatal(err)
		}
	}
	expect("a x:1", "b x:1")
	if err := a.Watch(t.Context(), "x:1", false); err != nil {
		t.Fatal(err)
	}
	expect("b x:1")
	b.Close()
	expect()
	if err := a.Watch(t.Context(), "x:1", true); err != nil {
		t.Fatal(err)
	}
	expect("a x:1")
}
