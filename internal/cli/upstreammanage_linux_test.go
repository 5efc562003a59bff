package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// restart ends the process of a shared server, and the next call starts another. Standard error of both
// is in one log, without values of the environment.
func TestRestartAndLog(t *testing.T) {
	t.Parallel()
	m := newSandbox(t)
	m.store = "memory:"
	mark := fmt.Sprintf("MANAGED_BY=%d", os.Getpid())
	m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"), fmt.Sprintf(`{"upstreams":{
		"up":{"command":"sh","args":["-c","echo begins with $TOKEN >&2; exec toolfold serve --store=memory: --tier=core"],
		"env":{"TOKEN":"a-secret-value","MANAGED_BY":%q}},
		"web":{"url":"http://127.0.0.1:1/mcp"}, "own":{"command":"sh","isolate":"session"}}}`, strings.TrimPrefix(mark, "MANAGED_BY=")))
	run := func(args ...string) string {
		out, err := m.command(t, args...).CombinedOutput()
		if err != nil {
			return fmt.Sprintf("%v: %s", err, out)
		}
		return string(out)
	}
	if output := run("upstream", "check", "up"); strings.Contains(output, "exit status") {
		t.Fatal(output)
	}
	if output := run("upstream", "restart", "up"); output != "up is not running; the next call starts it\n" {
		t.Errorf("without a session it says %q", output)
	}
	c := m.client(t)
	const list = `{"name":"up.memory","arguments":{"action":"list"}}`
	c.expect(t, "tool_call", list)
	before := processesWith(mark)
	if output := run("upstream", "restart", "up"); output != "restarted up: 1 session uses it\n" {
		t.Errorf("it says %q", output)
	}
	c.expect(t, "tool_call", list)
	if after := processesWith(mark); len(before) != 1 || len(after) != 1 || before[0] == after[0] {
		t.Errorf("processes %v, then %v", before, after)
	}
	log := run("upstream", "log", "up")
	if n := strings.Count(log, " stderr  begins with xxxxx\n"); n != 3 || strings.Contains(log, "a-secret-value") {
		t.Errorf("%d processes began in the log: %s", n, log)
	}
	if log := run("upstream", "log", "up", "--lines=1"); strings.Count(log, "\n") != 1 {
		t.Errorf("one line is %q", log)
	}
	for name, want := range map[string]string{
		"web": "is reached at its url", "own": "has a process for each session", "ups": `did you mean "up"`,
	} {
		if output := run("upstream", "restart", name); !strings.Contains(output, want) || !strings.HasPrefix(output, "exit status") {
			t.Errorf("%s: %s", name, output)
		}
	}
}
