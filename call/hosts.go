package call

import (
	"github.com/toolfold/toolfold/internal/call/callctx"
)

// addedByHosts are parameters that hosts add to every call of every tool, for
// themselves. They are dropped without a word where the action has none of that
// name.
var addedByHosts = map[string]bool{
	"wait_for_previous": true, // Gemini CLI: whether to wait for the calls before
	"toolCallId":        true, // n8n
}

// lostHint says where parameters go when nothing but the action came: hosts
// that pass declared parameters only drop the others in silence.
func (a *arguments) lostHint() string {
	if a.emptied {
		return "if you sent more, your host emptied " + callctx.ArgParams + ": send it as JSON text"
	}
	return "if you sent more, your host dropped it: put it into " + callctx.ArgParams
}
