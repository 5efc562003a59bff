package callctx

// The arguments that calls take beside the parameters of their action.
const (
	ArgAction = "action"         // picks the action of a consolidated tool
	ArgParams = "params"         // the parameters, as an object or as JSON text, beside or instead of parameters of their own
	ArgFields = "include_fields" // names the result fields to keep; every action takes it
	ArgJQ     = "jq"             // a jq filter over the result; every action takes it
)

// ArgLimit bounds a list, in all lists. Each list has bounds of its own.
const ArgLimit = "limit"

// The parameters of an action that answers [Forward].
const (
	ForwardName      = "name"
	ForwardArguments = "arguments"
)

// Discovery is the category of the family that finds and describes the other
// tools. It is listed where less than everything is shown.
const Discovery = "discovery"
