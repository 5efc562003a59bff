//go:build unix

package cli

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/test/testwait"
)

// A change that one replica sees is held back at both, and offered at both once it is approved on any machine. What the
// first one had accepted in files of its disk before holds for all.
func TestReplicasShareApprovals(t *testing.T) {
	t.Parallel()
	store := storagetest.Postgres(t)
	version := filepath.Join(t.TempDir(), "version")
	machine := func() sandbox {
		m := newSandbox(t)
		m.store = store
		m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"), fmt.Sprintf(
			`{"upstreams":{"up":{"command":"small-mcp","args":[%q]}}}`, version))
		return m
	}
	first, second, shell := machine(), machine(), machine()
	first.write(t, version, "one")
	first.learn(t) // into its files, as there is no store yet
	run := func(m sandbox, want string, args ...string) string {
		t.Helper()
		cmd := m.command(t, append([]string{"upstream"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		return string(out)
	}
	if out := run(first, "nothing of up is held back", "approve", "up"); strings.Contains(out, "for all servers") {
		t.Errorf("the files are those of all: %s", out)
	}
	first.write(t, version, "two") // what a replica without files sees first

	serve := func(m sandbox) (process, *mcptest.HTTP) {
		p := start(t, m.command(t, "serve", "--tier=none", "--http=127.0.0.1:0"), nil)
		testwait.Until(t, "it serves", func() bool { return strings.Contains(p.stderr.String(), " tools, ") })
		_, at, _ := strings.Cut(p.stderr.String(), "serving MCP at ")
		at, _, _ = strings.Cut(at, "\n")
		h := mcptest.To(t, at)
		h.Post(mcptest.Initialize)
		return p, h
	}
	call := func(h *mcptest.HTTP, tool string) string {
		answer, _ := h.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{%s}}`, callOf(tool, "{}")))
		return answer
	}
	one, a := serve(first)
	two, b := serve(second)
	for name, h := range map[string]*mcptest.HTTP{"the first": a, "the second": b} {
		if list, _ := h.Post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); !strings.Contains(list, "one_only") ||
			strings.Contains(list, "two_only") {
			t.Errorf("%s lists %s", name, list)
		}
	}
	call(b, "up.get_item") // starts its server, whose list is compared
	testwait.Until(t, "the change is held back at both", func() bool {
		return strings.Contains(call(a, "up.get_item"), "is held back") && strings.Contains(call(b, "up.two_only"), "is held back")
	})

	page, opens := opened(t, shell)
	page.press(page.get("/servers/up", http.StatusOK), "approve get_item", nil, http.StatusOK)
	testwait.Until(t, "what the page approved is offered at both", func() bool {
		return strings.Contains(call(a, "up.get_item"), "of two") && strings.Contains(call(b, "up.get_item"), "of two")
	})
	shown := run(shell, "for all servers on the store postgres://", "approve", "up", "--dry-run")
	digest := regexp.MustCompile(`--digest (\w+)`).FindStringSubmatch(shown)
	if len(digest) == 0 || !strings.Contains(shown, "two_only") || strings.Contains(shown, "changed  get_item") {
		t.Fatalf("it shows %s", shown)
	}
	run(shell, "approved", "approve", "up", "--digest", digest[1])
	testwait.Until(t, "it is offered at both", func() bool {
		return strings.Contains(call(a, "up.two_only"), "of two") && strings.Contains(call(b, "up.two_only"), "of two")
	})
	if text := page.get("/servers/up", http.StatusOK); strings.Contains(text, "approve two_only") {
		t.Errorf("the page still shows it as held back: %s", text)
	}
	run(second, "nothing of up is held back", "approve", "up")
	run(first, "get_item", "fold", "up", "--again")
	for _, p := range []process{one, two, opens} {
		p.signal(t, syscall.SIGTERM)
		if !p.ends(testwait.Limit) || p.ProcessState.ExitCode() != 0 {
			t.Errorf("ended with %v: %s", p.ProcessState, p.stderr)
		}
	}
}
