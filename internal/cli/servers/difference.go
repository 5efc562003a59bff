package servers

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Difference returns the differing lines of two definitions with the lines around them. Each line begins
// with "-" (only in was), "+" (only in now), " " (in both) or "@@" (lines are left out). A nil definition
// has no lines.
func Difference(was, now json.RawMessage) string {
	lines := func(definition json.RawMessage) []byte {
		var text bytes.Buffer
		if definition != nil && json.Indent(&text, definition, "", "  ") == nil {
			text.WriteByte('\n')
		}
		return text.Bytes()
	}
	_, changes, _ := strings.Cut(string(diff.Diff("was", lines(was), "now", lines(now))), "\n@@")
	_, changes, _ = strings.Cut(changes, "\n")
	return changes
}
