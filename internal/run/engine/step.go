package engine

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
)

// The types of step.
const (
	TypePrompt      = "prompt"      // ask a model; the output is its text
	TypeTool        = "tool"        // call an action; the output is its result
	TypeDelegate    = "delegate"    // run an agent; the output is that agent's
	TypeConditional = "conditional" // one of two lists of steps
	TypeLoop        = "loop"        // steps again and again
	TypeParallel    = "parallel"    // steps at the same time
	TypeProgram     = "script"      // run a script; the output is what it returns
)

// Types lists the types of step.
var Types = []string{TypePrompt, TypeTool, TypeConditional, TypeLoop, TypeParallel, TypeDelegate, TypeProgram}

// Bounds of a definition.
const (
	MaxSteps       = 100       // nested ones included
	MaxNesting     = 5         // lists of steps within each other
	MaxStepTimeout = 3_600_000 // milliseconds
	MaxAttempts    = 10
	MaxBackoff     = 60_000 // milliseconds
	MaxIterations  = 1000
	MaxConcurrency = 20
	MaxOffers      = 64 // actions that a prompt offers to a model
	MaxTurns       = 50
)

// Step is one step as it is written down.
type Step struct {
	StepID      string          `json:"stepId" doc:"Unique ID."`
	Name        string          `json:"name,omitempty" doc:"Title."`
	Type        string          `json:"type" doc:"Kind." enum:"prompt,tool,conditional,loop,parallel,delegate,script"`
	Description string          `json:"description,omitempty" doc:"Purpose."`
	Config      json.RawMessage `json:"config,omitempty" doc:"By type." type:"object"`

	// DependsOn names the steps of the same list that run before this one. If no
	// step of a list has dependencies, they run in the order written.
	DependsOn []string `json:"dependsOn,omitempty" doc:"Prerequisite steps."`

	TimeoutMs int    `json:"timeoutMs,omitempty" doc:"Per attempt."` // of one attempt; zero = the default
	Retry     *Retry `json:"retry,omitempty" doc:"Retries."`         // nil = one attempt

	// ContinueOnError lets the run continue and succeed if this step fails.
	ContinueOnError bool `json:"continueOnError,omitempty" doc:"Go on when it fails."`

	// Idempotent lets a task repeat the step if it was running when its process
	// ended. Idempotent actions are repeated without it.
	Idempotent bool `json:"idempotent,omitempty" doc:"May run twice."`
}

// Retry limits the attempts of a failing step and sets the wait before the
// second one. The wait doubles with each attempt, up to [MaxBackoff].
type Retry struct {
	MaxAttempts int `json:"maxAttempts,omitempty" doc:"Default 3."`         // zero = 3
	BackoffMs   int `json:"backoffMs,omitempty" doc:"First wait; doubles."` // zero = 1000
}

// stepFields declares all members of a step. [ParseSteps] checks lists of
// steps against them.
var stepFields = toolfold.Fields{
	toolfold.String{Name: "stepId", Doc: "Unique ID.", MinLen: 1, MaxLen: 100},
	toolfold.String{Name: "name", Doc: "Title.", MaxLen: 200},
	toolfold.String{Name: "type", Doc: "Kind.", Enum: Types},
	toolfold.Object{Name: "config", Doc: "By type."},
	toolfold.String{Name: "description", Doc: "Purpose.", MaxLen: 1000},
	toolfold.List{Name: "dependsOn", Doc: "Prerequisite steps.", Of: toolfold.String{}, MaxItems: MaxSteps},
	toolfold.Int{Name: "timeoutMs", Doc: "Per attempt.", Min: 1, Max: MaxStepTimeout},
	toolfold.Object{Name: "retry", Doc: "Retries.", Optional: toolfold.Fields{
		toolfold.Int{Name: "maxAttempts", Doc: "Default 3.", Min: 1, Max: MaxAttempts},
		toolfold.Int{Name: "backoffMs", Doc: "First wait; doubles.", Min: 1, Max: MaxBackoff},
	}},
	toolfold.Bool{Name: "continueOnError", Doc: "Go on when it fails."},
	toolfold.Bool{Name: "idempotent", Doc: "May run twice, if a task is cut off in it."},
}

// StepsField declares a list of steps as an argument. It declares the common
// members of steps only, because hosts pay for every word; [ParseSteps] checks
// each step.
func StepsField(name, doc string) toolfold.List {
	step := toolfold.Object{Loose: true}
	for i, p := range bare(stepFields.Params())[:4] {
		if i < 3 {
			step.Required = append(step.Required, p)
		} else {
			step.Optional = append(step.Optional, p)
		}
	}
	return toolfold.List{Name: name, Doc: doc, Of: step, MaxItems: MaxSteps}
}

// bare returns the parameters without bounds.
func bare(params []toolfold.Param) []toolfold.Param {
	params = slices.Clone(params)
	for i, p := range params {
		p.MinLen, p.MaxLen, p.MaxItems, p.Min, p.Max = 0, 0, 0, nil, nil
		p.Optional = bare(p.Optional)
		params[i] = p
	}
	return params
}

// configFields declares the config of every type.
var configFields = map[string]toolfold.Fields{
	TypePrompt: {
		toolfold.String{Name: "prompt", Doc: "Text for the model.", MinLen: 1, MaxLen: 100_000},
		toolfold.String{Name: "system", Doc: "In place of the agent's system prompt.", MaxLen: 100_000},
		toolfold.String{Name: "provider", Doc: "One of the configured providers.", MinLen: 1},
		toolfold.String{Name: "model", Doc: "In place of the provider's.", MinLen: 1},
		toolfold.Int{Name: "maxTokens", Doc: "Longest answer.", Min: 1, Max: 1_000_000},
		toolfold.List{Name: "tools", Doc: "Actions that the model may call, or patterns.", Of: toolfold.String{MinLen: 1, MaxLen: 200},
			MinItems: 1, MaxItems: MaxOffers},
		toolfold.Int{Name: "maxTurns", Doc: "Most answers of the model, calls included.", Min: 1, Max: MaxTurns},
		toolfold.Object{Name: "outputSchema", Doc: "JSON Schema of the object to answer with."},
	},
	TypeTool: {
		toolfold.String{Name: "tool", Doc: "Name of an action.", MinLen: 1},
		toolfold.Any{Name: "arguments", Doc: "Its arguments."},
	},
	TypeProgram: {
		toolfold.String{Name: "code", Doc: "JavaScript, without placeholders.", MinLen: 1},
		toolfold.String{Name: "name", Doc: "Stored script, in place of code.", MinLen: 1},
		toolfold.Any{Name: "input", Doc: "Value of input in it."},
	},
	TypeDelegate: {
		toolfold.String{Name: "agentId", Doc: "Agent to run.", MinLen: 1},
		toolfold.String{Name: "targetAgent", Doc: sameAs + "agentId.", MinLen: 1},
		toolfold.String{Name: "targetAgentId", Doc: sameAs + "agentId.", MinLen: 1},
		toolfold.Any{Name: "input", Doc: "Its input."},
	},
	TypeConditional: {
		toolfold.String{Name: "condition", Doc: "Expression that is true or false.", MinLen: 1},
		stepList("then", "Steps if it is true."), stepList("else", "Steps if it is false."),
	},
	TypeLoop: {
		toolfold.Any{Name: "items", Doc: "List, or expression for one."},
		toolfold.String{Name: "while", Doc: "Expression, before each round.", MinLen: 1},
		toolfold.String{Name: "until", Doc: "Expression, after each round.", MinLen: 1},
		toolfold.Int{Name: "maxIterations", Doc: "Most rounds.", Min: 1, Max: MaxIterations},
		toolfold.String{Name: "as", Doc: "Another name for item.", MinLen: 1, MaxLen: 50},
		stepList("steps", "Steps of a round."),
	},
	TypeParallel: {
		stepList("steps", "Steps to run at the same time."),
		toolfold.Int{Name: "maxConcurrency", Doc: "Most at once.", Min: 1, Max: MaxConcurrency},
	},
}

// requiredConfig has the required members of each type's config.
var requiredConfig = map[string][]string{
	TypePrompt: {"prompt"}, TypeTool: {"tool"}, TypeDelegate: {"agentId"}, TypeConditional: {"condition"},
	TypeLoop: {"steps"}, TypeParallel: {"steps"},
}

// sameAs begins the Doc of an alias of a member.
const sameAs = "Same as "

// configUsage shows the config of a type: {tool, arguments?}.
func configUsage(kind string) string {
	var members []string
	for _, p := range configFields[kind].Params() {
		switch {
		case strings.HasPrefix(p.Doc, sameAs):
		case slices.Contains(requiredConfig[kind], p.Name):
			members = append(members, p.Name)
		default:
			members = append(members, p.Name+"?")
		}
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// ConfigUsages returns the config of every type in one line: tool {tool,
// arguments?}; and so on.
func ConfigUsages() string {
	list := make([]string, len(Types))
	for i, kind := range Types {
		list[i] = kind + " " + configUsage(kind)
	}
	return strings.Join(list, "; ")
}

func stepList(name, doc string) toolfold.List {
	return toolfold.List{Name: name, Doc: doc, Of: toolfold.Object{}, MaxItems: MaxSteps}
}
