package upstream

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// greeting returns the result of server/discover or initialize, reduced to the members that the library
// reads, each with a type that it can decode.
func greeting(result json.RawMessage) json.RawMessage {
	members, _ := ordered.Read(result)
	hello := ordered.Map{}
	for _, m := range members {
		value := m.Value.(json.RawMessage)
		switch m.Key {
		case "protocolVersion", "instructions":
			if text, ok := ordered.Text(value); ok {
				hello.Set(m.Key, cmp.Or(sameVersion[text], text))
			}
		case "supportedVersions":
			if list, ok := ordered.Texts(value); ok {
				hello.Set(m.Key, list)
			}
		case "serverInfo":
			hello.Set(m.Key, implementation(value))
		case "capabilities":
			hello.Set(m.Key, capabilities(value))
		case "_meta":
			var meta map[string]json.RawMessage
			if json.Unmarshal(value, &meta) == nil && meta[serverInfo] != nil {
				hello.Set(m.Key, map[string]any{serverInfo: implementation(meta[serverInfo])})
			}
		}
	}
	return ordered.MustJSON(hello)
}

// sameVersion maps a protocol version that the library does not know to a known one. The two do not
// differ in anything that the library reads.
var sameVersion = map[string]string{"2024-10-07": "2024-11-05"}

const serverInfo = "io.modelcontextprotocol/serverInfo"

// implementation reads a server's description of itself, whose members may have other types.
func implementation(raw json.RawMessage) map[string]string {
	text := func(raw json.RawMessage) string {
		s, ok := ordered.Text(raw)
		if !ok && len(raw) > 0 && raw[0] != '{' && raw[0] != '[' {
			s = string(raw)
		}
		return s
	}
	if name, ok := ordered.Text(raw); ok {
		return map[string]string{"name": name, "version": ""}
	}
	var info struct{ Name, Title, Description, Version json.RawMessage }
	_ = json.Unmarshal(raw, &info) // a value of another type leaves all members empty
	return map[string]string{
		"name": text(info.Name), "title": text(info.Title), "description": text(info.Description), "version": text(info.Version),
	}
}

// capabilities reads the server's capabilities. One that is not an object counts as an empty object,
// unless it is false or null.
func capabilities(raw json.RawMessage) ordered.Map {
	members, _ := ordered.Read(raw)
	offered := ordered.Map{}
	for _, m := range members {
		flags := ordered.Map{}
		value := m.Value.(json.RawMessage)
		if s := string(value); s == "false" || s == "null" {
			continue
		}
		switch m.Key {
		case "tools", "prompts", "resources", "logging", "completions":
			ordered.Scan(value, func(name []byte, start, end int) {
				if string(value[start:end]) == "true" {
					flags.Set(string(name), true)
				}
			})
			offered.Set(m.Key, flags)
		}
	}
	return offered
}

// namesOf returns a page of a list of tools, reduced to the tools whose schemas name headers. The
// library needs these for calls over HTTP.
func namesOf(page json.RawMessage) json.RawMessage {
	tools := []ordered.Map{}
	cursor := ""
	members, _ := ordered.Read(page)
	for _, m := range members {
		value := m.Value.(json.RawMessage)
		switch m.Key {
		case "nextCursor":
			cursor = cursorOf(value)
		case "tools":
			ordered.Items(value, func(item []byte) {
				var tool struct {
					Name        string
					InputSchema json.RawMessage
				}
				if json.Unmarshal(item, &tool) == nil && bytes.Contains(tool.InputSchema, []byte("x-mcp-header")) {
					tools = append(tools, ordered.Map{{Key: "name", Value: tool.Name}, {Key: "inputSchema", Value: tool.InputSchema}})
				}
			})
		}
	}
	return ordered.MustJSON(map[string]any{"tools": tools, "nextCursor": cursor})
}

// cursorOf reads the cursor of the next page, which some servers give as a number. It is empty on the
// last page.
func cursorOf(raw json.RawMessage) string {
	if text, ok := ordered.Text(raw); ok || len(raw) == 0 || kindOf(raw) != "a number" {
		return text
	}
	return string(raw)
}
