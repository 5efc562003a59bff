// Package discovery declares the family that finds, describes and loads all
// the others, and calls them for hosts that only call what they were listed.
package discovery

import (
	"encoding/json"

	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/tools"
)

var (
	query     = tools.String{Name: "query", Doc: "What you want to do, in words.", MaxLen: 20_000}
	limit     = tools.Int{Name: "limit", Doc: "Most results.", Min: 1, Max: 50}
	name      = tools.String{Name: "name", Doc: "Tool, action or legacy name, such as memory.store."}
	many      = tools.Strings("names", "Several such names.")
	examples  = tools.Bool{Name: "include_examples", Doc: "Add an example call."}
	category  = tools.String{Name: "category", Doc: "Only tools of this category."}
	disabled  = tools.Bool{Name: "include_disabled", Doc: "Also what may not be called, with the reason."}
	arguments = tools.Object{Name: "arguments", Doc: "Its arguments, as in a direct call."}

	summary = tools.String{Name: "summary", Doc: "What it does."}
	problem = tools.Object{
		Required: tools.Fields{name, tools.String{Name: "message", Doc: "What is wrong with the name, and what is near."}},
	}
	unknown = tools.List{Name: "errors", Doc: "Names that lead nowhere.", Of: problem}
)

// Family declares the discovery tools.
var Family = tools.Family[*Service]{
	Name: "tools", Summary: "Find, describe, call tools", Category: tools.Discovery, Tier: tools.Core,
	Doc: "Find says which action to call and how; describe gives the whole account of one.",
	Actions: []tools.Action[*Service]{{
		Name:     "find",
		Legacy:   tools.Was("tool_find"),
		Summary:  "Find actions by what they do, best first, with how to call them.",
		Words:    "search, discover, which tool can do this, look for a suitable function, capability",
		Required: tools.Fields{query},
		Optional: tools.Fields{limit.With(tools.Default(5))},
		Returns: tools.Fields{
			tools.List{Name: "results", Doc: "Best first.", Of: tools.Object{Required: tools.Fields{
				name, tools.String{Name: "usage", Doc: "How to call it; a ? marks what may be left out."}, summary,
				tools.Number{Name: "score", Doc: "From 0 to 1; below 0.4 mostly unrelated."},
			}}},
			tools.String{Name: "hint", Doc: "What to do when nothing was found."},
		},
		Effect:  tools.Reads,
		Example: `{"query": "remember a decision for later", "limit": 3}`,
		Related: []string{"tools.describe", "tools.call"},
		Run:     tools.Method((*Service).Find),
	}, {
		Name: "describe",
		Legacy: tools.Was("tool_describe").
			Or("get_tool_description", tools.Rename{Field: name, Was: "tool_name"}),
		Summary:  "Full account of an action: schema, result fields, effect, example.",
		Words:    "documentation, help, explain, parameters, arguments, schema, how do I call it",
		Doc:      "A tool's name lists its actions.",
		Optional: tools.Fields{name, many, examples.With(tools.Default(true))},
		Returns: tools.Fields{
			tools.List{Name: "tools", Doc: "The accounts, in the order asked for.", Of: tools.Object{}}, unknown,
		},
		Effect:  tools.Reads,
		Example: `{"name": "memory.store"}`,
		Related: []string{"tools.find", "tools.load"},
		Run:     tools.Method((*Service).Describe),
	}, {
		Name:     "load",
		Legacy:   tools.Was("tool_load"),
		Summary:  "Get whole definitions, and list them for this session where it can.",
		Words:    "activate, enable, make available, add to this session",
		Required: tools.Fields{many},
		Returns: tools.Fields{
			tools.Strings("loaded", "Tools that were meant."),
			tools.List{Name: "definitions", Doc: "Name, description and inputSchema of each.", Of: tools.Object{}},
			tools.Bool{Name: "listed", Doc: "Whether tools/list of this session has them."},
			tools.String{Name: "note", Doc: "How to call them."}, unknown,
		},
		Effect:  tools.Sets,
		Example: `{"names": ["memory", "session.create"]}`,
		Related: []string{"tools.active"},
		Run:     tools.Method((*Service).Load),
	}, {
		Name:    "active",
		Legacy:  tools.Was("tool_active"),
		Summary: "What this session is listed and has loaded.",
		Words:   "loaded, current, what do I see, enabled now",
		Returns: tools.Fields{
			tools.String{Name: "level", Doc: "Listing level of the server."},
			tools.Strings("listed", "Tools that tools/list shows."),
			tools.Strings("loaded", "Those of them that were loaded."),
			tools.Object{Name: "cache", Doc: "How descriptions were answered.", Required: tools.Fields{
				tools.Int{Name: "hits", Doc: "From the cache."},
				tools.Int{Name: "misses", Doc: "Rendered, or no such name."},
			}},
		},
		Effect:  tools.Reads,
		Example: `{}`,
		Related: []string{"tools.load"},
		Run:     tools.Method((*Service).Active),
	}, {
		Name:     "list",
		Legacy:   tools.Was("list_available_tools"),
		Summary:  "All tools, a line each, by category.",
		Words:    "catalogue, overview, every, available, what can this server do, capabilities",
		Optional: tools.Fields{category, disabled.With(tools.Default(false))},
		Returns: tools.Fields{
			tools.List{Name: "tools", Doc: "In the order of the listing.", Of: tools.Object{
				Required: tools.Fields{
					name, summary, category, tools.Bool{Name: "enabled", Doc: "Whether it can be called."},
				},
				Optional: tools.Fields{tools.String{Name: "reason", Doc: "Why it is disabled."}},
			}},
			tools.Int{Name: "total", Doc: "How many tools follow."},
		},
		Effect:  tools.Reads,
		Example: `{"category": "memory"}`,
		Related: []string{"tools.find"},
		Run:     tools.Method((*Service).List),
	}, {
		Name:     "call",
		Legacy:   tools.Was("tool_call"),
		Summary:  "Run any action by name; the result is that action's.",
		Words:    "run, execute, invoke, dispatch, not listed",
		Required: tools.Fields{name},
		Optional: tools.Fields{arguments},
		Effect:   tools.Runs,
		Example:  `{"name": "memory.get", "arguments": {"key": "team/rules"}}`,
		Related:  []string{"tools.find"},
		Run:      tools.Method((*Service).Call),
	}},
}

// FindIn are the arguments of tools.find.
type FindIn struct {
	Query string `json:"query"`
	Limit int    `json:"limit"`
}

// FindOut is the result of tools.find.
type FindOut struct {
	Results []lazy.Found `json:"results"`
	Hint    string       `json:"hint,omitempty"`
}

// DescribeIn are the arguments of tools.describe.
type DescribeIn struct {
	Name            string   `json:"name"`
	Names           []string `json:"names"`
	IncludeExamples bool     `json:"include_examples"`
}

// DescribeOut is the result of tools.describe.
type DescribeOut struct {
	Tools  []json.RawMessage `json:"tools"`
	Errors []NameError       `json:"errors,omitempty"`
}

// NameError is a name that leads nowhere.
type NameError struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// LoadIn are the arguments of tools.load.
type LoadIn struct {
	Names []string `json:"names"`
}

// LoadOut is the result of tools.load.
type LoadOut struct {
	Loaded      []string          `json:"loaded"`
	Definitions []json.RawMessage `json:"definitions"`
	Listed      bool              `json:"listed"`
	Note        string            `json:"note"`
	Errors      []NameError       `json:"errors,omitempty"`
}

// ActiveIn are the arguments of tools.active: none.
type ActiveIn struct{}

// ActiveOut is the result of tools.active.
type ActiveOut struct {
	Level  lazy.Level       `json:"level"`
	Listed []string         `json:"listed"`
	Loaded []string         `json:"loaded"`
	Cache  lazy.CacheCounts `json:"cache"`
}

// ListIn are the arguments of tools.list.
type ListIn struct {
	Category        string `json:"category"`
	IncludeDisabled bool   `json:"include_disabled"`
}

// ListOut is the result of tools.list.
type ListOut struct {
	Tools []Row `json:"tools"`
	Total int   `json:"total"`
}

// Row is a tool in the result of tools.list.
type Row struct {
	Name     string         `json:"name"`
	Summary  string         `json:"summary"`
	Category tools.Category `json:"category"`
	Enabled  bool           `json:"enabled"`
	Reason   string         `json:"reason,omitempty"`
}

// CallIn are the arguments of tools.call.
type CallIn struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}
