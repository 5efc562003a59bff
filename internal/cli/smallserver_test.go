package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// smallServer is an MCP server with the tools get_item and put_item, a prompt and a resource. Its first
// argument, or the text of the file that it names, is part of all answers, and begins the name of another tool.
func smallServer() {
	name, long := os.Args[1], strings.Repeat(" It does what its name says.", 12) // large enough to be folded
	if text, err := os.ReadFile(name); err == nil {
		name = string(text)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(lines.Bytes(), &m)
		result, known := map[string]string{
			"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},` +
				`"serverInfo":{"name":"small","version":"1"},"instructions":"Items of ` + name + ` are here."}`,
			"tools/list": `{"tools":[{"name":"get_item","description":"Get an item of ` + name + `.` + long + `","inputSchema":{"type":"object"},` +
				`"annotations":{"readOnlyHint":true}},{"name":"put_item","description":"Put an item.` + long + `","inputSchema":{"type":"object"}},` +
				`{"name":"` + name + `_only","description":"What others lack.` + long + `","inputSchema":{"type":"object"}}]}`,
			"tools/call":               `{"content":[{"type":"text","text":"of ` + name + `"}]}`,
			"prompts/list":             `{"prompts":[{"name":"hello"}]}`,
			"prompts/get":              `{"messages":[{"role":"user","content":{"type":"text","text":"of ` + name + `"}}]}`,
			"resources/list":           `{"resources":[{"uri":"x:1","name":"first"}]}`,
			"resources/templates/list": `{"resourceTemplates":[]}`,
			"resources/read":           `{"contents":[{"uri":"x:1","text":"of ` + name + `"}]}`,
		}[m.Method]
		switch {
		case known:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		case m.ID != nil:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
		}
	}
}
