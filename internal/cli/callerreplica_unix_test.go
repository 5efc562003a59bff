//go:build unix

package cli

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
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

// Each step of a login may reach another server on the store, and the login holds at all of them.
func TestCallersLogInOverReplicas(t *testing.T) {
	t.Parallel()
	upstream := newTenants(t)
	m := newSandbox(t)
	m.store = storagetest.Postgres(t)
	m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"), fmt.Sprintf(`{"upstreams":{"team":{"url":"%s/mcp",`+
		`"login":"caller"}},"httpLogin":{"url":"http://tools.test/mcp"},"loginKeys":["${LOGIN_KEY:-%s}"]}`,
		upstream.URL, base64.StdEncoding.EncodeToString([]byte("the key of logins for this test!"))))
	out, err := m.command(t, "token", "add", "me").Output()
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(out))
	var replicas [2]process
	var at [2]string // host and port
	for i := range replicas {
		replicas[i] = start(t, m.command(t, "serve", "--http=127.0.0.1:0", "--tier=none", "--workspace=."), nil)
		testwait.Until(t, "it serves", func() bool { return strings.Contains(replicas[i].stderr.String(), " tools, ") })
		_, at[i], _ = strings.Cut(replicas[i].stderr.String(), "serving MCP at http://")
		at[i], _, _ = strings.Cut(at[i], "/mcp\n")
	}
	call := func(replica int, name string) string {
		answer, _ := mcptest.To(t, "http://"+at[replica]+"/mcp").Post(fmt.Sprintf(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":{},%s}}`, name, mcptest.ModernMeta),
			"Authorization", "Bearer "+token, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", name)
		return answer
	}
	link := regexp.MustCompile(`http://tools\.test/connect/team\?ticket=[\w.]+`).FindString(call(0, "team_login"))
	ada, next := newVisitor(t, "ada"), 0
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == "tools.test:80" { // each request reaches the next server
			next++
			address = at[next%len(at)]
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	ada.Transport = transport
	ada.logIn(link, token)
	if next < 3 {
		t.Errorf("%d requests of the browser", next)
	}
	for i := range replicas {
		testwait.Until(t, "the tools are offered", func() bool {
			return strings.Contains(call(i, "team_login"), "You are logged in") ||
				strings.Contains(call(i, "team_whoami"), "user ada")
		})
		if answer := call(i, "team_whoami"); !strings.Contains(answer, "user ada") {
			t.Errorf("the server %d answers %s", i, answer)
		}
		replicas[i].signal(t, syscall.SIGTERM)
		<-replicas[i].ended
	}
}
