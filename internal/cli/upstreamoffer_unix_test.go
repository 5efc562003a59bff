//go:build unix

package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/test/testwait"
)

// Resources and prompts of an upstream are traced and counted like calls.
func TestReadsOfUpstreamsAreRecorded(t *testing.T) {
	t.Parallel()
	m := newSandbox(t)
	m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"),
		`{"upstreams":{"up":{"command":"toolfold","args":["serve","--store=memory:","--resources=all"]}}}`)
	m.learn(t)
	c := m.client(t)
	c.expect(t, "tool_call", `{"name":"up.memory","arguments":{"action":"store","key":"k","value":{"a":1}}}`)
	request := func(method, params string) {
		t.Helper()
		c.lastID++
		fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.lastID, method, params)
		testwait.Until(t, method+" is answered", func() bool {
			return strings.Contains(c.stdout.String(), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, c.lastID))
		})
	}
	request("resources/read", `{"uri":"toolfold://upstream/up/toolfold://memory/default/k"}`)
	request("resources/read", `{"uri":"toolfold://upstream/up/toolfold://memory/default/none"}`)
	c.expect(t, "trace", `{"action":"list","status":"success"}`, "up.resources.read")
	c.expect(t, "trace", `{"action":"list","status":"failure"}`, "up.resources.read")
}
