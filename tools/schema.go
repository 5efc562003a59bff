package tools

import (
	"encoding/json"
	"slices"

	"github.com/toolfold/toolfold/internal/ordered"
)

// A purpose decides what a schema says.
type purpose int

const (
	listed   purpose = iota // for hosts: every type named, texts on every member
	terse                   // for hosts: texts only where the name does not say it
	strict                  // for our own validator: what a call must satisfy
	recorded                // for hosts of the legacy surface: whole numbers were plain numbers there
)

// InputSchema describes the arguments of a call of this entry, texts
// included. It is an object schema without combinators.
func (e *Entry) InputSchema() ordered.Map {
	if e.Old != nil {
		return objectSchema(e.Required(), e.Optional(), recorded)
	}
	if schema, ok := plain(e.Action.input); ok {
		return schema
	}
	schema := objectSchema(e.Required(), e.Optional(), listed)
	if e.Selector == "" {
		return schema
	}
	return withAction(schema, ordered.Map{{Key: "const", Value: e.Selector}})
}

// plain reads a foreign schema, unless its root is one that hosts refuse.
func plain(input json.RawMessage) (schema ordered.Map, ok bool) {
	if len(input) == 0 || json.Unmarshal(input, &schema) != nil {
		return nil, false
	}
	for _, keyword := range []string{"oneOf", "anyOf", "allOf", "if", "not", "$ref"} {
		if _, combined := schema.Get(keyword); combined {
			return nil, false
		}
	}
	var kind string
	get(schema, "type", &kind)
	_, ok = schema.Get("properties")
	return schema, ok && kind == string(KindObject)
}

// OutputSchema describes the result of the action. Nothing is required:
// callers may ask for some of the fields only.
func (a *ActionSpec) OutputSchema() ordered.Map {
	return objectSchema(nil, a.Returns, listed)
}

// Listed lists the parameters that a listing of this entry shows: under a
// legacy name only those that the legacy tool had.
func (e *Entry) Listed() []Param {
	if e.Old != nil {
		return withoutAdded(e.Params())
	}
	return e.Params()
}

func withoutAdded(params []Param) []Param {
	var kept []Param
	for _, p := range params {
		if !p.Added {
			kept = append(kept, p)
		}
	}
	return kept
}

// FlatSchema is the schema of a consolidated tool: its action argument and
// every parameter of every action, in the order of first use. Bounds and
// defaults differ from action to action and are checked per action.
func FlatSchema(actions []*ActionSpec) ordered.Map {
	properties := ordered.Map{}
	for _, p := range Union(actions) {
		properties.Set(p.Name, paramSchema(p, terse))
	}
	schema := ordered.Map{{Key: "type", Value: "object"}, {Key: "properties", Value: properties}}
	if actions[0].Family.Bare {
		return schema
	}
	names := make([]string, len(actions))
	for i, a := range actions {
		names[i] = a.Name
	}
	return withAction(schema, ordered.Map{{Key: "type", Value: "string"}, {Key: "enum", Value: names}})
}

// withAction puts the action argument first.
func withAction(schema, action ordered.Map) ordered.Map {
	properties, _ := schema.Get("properties")
	required, _ := schema.Get("required")
	list, _ := required.([]string)
	schema.Set("properties", append(ordered.Map{{Key: ActionParam, Value: action}}, properties.(ordered.Map)...))
	schema.Set("required", append([]string{ActionParam}, list...))
	return schema
}

// Union lists the parameters of all actions, each once, in the order of first
// use. Enums are united; bounds and defaults are left out; where one action
// takes a single value and another several, the single value stands for both.
func Union(actions []*ActionSpec) []Param {
	var union []Param
	at := map[string]int{}
	for _, a := range actions {
		for _, p := range a.Params() {
			i, seen := at[p.Name]
			if !seen {
				at[p.Name] = len(union)
				union = append(union, unbound(p))
				continue
			}
			union[i] = unite(union[i], unbound(p))
		}
	}
	return union
}

func unbound(p Param) Param {
	p.MinLen, p.MaxLen, p.Min, p.Max, p.MinItems, p.MaxItems, p.Default = 0, 0, nil, nil, 0, 0, nil
	return p
}

func unite(a, b Param) Param {
	if a.Kind == KindArray && b.Kind != KindArray {
		a, b = b, a
	}
	if b.Kind == KindArray && a.Kind != KindArray {
		b = unbound(*b.Items)
	}
	if len(a.Enum) == 0 || len(b.Enum) == 0 {
		a.Enum = nil
		return a
	}
	for _, value := range b.Enum {
		if !slices.Contains(a.Enum, value) {
			a.Enum = append(a.Enum[:len(a.Enum):len(a.Enum)], value)
		}
	}
	return a
}

// objectSchema describes an object with the given members.
func objectSchema(required, optional []Param, why purpose) ordered.Map {
	if why == recorded {
		optional = withoutAdded(optional)
	}
	properties := ordered.Map{}
	for _, p := range slices.Concat(required, optional) {
		properties.Set(p.Name, paramSchema(p, why))
	}
	schema := ordered.Map{{Key: "type", Value: "object"}, {Key: "properties", Value: properties}}
	if len(required) > 0 {
		schema.Set("required", names(required))
	}
	return schema
}

// paramSchema describes one value.
func paramSchema(p Param, why purpose) ordered.Map {
	schema := ordered.Map{}
	if word := typeKeyword(p, why); word != "" {
		schema.Set("type", word)
	}
	if p.Doc != "" && (why == listed || why == recorded || why == terse && p.Unclear) {
		schema.Set("description", p.Doc)
	}
	addValues(&schema, p)
	addBounds(&schema, p, why)
	addMembers(&schema, p, why)
	if p.Default != nil && why != strict {
		schema.Set("default", p.Default)
	}
	return schema
}

func typeKeyword(p Param, why purpose) string {
	switch {
	case why == strict && (p.Kind == KindAny || p.Loose):
		return ""
	case p.Kind == KindAny:
		return string(KindString)
	case p.Kind == KindInteger && why == recorded:
		return string(KindNumber)
	}
	return string(p.Kind)
}

func addValues(schema *ordered.Map, p Param) {
	if len(p.Enum) > 0 {
		schema.Set("enum", p.Enum)
	}
	if p.Format != "" {
		schema.Set("format", p.Format)
	}
}

// addBounds says the limits. That a text is not empty goes without saying.
func addBounds(schema *ordered.Map, p Param, why purpose) {
	if why == listed && p.MinLen == 1 {
		p.MinLen = 0
	}
	for _, b := range []struct {
		keyword string
		n       int
	}{
		{"minLength", p.MinLen}, {"maxLength", p.MaxLen}, {"minItems", p.MinItems}, {"maxItems", p.MaxItems},
	} {
		if b.n > 0 {
			schema.Set(b.keyword, b.n)
		}
	}
	if p.Min != nil {
		schema.Set("minimum", *p.Min)
	}
	if p.Max != nil {
		schema.Set("maximum", *p.Max)
	}
}

// addMembers describes what an array or object holds. Members of an object in
// a terse schema are named with their types only.
func addMembers(schema *ordered.Map, p Param, why purpose) {
	if p.Kind == KindArray {
		schema.Set("items", paramSchema(*p.Items, why))
		return
	}
	if p.Values != nil {
		schema.Set("additionalProperties", paramSchema(*p.Values, why))
		return
	}
	known := len(p.Required)+len(p.Optional) > 0
	if p.Kind != KindObject || !known || (p.Loose && why == strict) {
		return
	}
	members := objectSchema(p.Required, p.Optional, why)
	for _, m := range members[1:] {
		schema.Set(m.Key, m.Value)
	}
	if why == strict {
		schema.Set("additionalProperties", false)
	}
}
