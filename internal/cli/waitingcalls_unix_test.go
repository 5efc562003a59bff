//go:build unix

package cli

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/test/testwait"
)

// A call of 2026-07-28 whose upstream asks twice at one process goes on with the replies that reach another one. When
// its process ends or is killed, the client hears of it from the other one.
func TestWaitingCallsOverReplicas(t *testing.T) {
	t.Parallel()
	store := storagetest.Postgres(t)
	var replicas [3]process
	var at [3]*mcptest.HTTP
	for i := range replicas {
		m := newSandbox(t) // a machine of its own
		m.store = store
		m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"),
			`{"upstreams":{"up":{"command":"ask-mcp","env":{"ASK_TIMES":"2"}}}}`)
		m.learn(t)
		replicas[i] = start(t, m.command(t, "serve", "--http=127.0.0.1:0", "--tier=none"), nil)
		testwait.Until(t, "it serves", func() bool { return strings.Contains(replicas[i].stderr.String(), " tools, ") })
		_, url, _ := strings.Cut(replicas[i].stderr.String(), "serving MCP at ")
		url, _, _ = strings.Cut(url, "\n")
		at[i] = mcptest.To(t, url)
	}
	meta := strings.Replace(mcptest.ModernMeta, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{"form":{}}}`, 1)
	call := func(h *mcptest.HTTP, more string) string {
		t.Helper()
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{%s,%s%s}}`, callOf("up.ask_item", "{}"), more, meta)
		answer, _ := h.Post(body, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "up.ask_item")
		return answer
	}
	reply := func(asked, fruit string) string {
		t.Helper()
		state := regexp.MustCompile(`"requestState":"([^"]+)"`).FindStringSubmatch(asked)
		key := regexp.MustCompile(`"inputRequests":{"([^"]+)"`).FindStringSubmatch(asked)
		if state == nil || key == nil || !strings.Contains(asked, "Which fruit?") {
			t.Fatalf("it asks nothing: %s", asked)
		}
		return fmt.Sprintf(`"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"fruit":%q}}},`, state[1], key[1], fruit)
	}
	for _, path := range [][3]int{{0, 1, 1}, {0, 1, 2}, {1, 0, 1}, {2, 2, 0}} {
		asked := call(at[path[0]], "")
		asked = call(at[path[1]], reply(asked, "apple"))
		last := reply(asked, "plum")
		if answer := call(at[path[2]], last); !strings.Contains(answer, "answered ") || !strings.Contains(answer, "plum") {
			t.Errorf("by %v it is answered %s", path, answer)
		}
		if answer := call(at[path[1]], last); !strings.Contains(answer, "call again without requestState") {
			t.Errorf("a second retry is answered %s", answer)
		}
	}

	killed := reply(call(at[0], ""), "apple")
	replicas[0].signal(t, syscall.SIGKILL)
	<-replicas[0].ended
	for range 2 {
		if answer := call(at[1], killed); !strings.Contains(answer, "then call again without requestState") &&
			!strings.Contains(answer, "its server process has: look whether it was done") {
			t.Errorf("without its process it is answered %s", answer)
		}
	}
	stopped := reply(call(at[1], ""), "apple")
	replicas[1].signal(t, syscall.SIGTERM)
	<-replicas[1].ended
	if answer := call(at[2], stopped); !strings.Contains(answer, "its server process has: look whether it was done") {
		t.Errorf("after the end of its process it is answered %s", answer)
	}
	if asked := call(at[2], ""); !strings.Contains(asked, "Which fruit?") {
		t.Errorf("called again it is answered %s", asked)
	}
}
