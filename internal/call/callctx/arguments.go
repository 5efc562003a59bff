package callctx

// The arguments of calls in addition to the parameters of their action.
const (
	ArgAction = "action"         // selects the action of a consolidated tool
	ArgParams = "params"         // the parameters as an object or JSON text; some may be outside of it
	ArgFields = "include_fields" // result fields to return; every action accepts it
	ArgJQ     = "jq"             // jq filter for the result; every action accepts it
)

// ArgLimit is the limit of every list. Each list has its own bounds for it.
const ArgLimit = "limit"

// The parameters of an action that returns a [Forward].
const (
	ForwardName      = "name"
	ForwardArguments = "arguments"
)

// Discovery is the category of the family that finds and describes other tools. It is listed unless
// everything is listed.
const Discovery = "discovery"
