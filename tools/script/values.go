package script

import "encoding/json"

// RunIn are the arguments of script.run.
type RunIn struct {
	Code    string                     `json:"code"`
	Name    string                     `json:"name"`
	Input   json.RawMessage            `json:"input"`
	ID      string                     `json:"id"`
	Outcome map[string]json.RawMessage `json:"outcome"`
}

// ReadIn are the arguments of script.read.
type ReadIn struct {
	Code  string          `json:"code"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}
