//go:build unix

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/test/testwait"
)

// learn asks the settings' upstreams for their tools, so that the next start knows them.
func (m sandbox) learn(t *testing.T) {
	t.Helper()
	if out, err := m.command(t, "upstream", "check").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// list returns the answer to a tools/list request.
func (c *client) list(t *testing.T) string {
	t.Helper()
	c.lastID++
	fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", c.lastID)
	var line string
	testwait.Until(t, "tools/list is answered", func() bool {
		_, rest, _ := strings.Cut(c.stdout.String(), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, c.lastID))
		var whole bool
		line, _, whole = strings.Cut(rest, "\n")
		return whole
	})
	return line
}

// At a first start, serve waits for upstreams only if their tools are listed, for the configured time.
// The server answers when the test allows it.
func TestFirstListWaits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args  []string
		waits bool
	}{
		{[]string{"--tier=none"}, true},
		{[]string{"--listing=full", "--fold=none", "--tier=core"}, true},
		{[]string{"--tool-mode=legacy"}, true},
		{[]string{"--listing=search"}, false},
		{[]string{"--listing=search", "--fold=none"}, false},
		{[]string{"--listing=search", "--tool-mode=legacy"}, false},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			t.Parallel()
			m := newSandbox(t)
			m.store = "memory:"
			mark, gate := filepath.Join(m.home, "asked"), filepath.Join(m.home, "gate")
			script := fmt.Sprintf("touch '%s'; until test -e '%s'; do sleep 0.1; done; exec toolfold serve --store=memory: --tier=core", mark, gate)
			m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"),
				fmt.Sprintf(`{"upstreamWaitMs":60000,"upstreams":{"late":{"command":"sh","args":["-c",%q]}}}`, script))
			c := m.client(t, test.args...)
			if !test.waits { // otherwise list waits for the file written next
				if first := c.list(t); strings.Contains(first, `"name":"late`) {
					t.Errorf("the first list is %s", first)
				}
				m.write(t, gate, "")
				return
			}
			testwait.Until(t, "the server was asked", func() bool { _, err := os.Stat(mark); return err == nil })
			m.write(t, gate, "")
			if first := c.list(t); !strings.Contains(first, `"name":"late`) {
				t.Errorf("the first list is %s", first)
			}
		})
	}
}

// A first start that does not wait lists the known tools. A server is listed once it has answered. For
// one that never does, the answer is that it is still starting, also to calls of its tools.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	m := newSandbox(t)
	m.store = "memory:"
	gate := filepath.Join(m.home, "gate")
	m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"), fmt.Sprintf(`{"upstreams":{
		"late":{"command":"sh","args":["-c","until test -e '%s'; do sleep 0.1; done; exec toolfold serve --store=memory: --tier=core"]},
		"broken":{"command":"sh","args":["-c","echo no key >&2; exit 3"]},
		"silent":{"command":"sh","args":["-c","cat >'%s'"]}}}`, gate, filepath.Join(m.home, "heard")))
	c := m.client(t, "--tier=core", "--upstream-wait-ms=0")
	if first := c.list(t); !strings.Contains(first, `"name":"tools"`) || strings.Contains(first, `"name":"late"`) {
		t.Errorf("the first list is %s", first)
	}
	testwait.Until(t, "the silent one was asked", func() bool {
		return strings.Contains(c.call(t, "tools", `{"action":"list"}`), `"name":"silent","summary":"Tools of another server.",`+
			`"category":"silent","enabled":false,"reason":"it is still starting: call again in some seconds; `+
			`its tools are offered as soon as it has listed them"`)
	})
	for _, name := range []string{"late.memory", "late"} {
		c.expect(t, "tool_call", fmt.Sprintf(`{"name":%q,"arguments":{"action":"list"}}`, name), `"UPSTREAM_ERROR"`,
			fmt.Sprintf(`there is no tool \"%s\": the server late offers no tools now: it is still starting: call again in some seconds`, name),
			"tools.list shows late")
	}
	c.expect(t, "task.submit", `{"name":"n","input":{"tool":"late.memory"}}`, "the server late offers no tools now: it is still starting")
	testwait.Until(t, "the reason of the broken one is said", func() bool {
		answer := c.call(t, "broken.thing", `{}`)
		return strings.Contains(answer, "the server broken offers no tools now: it ended: exit status 3; it printed: no key; next try in ")
	})
	m.write(t, gate, "")
	testwait.Until(t, "a change of the list is told", func() bool {
		return strings.Contains(c.stdout.String(), "notifications/tools/list_changed")
	})
	if next := c.list(t); !strings.Contains(next, `"name":"late_write"`) {
		t.Errorf("the next list is %s", next)
	}
	c.expect(t, "tool_call", `{"name":"late.memory","arguments":{"action":"list"}}`)
	c.expect(t, "tools", `{"action":"list"}`, `"name":"silent"`, "it is still starting")
}
