package serve

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold/internal/ordered"
)

// A number needs three digits of exponent, or 300 before the point, to be
// beyond what mcp-go can read.
const digitsOfHuge = 300

var bigExponent = regexp.MustCompile(`[0-9][eE][+]?[0-9]{3}`)

// maskHuge wraps the arguments of a call that may hold a number beyond
// floating point, so that the call gets through to an answer of ours. [route]
// unwraps them.
func maskHuge(raw []byte) []byte {
	if !bytes.ContainsAny(raw, "eE") || !bigExponent.Match(raw) && longestRun(raw) < digitsOfHuge {
		return raw
	}
	m, ok := parseMessage(raw)
	if !ok || m.method != string(mcp.MethodToolsCall) {
		return raw
	}
	args, ok := raws(m.params, "arguments")
	if !ok {
		return raw
	}
	m.params.Set("arguments", ordered.Map{{Key: rawMark, Value: string(args)}})
	m.all.Set("params", m.params)
	return ordered.MustJSON(m.all)
}

// unmaskHuge returns arguments as they were written.
func unmaskHuge(args json.RawMessage) json.RawMessage {
	if !bytes.Contains(args, []byte(rawMark)) {
		return args
	}
	var wrapped map[string]string
	if json.Unmarshal(args, &wrapped) != nil {
		return args
	}
	return json.RawMessage(wrapped[rawMark])
}
