package tools

import (
	"context"
	"encoding/json"
)

// Caller runs an action by any accepted name, with its permissions,
// validation and traces. *consolidate.Caller is one.
type Caller interface {
	Call(ctx context.Context, name string, args json.RawMessage) Answer
}

// Names tells which names there are. *consolidate.Caller knows them.
type Names interface {
	// Lookup finds what a name stands for: one entry, or all actions of a tool
	// that takes an action argument. Empty for an unknown name.
	Lookup(name string) []*Entry
	// Nearest is the name closest to an unknown one, empty when none is near.
	Nearest(name string) string
}
