package everyaction_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// servedBench is a workbench behind HTTP.
type servedBench struct {
	*workbench.Bench
	server *httptest.Server
}

func serveBench(t *testing.T, o surface.Options) *servedBench {
	t.Helper()
	b := workbench.New(t, o)
	s, err := serve.New(serve.Options{
		Version: "test", Surface: b.Surface, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Structured: o.Structured,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler(""))
	t.Cleanup(server.Close)
	return &servedBench{b, server}
}

// modern is a request of protocol 2026-07-28, which needs no session.
const modern = `{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}}}}`

// toolResult is a tools/call result for a client.
type toolResult struct {
	Content           []struct{ Type, Text string } `json:"content"`
	StructuredContent json.RawMessage               `json:"structuredContent"`
	IsError           bool                          `json:"isError"`
	Meta              map[string]json.RawMessage    `json:"_meta"`
}

// content is the JSON of the one text block.
func (r toolResult) content(t *testing.T) json.RawMessage {
	t.Helper()
	if len(r.Content) != 1 || r.Content[0].Type != "text" || !json.Valid([]byte(r.Content[0].Text)) {
		t.Fatalf("not one text block of JSON: %v", r.Content)
	}
	return json.RawMessage(r.Content[0].Text)
}

func (s *servedBench) callTool(t *testing.T, name string, args json.RawMessage) toolResult {
	t.Helper()
	body := fmt.Sprintf(modern, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s,`, name, args))
	var result toolResult
	s.post(t, "tools/call", name, body, &result)
	return result
}

func (s *servedBench) post(t *testing.T, method, name, body string, result any) {
	t.Helper()
	request := httptest.NewRequest("POST", s.server.URL+"/mcp", strings.NewReader(body))
	request.RequestURI = ""
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	request.Header.Set("Mcp-Method", method)
	if name != "" {
		request.Header.Set("Mcp-Name", name)
	}
	response, err := s.server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var message struct {
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.NewDecoder(response.Body).Decode(&message); err != nil {
		t.Fatalf("%s: %v (status %d)", method, err, response.StatusCode)
	}
	if message.Error != nil {
		t.Fatalf("%s %s: %s", method, name, message.Error)
	}
	if err := json.Unmarshal(message.Result, result); err != nil {
		t.Fatal(err)
	}
}
