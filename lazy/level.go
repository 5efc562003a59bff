// Package lazy decides how much of a surface a client sees at once, and gives
// the rest when asked: find, describe, load.
//
// It works on tools and their entries alone, whatever surface they come from
// and wherever their schemas were written.
package lazy

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/tools"
)

// TTL says for how long a client may keep a list.
const TTL = 5 * time.Minute

// Level says how much of each tool a listing shows.
type Level string

// The levels, least first.
const (
	Search    Level = "search"    // discovery, the core tier, and what was loaded
	Lazy      Level = "lazy"      // names, actions and what they require
	Signature Level = "signature" // every parameter by name
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
	Hints       tools.Hints     `json:"-"`
}

// List shows a surface at a level. At the search level it leaves out all but
// discovery and the core tier.
func List(surface []tools.Tool, level Level) []Listed {
	list := make([]Listed, 0, len(surface))
	for _, t := range surface {
		if level != Search || t.Tier == tools.Core || t.Category == tools.Discovery {
			list = append(list, show(t, level))
		}
	}
	return list
}

// Stubs is the least that is still a legal list: names and summaries.
func Stubs(surface []tools.Tool) []Listed {
	list := make([]Listed, len(surface))
	for i, t := range surface {
		list[i] = Listed{
			Name: t.Name, Description: t.Summary,
			InputSchema: ordered.MustJSON(object(ordered.Map{}, nil)), Hints: t.Hints,
		}
	}
	return list
}

// show lists a tool at a level. The description of a tool with actions names
// them with their parameters; that of a single one leaves its parameters to the
// schema. A schema below the full level names parameters and nothing else. It
// stays an open object, so that a host that checks arguments lets the others
// through.
func show(t tools.Tool, level Level) Listed {
	l := Listed{Name: t.Name, Description: t.Summary, Hints: t.Hints}
	switch {
	case t.Dispatches():
		l.Description += ": " + signatures(t.Entries, level == Signature || level == Full)
	case level == Full && t.Doc != "":
		l.Description += " " + t.Doc
	}
	schema := t.Schema
	switch {
	case level == Full:
	case t.Dispatches():
		schema = actionStub(t, level)
	default:
		schema = singleStub(t.Entries[0], level)
	}
	l.InputSchema = ordered.MustJSON(schema)
	return l
}

func signatures(entries []*tools.Entry, all bool) string {
	parts := make([]string, len(entries))
	for i, e := range entries {
		parts[i] = e.Signature(all)
	}
	return strings.Join(parts, " ")
}

func actionStub(t tools.Tool, level Level) ordered.Map {
	properties := ordered.Map{{Key: tools.ActionParam, Value: ordered.Map{{Key: "type", Value: "string"}}}}
	if level == Signature {
		all, _ := t.Schema.Get("properties")
		for _, p := range all.(ordered.Map)[1:] {
			properties.Set(p.Key, ordered.Map{})
		}
	}
	return object(properties, []string{tools.ActionParam})
}

func singleStub(e *tools.Entry, level Level) ordered.Map {
	properties := ordered.Map{}
	var required []string
	for _, p := range e.Required {
		properties.Set(p.Name, ordered.Map{})
		required = append(required, p.Name)
	}
	if level == Signature {
		for _, p := range e.Listed() {
			properties.Set(p.Name, ordered.Map{})
		}
	}
	return object(properties, required)
}

func object(properties ordered.Map, required []string) ordered.Map {
	o := ordered.Map{{Key: "type", Value: "object"}, {Key: "properties", Value: properties}}
	if len(required) > 0 {
		o.Set("required", required)
	}
	return o
}
