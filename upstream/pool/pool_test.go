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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolfold/toolfold/upstream"
	"github.com/toolfold/toolfold/upstream/pool"
)

// TestMain is a host, or a server that is shared, when it is told so.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 4 && os.Args[1] == "share":
		if err := pool.Serve(os.Args[2], os.Args[3]); err != nil {
			os.Exit(1)
		}
	case len(os.Args) == 3 && os.Args[1] == "play":
		play(os.Args[2])
	default:
		os.Exit(m.Run())
	}
}

// play serves tools that say which process this is, and notes that in a folder.
func play(dir string) {
	pid := fmt.Sprint(os.Getpid())
	_ = os.WriteFile(filepath.Join(dir, pid), nil, 0o600)
	s := mcp.NewServer(&mcp.Implementation{Name: "play", Version: "1"}, nil)
	tool := func(name string, run func(context.Context, *mcp.CallToolRequest) string) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type": "object"}`)},
			func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: run(ctx, r)}}}, nil
			})
	}
	tool("pid", func(_ context.Context, r *mcp.CallToolRequest) string { return pid + " " + string(r.Params.Arguments) })
	tool("env", func(context.Context, *mcp.CallToolRequest) string { return strings.Join(os.Environ(), " ") })
	tool("die", func(context.Context, *mcp.CallToolRequest) string { os.Exit(3); return "" })
	tool("wait", func(ctx context.Context, r *mcp.CallToolRequest) string {
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1})
		<-ctx.Done()
		_ = os.WriteFile(filepath.Join(dir, "cancelled"), nil, 0o600)
		return ""
	})
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type": "object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer, asked := r.Params.InputResponses["who"].(*mcp.ElicitResult)
			if !asked {
				who := &mcp.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object"}`)}
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"who": who}, RequestState: "s<"}, nil
			}
			text := fmt.Sprint(answer.Action, answer.Content, r.Params.RequestState)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
	if strings.HasSuffix(dir, "deaf") {
		time.Sleep(time.Hour) // it does not end with its input
	}
}

func newPool(t *testing.T, version string) pool.Pool {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", "/tmp") // paths of sockets are short
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

func connect(t *testing.T, p pool.Pool, s upstream.Server, c upstream.Client) *pool.Session {
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
	var said struct{ Content []struct{ Text string } }
	if json.Unmarshal(result, &said) != nil || len(said.Content) != 1 {
		t.Fatalf("%s answers %s", tool, result)
	}
	return said.Content[0].Text
}

// running lists the processes that have noted themselves in a folder and run still.
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

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 1000 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s: it did not come about within 10 s", what)
}

// What is equal is shared, what is not is not, and ends with its last session, also where
// it is deaf.
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
	if err != nil || len(list.Tools) != 5 || !strings.Contains(string(list.Tools[0]), `"name":"ask"`) {
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
	before := time.Now()
	until(t, "the servers end", func() bool { return len(running(dir)) == 0 })
	if took := time.Since(before); took > 5*time.Second {
		t.Errorf("they ended after %s", took)
	}
	until(t, "the host ends", func() bool {
		_, err := os.Stat(filepath.Join(p.Dir, "upstreams.sock"))
		return errors.Is(err, os.ErrNotExist)
	})
}

// A server asks the client of the only call that runs; where several run, it is refused.
func TestAsk(t *testing.T) {
	p, dir := newPool(t, "1"), t.TempDir()
	client := func(name string) upstream.Client {
		return upstream.Client{Name: "t", Ask: func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
			if method != upstream.Elicit {
				return nil, errors.New(method)
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
	told, ended := make(chan upstream.Progress, 1), make(chan error)
	go func() {
		_, err := b.Call(ctx, upstream.Call{Tool: "wait", Arguments: json.RawMessage(`{}`), Progress: func(p upstream.Progress) { told <- p }})
		ended <- err
	}()
	if p := <-told; p.Done != 1 {
		t.Errorf("told of %+v", p)
	}
	if _, err := a.Call(t.Context(), upstream.Call{Tool: "ask"}); err == nil || !strings.Contains(err.Error(), "2 calls of this server run") {
		t.Errorf("beside another call: %v", err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	until(t, "the server hears that its call was cancelled", func() bool {
		_, err := os.Stat(filepath.Join(dir, "cancelled"))
		return err == nil
	})
}

// Whatever is killed, nothing is left, and the next session is served.
func TestKilled(t *testing.T) {
	p, dir := newPool(t, "1"), t.TempDir()
	s := connect(t, p, playing(dir), upstream.Client{Name: "t"})
	other := connect(t, p, playing(dir), upstream.Client{Name: "t"})
	if _, err := s.Call(t.Context(), upstream.Call{Tool: "die"}); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("a server that dies: %v", err)
	}
	for _, s := range []*pool.Session{s, other} {
		select {
		case <-s.Gone():
		case <-time.After(5 * time.Second):
			t.Error("a session of a server that died goes on")
		}
	}
	s = connect(t, p, playing(dir), upstream.Client{Name: "t"})
	call(t, s, "pid")
	pids := running(dir)
	host := hostOf(t, p)
	_ = syscall.Kill(host, syscall.SIGKILL)
	<-s.Gone()
	until(t, "the server ends with its host", func() bool { return len(running(dir)) == 0 })
	s = connect(t, p, playing(dir), upstream.Client{Name: "t"})
	call(t, s, "pid")
	if now := running(dir); len(now) != 1 || slices.Contains(pids, now[0]) {
		t.Errorf("then %v run, before %v", now, pids)
	}
}

// hostOf returns the process that listens at the socket of a pool.
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

// A host of another version is replaced, and keeps the sessions that it has.
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

// The folder of the socket is the user's alone.
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
