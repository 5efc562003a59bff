// Package plain serves an echo tool and a given list of tools on an MCP library alone, or without a
// library. Our server is compared with it.
package plain

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tool is a tool in the form of tools/list.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// Libraries are the names that Serve accepts.
var Libraries = []string{"mcp-go", "go-sdk", "go-sdk-stateless", NoLibrary}

// NoLibrary does not implement MCP: it reads each request and writes the list of tools, encoded
// once. No server on net/http lists faster.
const NoLibrary = "net/http"

// Serve serves over stdio, or over HTTP if listen is set; it then prints the address on standard
// error. Every tool echoes.
func Serve(ctx context.Context, library string, tools []Tool, listen bool) error {
	switch library {
	case "mcp-go":
		return serveMCPGo(ctx, tools, listen)
	case NoLibrary:
		return serveBytes(tools)
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "plain", Version: "1"}, nil)
	for _, tool := range tools {
		s.AddTool(&sdk.Tool{Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema},
			func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				var args struct{ Text string }
				_ = json.Unmarshal(r.Params.Arguments, &args)
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: args.Text}}}, nil
			})
	}
	if !listen {
		return s.Run(ctx, &sdk.StdioTransport{})
	}
	return serveHTTP(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{JSONResponse: true, Stateless: library == "go-sdk-stateless"}))
}

func serveMCPGo(ctx context.Context, tools []Tool, listen bool) error {
	s := server.NewMCPServer("plain", "1")
	for _, tool := range tools {
		s.AddTool(mcp.NewToolWithRawSchema(tool.Name, tool.Description, tool.InputSchema),
			func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText(r.GetString("text", "")), nil
			})
	}
	if !listen {
		stdio := server.NewStdioServer(s)
		stdio.SetErrorLogger(nil)
		return stdio.Listen(ctx, os.Stdin, os.Stdout)
	}
	return serveHTTP(server.NewStreamableHTTPServer(s, server.WithStateful(true),
		server.WithStreamableHTTPLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))))
}

func serveBytes(tools []Tool) error {
	list, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "result": map[string]any{"tools": tools}})
	if err != nil {
		return err
	}
	length := strconv.Itoa(len(list))
	return serveHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", length)
		_, _ = w.Write(list)
	}))
}

func serveHTTP(handler http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "http://%s/mcp\n", listener.Addr())
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	return http.Serve(listener, mux)
}
