package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// slowServer is an MCP server whose tools answer once the file named by a call exists, or at once
// without one. It writes the name of each call into the file named by its argument.
func slowServer() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments struct{ Until string }
			}
		}
		_ = json.Unmarshal(lines.Bytes(), &m)
		switch m.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},`+
				`"serverInfo":{"name":"slow","version":"1"}}}`+"\n", m.ID)
		case "tools/list":
			var tools []string
			for _, name := range []string{"report", "pay", "send", "fail"} {
				tools = append(tools, fmt.Sprintf(`{"name":%q,"description":"Takes its time.","inputSchema":{"type":"object",`+
					`"properties":{"until":{"type":"string"}}},"annotations":{"idempotentHint":%t}}`, name, name == "report"))
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`+"\n", m.ID, strings.Join(tools, ","))
		case "tools/call":
			calls, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				panic(err)
			}
			fmt.Fprintln(calls, m.Params.Name)
			calls.Close()
			go func() {
				for file := m.Params.Arguments.Until; file != ""; time.Sleep(10 * time.Millisecond) {
					if _, err := os.Stat(file); err == nil {
						break
					}
				}
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, slowResult(m.Params.Name))
			}()
		default:
			if m.ID != nil {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
			}
		}
	}
}

// slowResult is the result of a tool of [slowServer].
func slowResult(tool string) string {
	return fmt.Sprintf(`{"content":[{"type":"text","text":"%s is done"},{"type":"image","data":"AA==","mimeType":"image/png"}],`+
		`"structuredContent":{"n":1.50},"isError":%t,"_meta":{"z":1.0}}`, tool, tool == "fail")
}

// countServer is an MCP server with a tool that counts its calls.
func countServer() {
	lines, count := bufio.NewScanner(os.Stdin), 0
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(lines.Bytes(), &m)
		switch {
		case m.Method == "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},`+
				`"serverInfo":{"name":"count","version":"1"}}}`+"\n", m.ID)
		case m.Method == "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"count","inputSchema":{"type":"object"}}]}}`+"\n", m.ID)
		case m.Method == "tools/call":
			count++
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"count %d"}]}}`+"\n", m.ID, count)
		case m.ID != nil:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
		}
	}
}
