package serve

import (
	"bytes"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold/internal/ordered"
)

// A number needs three digits of exponent, or 300 before the point, to be
// beyond what mcp-go can read.
const (
	digitsOfHugeExponent = 3
	digitsOfHuge         = 300
)

// mayHoldHuge spares most messages from being parsed twice.
func mayHoldHuge(raw []byte) bool {
	run, inExponent := 0, false
	for i, c := range raw {
		switch {
		case c >= '0' && c <= '9':
			run++
			if inExponent && run == digitsOfHugeExponent || run == digitsOfHuge {
				return true
			}
			continue
		case c == '+' && inExponent:
			continue
		}
		inExponent = (c == 'e' || c == 'E') && i > 0 && raw[i-1] >= '0' && raw[i-1] <= '9'
		run = 0
	}
	return false
}

// maskHuge wraps the arguments of a call that may hold a number beyond
// floating point, so that the call gets through to an answer of ours. [route]
// unwraps them.
func maskHuge(raw []byte) []byte {
	if !mayHoldHuge(raw) {
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
