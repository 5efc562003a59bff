// Package forward has the result of actions that stand for another call.
package forward

import "encoding/json"

// Call is run in place of the call that answered it: its answer is the answer.
type Call struct {
	Name      string
	Arguments json.RawMessage
}
