package call

import (
	"github.com/toolfold/toolfold/internal/call/callctx"
)

// addedByHosts are parameters that hosts add to every call for themselves. They are dropped
// silently if the action has no parameter of that name.
var addedByHosts = map[string]bool{
	"wait_for_previous": true, // Gemini CLI: whether to wait for the calls before
	"toolCallId":        true, // n8n
}

// lostHint returns where to put parameters if only the action arrived. Hosts that pass only
// declared parameters drop other ones silently.
func (a *arguments) lostHint() string {
	if a.emptyParams {
		return "if you sent more, your host emptied " + callctx.ArgParams + ": send it as JSON text"
	}
	return "if you sent more, your host dropped it: put it into " + callctx.ArgParams
}
