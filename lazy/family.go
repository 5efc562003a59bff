package lazy

import (
	_ "embed"
	"encoding/json"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
)

var (
	query     = toolfold.String{Name: "query", Doc: "Your goal, in words.", MaxLen: 20_000}
	limit     = toolfold.Int{Name: "limit", Doc: "Most results.", Min: 1, Max: 50}
	server    = toolfold.String{Name: "server", Doc: "Only tools of this server."}
	name      = toolfold.String{Name: callctx.ForwardName, Doc: "Tool, action or legacy name, such as memory.store."}
	many      = toolfold.Strings("names", "Several such names.")
	examples  = toolfold.Bool{Name: "include_examples", Doc: "Add an example call; else only if usage leaves its form open."}
	as        = toolfold.String{Name: "as", Doc: "ts: signatures, as code calls them.", Enum: []string{typeScript}}
	whole     = toolfold.Bool{Name: "schema", Doc: "Add the JSON Schema of the arguments."}
	category  = toolfold.String{Name: "category", Doc: "Only tools of this category."}
	disabled  = toolfold.Bool{Name: "include_disabled", Doc: "Also disabled tools, with the reason."}
	id        = toolfold.UUID("id", "Id of the answer.")
	arguments = toolfold.Object{Name: callctx.ForwardArguments, Doc: "Action arguments, as in a direct call."}
	saveTo    = toolfold.String{Name: saveToName, Doc: "New file in the workspace for the whole result; the answer is short."}
)

//go:embed asks.txt
var asksText string

// Family declares the discovery tools.
var Family = toolfold.Family{
	Name: "tools", Summary: "Find and describe tools", Category: callctx.Discovery, Tier: toolfold.Core,
	Doc:  "Find lists the actions to call, and how; describe gives the whole account of one.",
	Asks: asksText,
	Actions: []*toolfold.Action{{
		Name:     "find",
		Legacy:   toolfold.Was("tool_find"),
		Summary:  "Find actions by purpose, best first, with how to call them.",
		Words:    "search, discover, capability, command",
		Required: toolfold.Fields{query},
		Optional: toolfold.Fields{limit.With(toolfold.Default(5)), server.With(toolfold.Added()),
			as.With(toolfold.Added())},
		Effect:  toolfold.Reads,
		Example: `{"query": "remember a decision for later", "limit": 3}`,
		Related: []string{"tools.describe", "tools.call"},
		Run:     toolfold.Method((*Service).Find),
	}, {
		Name: "describe",
		Legacy: toolfold.Was("tool_describe").
			Or("get_tool_description", toolfold.Rename{Field: name, Was: "tool_name"}),
		Summary: "Full account of an action, or the actions of a tool.",
		Words:   "documentation, help, explain, parameters, arguments, schema, manual page, man page",
		Optional: toolfold.Fields{name, many, examples, whole.With(toolfold.Default(false), toolfold.Added()),
			as.With(toolfold.Added())},
		Effect:  toolfold.Reads,
		Example: `{"name": "memory.store"}`,
		Related: []string{"tools.find", "tools.load"},
		Run:     toolfold.Method((*Service).Describe),
	}, {
		Name:     "load",
		Legacy:   toolfold.Was("tool_load"),
		Summary:  "Get whole definitions, and list them for this session if it can.",
		Words:    "activate, enable, make available, toolbox",
		Required: toolfold.Fields{many},
		Effect:   toolfold.Reads, // it changes only this session's list
		Example:  `{"names": ["memory", "session.create"]}`,
		Related:  []string{"tools.active"},
		Run:      toolfold.Method((*Service).Load),
	}, {
		Name:    "active",
		Legacy:  toolfold.Was("tool_active"),
		Summary: "Tools listed for this session, and loaded.",
		Words:   "loaded, current, enabled now",
		Effect:  toolfold.Reads,
		Example: `{}`,
		Related: []string{"tools.load"},
		Run:     toolfold.Method((*Service).Active),
	}, {
		Name:     "list",
		Legacy:   toolfold.Was("list_available_tools"),
		Summary:  "All tools, a line each, by category.",
		Words:    "catalogue, overview, every, available, capabilities, inventory, by area",
		Optional: toolfold.Fields{category, disabled.With(toolfold.Default(false))},
		Effect:   toolfold.Reads,
		Example:  `{"category": "memory"}`,
		Related:  []string{"tools.find"},
		Run:      toolfold.Method((*Service).List),
	}, {
		Name:     "rest",
		Means:    "read-on",
		Summary:  "Read on in an answer that was cut, by the id that it names.",
		Words:    "remainder, truncated, continue reading, clipped",
		Doc:      "Name the part in include_fields: answer.output[2000:].",
		Required: toolfold.Fields{id},
		Effect:   toolfold.Reads,
		Example:  `{"id": "00000000-0000-4000-8000-000000000001"}`,
		Run:      toolfold.Method((*Service).Rest),
	}, {
		Name:    "call",
		Legacy:  toolfold.Was("tool_call"),
		Summary: "Run actions by name.",
		Words:   "run, execute, invoke, dispatch, not listed",
		Doc: "The result is that action's. saveTo writes all of it, every page of a list, to a new file: JSON, a text as it is, " +
			"an image as its bytes.",
		Apart:    true,
		Required: toolfold.Fields{name},
		Optional: toolfold.Fields{arguments, saveTo.With(toolfold.Added())},
		Effect:   toolfold.Runs,
		Example:  `{"name": "memory.get", "arguments": {"key": "team/rules"}}`,
		Related:  []string{"tools.find"},
		Run:      toolfold.Method((*Service).callSaving),
		Writes:   toolfold.Files((*Service).Writes),
	}},
}

// FindIn are the arguments of tools.find.
type FindIn struct {
	Query  string `json:"query"`
	Limit  int    `json:"limit"`
	Server string `json:"server"` // empty = all
	As     string `json:"as"`     // typeScript, or empty
}

// FindOut is the result of tools.find.
type FindOut struct {
	Results []Match       `json:"results" doc:"Best first."`
	Scripts []ScriptMatch `json:"scripts,omitempty" doc:"Stored scripts that fit, best first."`
	Further string        `json:"further,omitempty" doc:"Further matches without room here, best first; describe has their calls."`
	Also    string        `json:"also,omitempty" doc:"Other actions of the best one's family."`
	Away    string        `json:"away,omitempty" doc:"Servers that failed or wait for the user, and why."`
	Hint    string        `json:"hint,omitempty" doc:"When nothing was found, nothing fits well, or the query has the name of an action."`
}

// DescribeIn are the arguments of tools.describe.
type DescribeIn struct {
	Name            string   `json:"name"`
	Names           []string `json:"names"`
	IncludeExamples *bool    `json:"include_examples"` // nil = if usage leaves the form of the call open
	Schema          bool     `json:"schema"`
	As              string   `json:"as"` // typeScript, or empty
}

// DescribeOut is the result of tools.describe.
type DescribeOut struct {
	Tools  []json.RawMessage `json:"tools" doc:"The accounts, in the order asked for." type:"object"`
	Errors []NameError       `json:"errors,omitempty" doc:"Names that lead nowhere."`
}

// NameError is an unknown name, with its error.
type NameError struct {
	Name    string `json:"name" doc:"Tool, action or legacy name, such as memory.store."`
	Message string `json:"message" doc:"The error, and similar names."`
}

// LoadIn are the arguments of tools.load.
type LoadIn struct {
	Names []string `json:"names"`
}

// LoadOut is the result of tools.load.
type LoadOut struct {
	Loaded      []string          `json:"loaded" doc:"Tools that were meant."`
	Definitions []json.RawMessage `json:"definitions" doc:"Name, description and inputSchema of each." type:"object"`
	Listed      bool              `json:"listed" doc:"Whether tools/list of this session has them."`
	Note        string            `json:"note" doc:"How to call them."`
	Errors      []NameError       `json:"errors,omitempty" doc:"Names that lead nowhere."`
}

// ActiveIn are the arguments of tools.active, which takes no arguments.
type ActiveIn struct{}

// ListIn are the arguments of tools.list.
type ListIn struct {
	Category        string `json:"category"`
	IncludeDisabled bool   `json:"include_disabled"`
}

// ListOut is the result of tools.list.
type ListOut struct {
	Tools []Row `json:"tools" doc:"In the order of the listing."`
	Total int   `json:"total" doc:"How many tools follow."`
}

// RestIn are the arguments of tools.rest.
type RestIn struct {
	ID string `json:"id"`
}

// RestOut is the result of tools.rest.
type RestOut struct {
	Found  bool            `json:"found" doc:"Whether it is still kept."`
	Answer json.RawMessage `json:"answer,omitempty" doc:"The whole answer, or its include_fields."`
	Hint   string          `json:"hint,omitempty" doc:"Next step when it is gone."`
}

// CallIn are the arguments of tools.call on servers without files for results.
type CallIn struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// SavingIn are the arguments of tools.call.
type SavingIn struct {
	CallIn
	SaveTo string `json:"saveTo"` // empty = the result is the answer
}
