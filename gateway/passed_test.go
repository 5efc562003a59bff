package gateway_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/upstream"
)

// The client's _meta reaches a server, except for members of the connection, and so does the trace.
// Names in any script are encoded in headers as the revision requires.
func TestMembersSentWithCalls(t *testing.T) {
	t.Parallel()
	const tool = "résumé_取得"
	headers, metas := make(chan string, 10), make(chan string, 10)
	s := mcp.NewServer(&mcp.Implementation{Name: "srv", Version: "1"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	s.AddTool(&mcp.Tool{Name: tool, Description: "Get.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			meta, _ := json.Marshal(r.Params.Meta)
			metas <- string(meta)
			return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tools/call" {
			headers <- r.Header.Get("Mcp-Name")
			r.Header.Set("Mcp-Name", tool) // the server's library does not accept base64 here
		}
		handler.ServeHTTP(w, r)
	}))
	defer at.Close()
	client, g := throughGateway(t, false, gateway.Upstream{Name: "srv", Server: upstream.Server{URL: at.URL}})
	defer g.Close()
	if err := client.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	params := `{"name":` + quoted("srv."+tool) + `,"arguments":{},"_meta":{"progressToken":"mine","traceparent":"` + trace + `",` +
		`"example.com/tenant":{"a":1},"io.modelcontextprotocol/x":1,"toolfold/structured":false}}`
	if err := client.post(t.Context(), "tools/call", params, "", func(message) {}); err != nil {
		t.Fatal(err)
	}
	select {
	case meta := <-metas:
		if !strings.Contains(meta, `"example.com/tenant":{"a":1}`) ||
			!strings.Contains(meta, `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-`) ||
			strings.Contains(meta, `"mine"`) || strings.Contains(meta, "toolfold/") || strings.Contains(meta, "modelcontextprotocol/x") {
			t.Errorf("_meta: %s", meta)
		}
	default:
		t.Error("the call did not arrive")
	}
	select {
	case header := <-headers:
		if header != "=?base64?csOpc3Vtw6lf5Y+W5b6X?=" {
			t.Errorf("Mcp-Name: %s", header)
		}
	default:
		t.Log("the server was asked in an older era")
	}
}
