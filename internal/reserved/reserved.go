// Package reserved has the names that mean something to the rooms above: the arguments
// that calls take beside the parameters of actions, the parameters that mean the same
// in all lists, and the category of discovery.
package reserved

// Action picks the action of a consolidated tool.
const Action = "action"

// Fields, taken by every action, names the result fields to keep.
const Fields = "include_fields"

// JQ, taken by every action, is a jq filter over the result.
const JQ = "jq"

// Params may hold the parameters of a call, as an object or as JSON text, beside
// or instead of parameters of their own.
const Params = "params"

// Discovery is the category of the family that finds and describes the other
// tools. It is listed where less than everything is shown.
const Discovery = "discovery"

// Limit bounds a list. Each list has bounds of its own.
const Limit = "limit"

// The parameters of an action that runs another by name.
const (
	CallName      = "name"
	CallArguments = "arguments"
)
