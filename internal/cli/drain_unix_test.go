//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolfold/toolfold/internal/test/testwait"
)

// web is a toolfold over HTTP. Its only upstream is [slowServer], whose calls are in a file.
type web struct {
	process
	t           *testing.T
	calls, base string
}

func (m sandbox) web(t *testing.T, args ...string) web {
	t.Helper()
	w := web{t: t, calls: filepath.Join(m.home, "calls")}
	m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"),
		fmt.Sprintf(`{"upstreams":{"up":{"command":"slow-mcp","args":[%q]}}}`, w.calls))
	m.learn(t)
	w.process = start(t, m.command(t, append([]string{"serve", "--tier=none", "--http=127.0.0.1:0"}, args...)...), nil)
	testwait.Until(t, "it serves", func() bool { return strings.Contains(w.stderr.String(), "serving MCP at ") })
	_, at, _ := strings.Cut(w.stderr.String(), "serving MCP at ")
	at, _, _ = strings.Cut(at, "\n")
	w.base = strings.TrimSuffix(at, "/mcp")
	return w
}

// call calls a tool that answers once a file exists. It returns the answer, or an empty string if the
// connection broke.
func (w web) call(tool, release string) string {
	request, err := http.NewRequest(http.MethodPost, w.base+"/mcp", strings.NewReader(fmt.Sprintf(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up.%s","arguments":{"until":%q},"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},`+
			`"io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, release)))
	if err != nil {
		w.t.Error(err)
		return ""
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "up." + tool} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return string(text)
}

// begin makes a call in another goroutine, and waits until the upstream has it.
func (w web) begin(tool, release string) <-chan string {
	w.t.Helper()
	answer := make(chan string, 1)
	go func() { answer <- w.call(tool, release) }()
	testwait.Until(w.t, "the call has arrived", func() bool {
		text, _ := os.ReadFile(w.calls)
		return strings.Contains(string(text), tool+"\n")
	})
	return answer
}

// status returns the status of /readyz; 0 if nothing listens.
func (w web) status() int {
	response, err := http.Get(w.base + "/readyz")
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

// A stopping server reports this to balancers. It answers running calls, and calls that arrive
// meanwhile.
func TestStopsWhenCallsHaveEnded(t *testing.T) {
	t.Parallel()
	m := newSandbox(t)
	w := m.web(t)
	if got := w.status(); got != http.StatusOK {
		t.Errorf("/readyz answers %d", got)
	}
	release := filepath.Join(m.home, "release")
	runs := w.begin("pay", release)
	w.signal(t, syscall.SIGTERM)
	testwait.Until(t, "it drains", func() bool { return w.status() == http.StatusServiceUnavailable })
	if text := w.call("send", ""); !strings.Contains(text, "send is done") {
		t.Errorf("a call while it drains is answered %s", text)
	}
	m.write(t, release, "")
	if text := <-runs; !strings.Contains(text, "pay is done") || !json.Valid([]byte(text)) {
		t.Errorf("the call that ran is answered %s", text)
	}
	if !w.ends(testwait.Limit) || w.ProcessState.ExitCode() != 0 {
		t.Errorf("ended with %v: %s", w.ProcessState, w.stderr)
	}
	w.endedInTime(t)
	if log := w.stderr.String(); strings.Contains(log, "level=") {
		t.Errorf("logged %s", log)
	}
}

// After the time of drainMs, running calls are cancelled and named.
func TestStopsAfterDrain(t *testing.T) {
	t.Parallel()
	m := newSandbox(t)
	w := m.web(t, "--drain-ms=200")
	runs := w.begin("pay", filepath.Join(m.home, "never"))
	w.signal(t, syscall.SIGTERM)
	if text := <-runs; !strings.Contains(text, "CANCELLED") {
		t.Errorf("the call is answered %q", text)
	}
	if !w.ends(testwait.Limit) || w.ProcessState.ExitCode() != 0 {
		t.Errorf("ended with %v: %s", w.ProcessState, w.stderr)
	}
	w.endedInTime(t)
	if log := w.stderr.String(); !strings.Contains(log, "requests are cancelled") || !strings.Contains(log, "tools/call up.pay") {
		t.Errorf("logged %s", log)
	}
}

// A second signal ends a server at once, even with running calls.
func TestSecondSignalEndsDrain(t *testing.T) {
	t.Parallel()
	m := newSandbox(t)
	w := m.web(t, "--drain-ms=600000")
	runs := w.begin("pay", filepath.Join(m.home, "never"))
	w.signal(t, syscall.SIGTERM)
	testwait.Until(t, "it drains", func() bool { return w.status() == http.StatusServiceUnavailable })
	w.signal(t, syscall.SIGTERM)
	if !w.ends(testwait.Limit) {
		t.Fatal("it goes on")
	}
	if text := <-runs; text != "" {
		t.Errorf("the call is answered %s", text)
	}
}
