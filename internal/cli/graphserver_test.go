package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// graphServer is an MCP server of the kind that users name memory, with tools, a prompt and a resource.
func graphServer() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		_ = json.Unmarshal(lines.Bytes(), &m)
		result := ""
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{}},` +
				`"serverInfo":{"name":"graph","version":"1"}}`
		case "tools/list":
			var tools []string
			for _, name := range strings.Fields("create_entities create_relations add_observations delete_entities delete_observations " +
				"delete_relations read_graph search_nodes open_nodes") {
				tools = append(tools, fmt.Sprintf(`{"name":%q,"description":"Does %s in the knowledge graph that is kept in a file of this server, `+
					`as its name says.","inputSchema":{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"}}}},`+
					`"annotations":{"readOnlyHint":%t}}`, name, name, strings.Contains("read_graph search_nodes open_nodes", name)))
			}
			result = `{"tools":[` + strings.Join(tools, ",") + `]}`
		case "prompts/list":
			result = `{"prompts":[{"name":"recall"}]}`
		case "resources/list":
			result = `{"resources":[{"uri":"graph://all","name":"all"}]}`
		case "tools/call":
			result = fmt.Sprintf(`{"content":[{"type":"text","text":"graph: %s"}]}`, m.Params.Name)
		}
		switch {
		case result != "":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		case m.ID != nil:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", m.ID)
		}
	}
}
