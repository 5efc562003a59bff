// Package lazy decides how much of a surface a client sees at once, and gives
// the rest when asked: find, describe, load.
//
// It works on tools and their entries alone, whatever surface they come from
// and wherever their schemas were written.
package lazy

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/internal/ordered"
)

// TTL says for how long a client may keep a list.
const TTL = 5 * time.Minute

// Level says how much of each tool a listing shows.
type Level string

// The levels, least first.
const (
	Search    Level = "search"    // discovery, the core tier, and what was loaded
	Lazy      Level = "lazy"      // names, actions and what they require
	Signature Level = "signature" // every parameter by name and type, in the description where there are actions
	Full      Level = "full"      // whole schemas
)

// Levels lists the levels, least first.
func Levels() []Level { return []Level{Search, Lazy, Signature, Full} }

// Listed is a tool as tools/list shows it. A model is charged for its JSON
// without the hints.
type Listed struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Hints       toolfold.Hints  `json:"-"`
	Discovery   bool            `json:"-"` // reports whether it leads to the other tools
}

// List shows a surface at a level. At the search level it leaves out all but
// discovery and the core tier.
func List(surface []toolfold.Tool, level Level) []Listed {
	list := make([]Listed, 0, len(surface))
	for _, t := range surface {
		if level != Search || t.Tier == toolfold.Core || t.Category == toolfold.Discovery {
			list = append(list, show(t, level))
		}
	}
	return list
}

// Within returns the tools of a tier and those before it, which tools/list may
// show.
func Within(surface []toolfold.Tool, tier toolfold.Tier) []toolfold.Tool {
	return slices.DeleteFunc(slices.Clone(surface), func(t toolfold.Tool) bool { return t.Tier > tier })
}

// Stubs is the least that is still a legal list: names and summaries.
func Stubs(surface []toolfold.Tool) []Listed {
	list := make([]Listed, len(surface))
	for i, t := range surface {
		list[i] = Listed{
			Name: t.Name, Description: t.Summary, InputSchema: ordered.MustJSON(object(ordered.Map{}, nil)),
			Hints: t.Hints, Discovery: t.Category == toolfold.Discovery,
		}
	}
	return list
}

// show lists a tool at a level. The description of a tool with actions names
// them with their parameters; that of a single one leaves its parameters to the
// schema. Below the full level a schema has types and nothing else: of tools
// with actions just what tells a call from others, with the member that takes
// the rest, unless calls are flat. It stays an open object, so that a host that
// checks arguments lets through what it does not declare.
func show(t toolfold.Tool, level Level) Listed {
	l := Listed{Name: t.Name, Description: t.Summary, Hints: t.Hints, Discovery: t.Category == toolfold.Discovery}
	switch {
	case t.Dispatches():
		detail := toolfold.DetailRequired
		switch {
		case level == Full || level == Signature && !t.Entries[0].Nests():
			detail = toolfold.DetailNames
		case level == Signature:
			detail = toolfold.DetailTypes
		}
		l.Description += ": " + signatures(t.Entries, detail)
	case level == Full && t.Doc != "":
		l.Description += " " + t.Doc
	}
	l.InputSchema = ordered.MustJSON(schemaAt(t, level))
	return l
}

func schemaAt(t toolfold.Tool, level Level) ordered.Map {
	properties, required := ordered.Map{}, []string(nil)
	switch {
	case t.Whole || level == Full:
		var whole struct {
			Properties ordered.Map
			Required   []string
		}
		_ = json.Unmarshal(t.Schema, &whole) // it is one of ours
		properties, required = whole.Properties, whole.Required
	default:
		params := t.Entries[0].Listed()
		if t.Dispatches() {
			properties.Set(toolfold.ActionParam, ordered.Map{{Key: "type", Value: "string"}})
			required = append(required, toolfold.ActionParam)
			var actions []*toolfold.Action
			for _, e := range t.Entries {
				actions = append(actions, e.Action)
			}
			params = consolidate.Union(actions)
		} else {
			for _, p := range t.Entries[0].Required {
				required = append(required, p.Name)
			}
		}
		for _, p := range params {
			if level == Signature && !t.Entries[0].Nests() || !t.Dispatches() && slices.Contains(required, p.Name) {
				properties.Set(p.Name, toolfold.Schema(p, toolfold.Style{Brief: true, Recorded: t.Entries[0].Legacy}))
			}
		}
	}
	kind := "object"
	if t.Form == toolfold.FormText {
		kind = "string"
	}
	switch {
	case t.Whole && level != Full:
		for i, p := range properties {
			if isObject(p.Value.(json.RawMessage)) {
				properties[i].Value = ordered.Map{{Key: "type", Value: kind}}
			}
		}
	case !t.Whole && t.Entries[0].Nests():
		properties.Set(toolfold.ParamsParam, ordered.Map{{Key: "type", Value: kind}})
	}
	return object(properties, required)
}

func isObject(schema json.RawMessage) bool {
	var s struct{ Type toolfold.Kind }
	return json.Unmarshal(schema, &s) == nil && s.Type == toolfold.KindObject
}

func signatures(entries []*toolfold.Entry, detail toolfold.Detail) string {
	parts, printed := make([]string, len(entries)), map[string]bool{}
	for i, e := range entries {
		parts[i] = e.Signature(detail, printed)
	}
	return strings.Join(parts, " ")
}

func object(properties ordered.Map, required []string) ordered.Map {
	o := ordered.Map{{Key: "type", Value: "object"}, {Key: "properties", Value: properties}}
	if len(required) > 0 {
		o.Set("required", required)
	}
	return o
}
