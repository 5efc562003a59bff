package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/upstream"
)

// refusingServer is a server whose tools, prompts and resources answer with an error.
func refusingServer(t *testing.T, failed string) gateway.Upstream {
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m message
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "application/json")
		result := `"error":` + failed
		switch m.Method {
		case "initialize":
			result = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"s","version":"1"}}`
		case "tools/list":
			result = `"result":{"tools":[{"name":"pay","inputSchema":{"type":"object"}},{"name":"get","inputSchema":{"type":"object"}}]}`
		case "prompts/list":
			result = `"result":{"prompts":[{"name":"hello"}]}`
		case "server/discover":
			result = `"error":{"code":-32601,"message":"no"}`
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, result)
	}))
	t.Cleanup(at.Close)
	return gateway.Upstream{Name: "srv", Server: upstream.Server{URL: at.URL}}
}

// The code and data of a refusal reach the client. Pages that the user must open are a protocol error;
// other refusals are in the tool's answer.
func TestRefusalsReachClients(t *testing.T) {
	t.Parallel()
	const pages = `{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://x.test/pay?id=1","message":"Pay first."}]}`
	for _, modern := range []bool{false, true} {
		client, g := throughGateway(t, modern, refusingServer(t, `{"code":-32042,"message":"Needs a page","data":`+pages+`}`))
		for _, tool := range []string{"srv.pay", "tool_call"} {
			arguments := map[string]string{"srv.pay": `{}`, "tool_call": `{"name":"srv.pay","arguments":{}}`}[tool]
			got := client.call(t, tool, arguments)
			if got.failed == nil || got.failed.Code != -32042 || string(got.failed.Data) != pages ||
				!strings.Contains(got.failed.Message, "ask the user to open https://x.test/pay?id=1, then call again") {
				t.Errorf("modern %t, %s: %s", modern, tool, got)
			}
		}
		g.Close()
	}
	const issues = `{"issues":[{"path":"a","why":"no such a"}]}`
	client, g := throughGateway(t, false, refusingServer(t, `{"code":-32602,"message":"bad","data":`+issues+`}`))
	defer g.Close()
	got := client.call(t, "srv.pay", `{}`)
	if text := string(got.result); !strings.Contains(text, `"isError":true`) || !strings.Contains(text, "bad (-32602)") ||
		!strings.Contains(text, strings.ReplaceAll(issues, `"`, `\"`)) {
		t.Errorf("a tool: %s", got)
	}
	if got := client.ask(t, "prompts/get", `"name":"srv-hello"`, "srv-hello"); got.failed == nil || string(got.failed.Data) != issues {
		t.Errorf("a prompt: %s", got)
	}
	client, g = throughGateway(t, false, refusingServer(t, `{"code":1,"message":"bad","data":"`+strings.Repeat("x", 5000)+`"}`))
	defer g.Close()
	if got := client.call(t, "srv.pay", `{}`); len(got.result) > 2500 || !strings.Contains(string(got.result), "…") {
		t.Errorf("long data: %s", got)
	}
}
