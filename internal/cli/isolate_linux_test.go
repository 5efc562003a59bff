package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/test/testwait"
)

// Over HTTP, each session has its own process of a server with "isolate": "session". It ends with the
// session, and all end with serve.
func TestIsolatedOverHTTP(t *testing.T) {
	t.Parallel()
	m := newSandbox(t)
	mark := fmt.Sprintf("ISOLATED_BY=%d", os.Getpid())
	m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"), fmt.Sprintf(
		`{"upstreams":{"up":{"command":"count-mcp","isolate":"session","env":{"ISOLATED_BY":"%d"}}}}`, os.Getpid()))
	m.learn(t)
	p := start(t, m.command(t, "serve", "--tier=none", "--http=127.0.0.1:0"), nil)
	testwait.Until(t, "it serves", func() bool { return strings.Contains(p.stderr.String(), "serving MCP at ") })
	_, at, _ := strings.Cut(p.stderr.String(), "serving MCP at ")
	at, _, _ = strings.Cut(at, "\n")
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"up.count","arguments":{}}}`
	expect := func(h *mcptest.HTTP, want string) {
		t.Helper()
		if answer, _ := h.Post(call); !strings.Contains(answer, want) {
			t.Errorf("it is answered %s, want %s", answer, want)
		}
	}
	one, other := mcptest.To(t, at), mcptest.To(t, at)
	one.Post(mcptest.Initialize)
	other.Post(mcptest.Initialize)
	expect(one, "count 1")
	expect(one, "count 2")
	expect(other, "count 1")
	expect(one, "count 3")
	stateless := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"up.count","arguments":{},` + mcptest.ModernMeta + `}}`
	if answer, _ := mcptest.To(t, at).Post(stateless, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call",
		"Mcp-Name", "up.count"); !strings.Contains(answer, "this call has no session") {
		t.Errorf("a call of no session is answered %s", answer)
	}
	testwait.Until(t, "no program runs for the list", func() bool { return len(processesWith(mark)) <= 2 })
	if status := one.Send(http.MethodDelete, "/mcp", "Mcp-Session-Id", one.Session).StatusCode; status != http.StatusOK {
		t.Errorf("deleting a session is answered %d", status)
	}
	testwait.Until(t, "the program of an ended session has ended", func() bool { return len(processesWith(mark)) == 1 })
	expect(other, "count 2")
	p.signal(t, syscall.SIGTERM)
	if !p.ends(testwait.Limit) || p.ProcessState.ExitCode() != 0 {
		t.Errorf("ended with %v: %s", p.ProcessState, p.stderr)
	}
	testwait.Until(t, "no program runs", func() bool { return len(processesWith(mark)) == 0 })
}

// A session with a process of its own stays with its server: others name that one, and go on with everything else.
// When the process ends, others can start one.
func TestIsolatedOverReplicas(t *testing.T) {
	t.Parallel()
	m := newSandbox(t)
	m.store = storagetest.Postgres(t)
	m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"),
		`{"upstreams":{"up":{"command":"count-mcp","isolate":"session"}}}`)
	m.learn(t)
	var replicas [2]process
	var at [2]string
	for i := range replicas {
		replicas[i] = start(t, m.command(t, "serve", "--http=127.0.0.1:0", "--workspace=."), nil)
		testwait.Until(t, "it serves", func() bool { return strings.Contains(replicas[i].stderr.String(), " tools, ") })
		_, at[i], _ = strings.Cut(replicas[i].stderr.String(), "serving MCP at ")
		at[i], _, _ = strings.Cut(at[i], "\n")
	}
	one, other := mcptest.To(t, at[0]), mcptest.To(t, at[1])
	one.Post(mcptest.Initialize)
	other.Session = one.Session
	call := func(h *mcptest.HTTP, name, arguments, want string) {
		t.Helper()
		answer, _ := h.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{%s}}`, callOf(name, arguments)))
		if !strings.Contains(answer, want) {
			t.Errorf("it is answered %s, want %s", answer, want)
		}
	}
	call(one, "up.count", "{}", "count 1")
	call(other, "up.count", "{}", fmt.Sprintf("the processes of this session run at the server %s/%d", hostName(t), replicas[0].Process.Pid))
	call(other, "memory", `{"action":"list"}`, "nothing is stored")
	call(one, "up.count", "{}", "count 2")
	replicas[0].signal(t, syscall.SIGTERM)
	<-replicas[0].ended
	call(other, "up.count", "{}", "count 1")
	replicas[1].signal(t, syscall.SIGTERM)
	<-replicas[1].ended
}

func hostName(t *testing.T) string {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return name
}
