package serve_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/lazy"
)

// Only the server's own address and the configured hosts are served, and only to pages of these, on
// every path.
func TestHostsAndOrigins(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Lazy)
	server := httptest.NewServer(s.Handler("", "tools.example", "[2001:db8::1]:8137"))
	defer server.Close()
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	own, port := at.Host, at.Port()
	for _, test := range []struct {
		why, host, origin string
		refused           bool
	}{
		{"its own address", own, "", false},
		{"the name of it", "localhost:" + port, "", false},
		{"in other letters", "LOCALHOST:" + port, "http://LocalHost:" + port, false},
		{"a page of its own", own, "http://" + own, false},
		{"another name", "evil.example", "", true},
		{"another name with a page to it", "evil.example", "http://evil.example", true},
		{"another name with its port", "evil.example:" + port, "", true},
		{"a name that begins alike", "127.0.0.1.evil.example:" + port, "", true},
		{"another port", "127.0.0.1:1", "", true},
		{"no port", "127.0.0.1", "", true},
		{"another loopback address", "127.0.0.2:" + port, "", true},
		{"that of IPv6", "[::1]:" + port, "", true},
		{"a dot behind the name", "localhost.:" + port, "", true},
		{"a page of another site", own, "https://evil.example", true},
		{"a page of another local server", own, "http://localhost:3000", true},
		{"an extension", own, "chrome-extension://localhost", true},
		{"an extension at its port", own, "chrome-extension://localhost:" + port, true},
		{"the same host with TLS", own, "https://" + own, true},
		{"a user in the origin", own, "http://user@" + own, true},
		{"a path in the origin", own, "http://" + own + "/", true},
		{"a page without an origin", own, "null", true},
		{"a list of origins", own, "http://" + own + " http://" + own, true},
		{"a host it was given", "tools.example", "https://tools.example", false},
		{"with a port", "TOOLS.example:8443", "https://tools.example:8443", false},
		{"below a host it was given", "sub.tools.example", "", true},
		{"a host and port it was given", "[2001:db8::1]:8137", "", false},
		{"with another port", "[2001:db8::1]:8138", "", true},
	} {
		for _, path := range []string{"/mcp", "/metrics", "/healthz", "/elsewhere"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = test.host
			if test.origin != "" {
				request.Header.Set("Origin", test.origin)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if refused := response.StatusCode == http.StatusForbidden; refused != test.refused {
				t.Errorf("%s: %s for host %q and origin %q is answered %d", test.why, path, test.host, test.origin, response.StatusCode)
			}
		}
	}
	h := mcptest.ConnectTo(t, s.Handler(""))
	if got := h.Send(http.MethodGet, "/metrics", "Sec-Fetch-Site", "cross-site").StatusCode; got != http.StatusForbidden {
		t.Errorf("what a page of another site embeds is answered %d", got)
	}
}

// A request for a wrong host is rejected before its body arrives.
func TestHostIsCheckedBeforeTheBody(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t, lazy.Lazy)
	server := httptest.NewServer(s.Handler(""))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{")
	conn.SetReadDeadline(time.Now().Add(testwait.Limit))
	head := make([]byte, 12)
	if _, err := conn.Read(head); err != nil || !strings.HasSuffix(string(head), "403") {
		t.Errorf("answered %q, %v", head, err)
	}
}
