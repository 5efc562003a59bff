package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
)

// askServer is an MCP server with the tool ask_item. It asks the user for a fruit, ASK_TIMES times or once, and returns
// the last answer.
func askServer() {
	lines := bufio.NewScanner(os.Stdin)
	var call json.RawMessage // id of the call that asks
	times, open := 1, 0
	if text := os.Getenv("ASK_TIMES"); text != "" {
		times, _ = strconv.Atoi(text)
	}
	ask := func() {
		open--
		fmt.Println(`{"jsonrpc":"2.0","id":"question","method":"elicitation/create","params":{"message":"Which fruit?",` +
			`"requestedSchema":{"type":"object","required":["fruit"],"properties":{"fruit":{"type":"string","enum":["apple","plum"]}}}}}`)
	}
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
		}
		_ = json.Unmarshal(lines.Bytes(), &m)
		switch {
		case m.Method == "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},`+
				`"serverInfo":{"name":"ask","version":"1"}}}`+"\n", m.ID)
		case m.Method == "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"ask_item","description":"Ask for an item.",`+
				`"inputSchema":{"type":"object"}}]}}`+"\n", m.ID)
		case m.Method == "tools/call":
			call, open = m.ID, times
			ask()
		case string(m.ID) == `"question"` && open > 0:
			ask()
		case string(m.ID) == `"question"`:
			text, _ := json.Marshal("answered " + string(m.Result))
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`+"\n", call, text)
		case m.ID != nil:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
		}
	}
}
