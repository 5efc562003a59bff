package unseen

import (
	"bytes"
	"encoding/json"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Explained returns a definition or a schema whose texts for readers (description, title and $comment) are
// without characters that hide. All other bytes stay, so that names and values are those of the server.
// Raw must be valid JSON.
func Explained(raw json.RawMessage) json.RawMessage {
	if Removed(string(raw)) == string(raw) && !bytes.Contains(raw, []byte(`\`)) { // as most are
		return raw
	}
	var out bytes.Buffer
	done := 0
	with := func(start, end int, value []byte) {
		out.Write(raw[done:start])
		out.Write(value)
		done = end
	}
	ordered.Scan(raw, func(name []byte, start, end int) {
		value := raw[start:end]
		text, isText := ordered.Text(value)
		switch string(name) {
		case "description", "title", "$comment":
			if shown := Removed(text); isText && shown != text {
				with(start, end, ordered.MustJSON(shown))
				return
			}
		case "default", "const", "enum", "examples": // values, whose members have any name
			return
		}
		if !isText {
			with(start, end, Explained(value))
		}
	})
	start := 1
	ordered.Items(raw, func(item []byte) {
		start += bytes.Index(raw[start:], item)
		with(start, start+len(item), Explained(item))
		start += len(item)
	})
	out.Write(raw[done:])
	return out.Bytes()
}
