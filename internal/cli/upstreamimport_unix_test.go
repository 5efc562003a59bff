//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// import asks a server at a URL like serve does, as a client with roots. Tools listed only for such
// clients are imported and stored.
func TestImportOffersRoots(t *testing.T) {
	t.Parallel()
	rooted := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Capabilities map[string]json.RawMessage
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "initialize":
			rooted = m.Params.Capabilities["roots"] != nil
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},`+
				`"serverInfo":{"name":"web","version":"1"}}}`, m.ID)
		case m.Method == "tools/list":
			tools := `{"name":"always","inputSchema":{"type":"object"}}`
			if rooted {
				tools += `,{"name":"in_roots","inputSchema":{"type":"object"}}`
			}
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, m.ID, tools)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		}
	}))
	defer server.Close()
	m := newSandbox(t)
	file := filepath.Join(m.home, "mcp.json")
	m.write(t, file, fmt.Sprintf(`{"mcpServers":{"web":{"type":"http","url":%q}}}`, server.URL))
	out, err := m.command(t, "upstream", "import", "--anyway", "--json", file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"upstream":"web","tools":2,`) {
		t.Errorf("%v: %s", err, out)
	}
}
