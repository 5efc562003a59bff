package script

import (
	"encoding/json"

	"github.com/toolfold/toolfold/internal/run/script"
)

// RunIn are the arguments of script.run.
type RunIn struct {
	Code    string                     `json:"code"`
	Input   json.RawMessage            `json:"input"`
	ID      string                     `json:"id"`
	Outcome map[string]json.RawMessage `json:"outcome"`
}

// RunOut is the result of script.run and script.read.
type RunOut struct {
	Success bool             `json:"success" doc:"Whether it ran to its end."`
	Result  json.RawMessage  `json:"result,omitempty" doc:"Its return value."`
	Error   *script.Failure  `json:"error,omitempty" doc:"Why it failed, and where."`
	Calls   map[string]int   `json:"calls,omitempty" doc:"If it failed: calls that ended, by action."`
	Writes  map[string]int   `json:"writes,omitempty" doc:"If it failed: calls that were done and may have changed something, by action."`
	Unknown []script.Unknown `json:"unknown,omitempty" doc:"Calls that may have been done."`
	Unseen  []script.Failure `json:"unseen,omitempty" doc:"Rejections that it did not handle."`
	Logs    string           `json:"logs,omitempty" doc:"Lines of console.log."`
	ID      string           `json:"id,omitempty" doc:"If it failed: the run, for script.run." format:"uuid"`
}

// Failed implements [toolfold.Failing].
func (o RunOut) Failed() bool { return !o.Success }

// ReadIn are the arguments of script.read.
type ReadIn struct {
	Code  string          `json:"code"`
	Input json.RawMessage `json:"input"`
}
