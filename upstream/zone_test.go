package upstream_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold/upstream"
)

// The authorization server that the metadata of a server name gets no request if it is further inside the network than the
// server.
func TestInsideOfNetwork(t *testing.T) {
	t.Parallel()
	if os.Getenv("HTTPS_PROXY")+os.Getenv("https_proxy") != "" {
		t.Skip("a proxy decides what is reached")
	}
	asked := make(chan struct{}, 10)
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"new","token_type":"Bearer","expires_in":3600}`)
	}))
	defer inside.Close()
	ready := func(server string) error {
		vault := &upstream.MemoryVault{}
		entry := fmt.Sprintf(`{"login": {"url": %q, "token": {"access_token": "old", "refresh_token": "r", "expiry": %q}, "issued": %q,
			"client": {"id": "c", "tokenUrl": "%s/token"}}}`, server, time.Now().Add(-time.Hour).Format(time.RFC3339),
			time.Now().Add(-2*time.Hour).Format(time.RFC3339), inside.URL)
		if err := vault.Update(t.Context(), "ada", "files", func([]byte) ([]byte, error) { return []byte(entry), nil }); err != nil {
			t.Fatal(err)
		}
		return upstream.CallerLogins{Vault: vault}.Of("ada", "files", server).Ready(t.Context())
	}
	for _, server := range []string{"https://8.8.8.8/mcp", "https://10.0.0.1/mcp", "https://[::ffff:10.0.0.1]/mcp", "https://100.64.0.1/mcp",
		"https://files.invalid/mcp"} {
		if err := ready(server); err == nil || !strings.Contains(err.Error(), "further inside the network") {
			t.Errorf("%s: %v", server, err)
		}
	}
	if len(asked) > 0 {
		t.Fatal("it is asked")
	}
	for _, server := range []string{"http://127.0.0.1/mcp", "http://localhost:1/mcp", "http://169.254.169.254/mcp"} {
		if err := ready(server); err != nil {
			t.Errorf("%s: %v", server, err)
		}
	}
}
