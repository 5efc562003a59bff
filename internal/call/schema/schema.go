// Package schema writes declared parameters as JSON Schema, and lists the paths in results.
package schema

import (
	"encoding/json"
	"slices"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Style decides what a JSON Schema has in addition to types, enums and limits. The zero Style
// writes no texts.
type Style struct {
	// Describe reports whether a parameter's text is written; nil = no texts.
	Describe func(toolfold.Param) bool

	// Untyped schemas have no type for a value of any type.
	Untyped bool

	// Brief schemas have only types.
	Brief bool

	// Result schemas require the members that are not Omitted.
	Result bool

	// Listed schemas omit the members of Loose objects: a host that checks arguments would reject
	// good items together with a bad one.
	Listed bool

	// Actions are the values of a required action argument in front of the members of an object;
	// nil = no such argument.
	Actions []string

	// Recorded schemas are like those of the legacy tools: whole numbers are plain numbers, a
	// minLength of 1 is written, and Added parameters are omitted.
	Recorded bool
}

// Object returns the schema of an object with the given members, without combinators.
func Object(required, optional []toolfold.Param, style Style) json.RawMessage {
	schema := Members(required, optional, style)
	if style.Actions != nil {
		action := ordered.Map{{Key: "type", Value: string(toolfold.KindString)}, {Key: "enum", Value: style.Actions}}
		schema = InFront(schema, callctx.ArgAction, action)
	}
	return ordered.MustJSON(schema)
}

// Of returns the schema of one value.
func Of(p toolfold.Param, style Style) json.RawMessage { return ordered.MustJSON(schemaOf(p, style)) }

// Members returns the schema of an object with the given members, without [Style.Actions]. The
// caller may add to it.
func Members(required, optional []toolfold.Param, style Style) ordered.Map {
	properties := ordered.Map{}
	for _, p := range slices.Concat(required, optional) {
		if !p.Added || !style.Recorded {
			properties.Set(p.Name, schemaOf(p, style))
		}
	}
	schema := ordered.Map{{Key: "type", Value: "object"}, {Key: "properties", Value: properties}}
	if style.Result {
		required = slices.DeleteFunc(slices.Concat(required, optional), func(p toolfold.Param) bool { return p.Omitted })
	}
	if len(required) > 0 {
		schema.Set("required", names(required))
	}
	return schema
}

func schemaOf(p toolfold.Param, style Style) ordered.Map {
	schema := ordered.Map{}
	null := p.Nullable && (style.Result || !style.Untyped)
	switch {
	case len(p.Forms) > 0:
		schema.Set("anyOf", formsOf(p, style))
	case p.Kind == toolfold.KindAny && null:
		schema.Set("type", "null")
	case p.Kind == toolfold.KindAny && style.Untyped:
	case p.Kind == toolfold.KindAny:
		schema.Set("anyOf", anyValue)
	case p.Kind == toolfold.KindInteger && style.Recorded:
		schema.Set("type", string(toolfold.KindNumber))
	case null:
		schema.Set("type", []string{string(p.Kind), "null"})
	default:
		schema.Set("type", string(p.Kind))
	}
	if style.Brief {
		if p.Kind == toolfold.KindArray {
			schema.Set("items", schemaOf(*p.Items, style))
		}
		return schema
	}
	if style.Describe != nil && p.Doc != "" && style.Describe(p) {
		schema.Set("description", p.Doc)
	}
	if len(p.Enum) > 0 {
		schema.Set("enum", valuesOf(p, null))
	}
	if p.Format != "" {
		schema.Set("format", p.Format)
	}
	if p.MinLen > 1 || p.MinLen == 1 && style.Recorded {
		schema.Set("minLength", p.MinLen)
	}
	if p.MaxLen > 0 {
		schema.Set("maxLength", p.MaxLen)
	}
	least, most := "minItems", "maxItems"
	if p.Kind == toolfold.KindObject {
		least, most = "minProperties", "maxProperties"
	}
	if style.Recorded && p.Unlisted {
		p.MinItems, p.MaxItems = 0, 0
	}
	if p.MinItems > 0 {
		schema.Set(least, p.MinItems)
	}
	if p.MaxItems > 0 {
		schema.Set(most, p.MaxItems)
	}
	if p.Min != nil {
		schema.Set("minimum", *p.Min)
	}
	if p.Max != nil {
		schema.Set("maximum", *p.Max)
	}
	switch {
	case p.Kind == toolfold.KindArray:
		schema.Set("items", schemaOf(*p.Items, style))
	case p.Values != nil:
		schema.Set("additionalProperties", schemaOf(*p.Values, style))
	case p.Kind == toolfold.KindObject && len(p.Members()) > 0 && !(p.Loose && style.Listed):
		for _, m := range Members(p.Required, p.Optional, style)[1:] {
			schema.Set(m.Key, m.Value)
		}
	case p.Kind == toolfold.KindObject:
		// Some hosts treat an object without additionalProperties as closed.
		schema.Set("additionalProperties", true)
	}
	if p.Default != nil {
		schema.Set("default", p.Default)
	}
	return schema
}

// valuesOf returns the allowed values of a parameter.
func valuesOf(p toolfold.Param, null bool) any {
	if p.Kind == toolfold.KindString && !null {
		return p.Enum
	}
	var values []any
	for _, value := range p.Enum {
		if p.Kind == toolfold.KindString {
			values = append(values, value)
		} else {
			values = append(values, json.RawMessage(value))
		}
	}
	if null {
		values = append(values, nil)
	}
	return values
}

// formsOf returns the schemas of the forms of a parameter.
func formsOf(p toolfold.Param, style Style) (forms []ordered.Map) {
	for _, form := range p.Forms {
		forms = append(forms, schemaOf(form, style))
	}
	if p.Nullable {
		forms = append(forms, ordered.Map{{Key: "type", Value: "null"}})
	}
	return forms
}

// anyValue is the anyOf for any JSON value. Hosts require a type for every value, also for items of
// lists. Nested lists can be given as JSON text.
var anyValue = func() []ordered.Map {
	one := func(kind toolfold.Kind, more ...ordered.Member) ordered.Map {
		return append(ordered.Map{{Key: "type", Value: string(kind)}}, more...)
	}
	single := []ordered.Map{one(toolfold.KindString), one(toolfold.KindNumber), one(toolfold.KindBoolean), one(toolfold.KindObject)}
	return []ordered.Map{
		single[0], single[1], single[2], one(toolfold.KindObject, ordered.Member{Key: "additionalProperties", Value: true}),
		one(toolfold.KindArray, ordered.Member{Key: "items", Value: ordered.Map{{Key: "anyOf", Value: single}}}),
	}
}()

// Output returns the schema of an action's result. No field is required: callers may ask for some
// fields only.
func Output(a *toolfold.Action) json.RawMessage {
	return Object(nil, a.Results(), Style{Describe: Always, Untyped: true})
}

// Whole returns the schema of an action's result with all its fields.
func Whole(a *toolfold.Action) json.RawMessage {
	return Object(nil, a.Results(), Style{Describe: Always, Untyped: true, Result: true})
}

// Always is a [Style.Describe] that writes every text.
func Always(toolfold.Param) bool { return true }

// InFront adds a required property in front of the properties of an object schema.
func InFront(schema ordered.Map, name string, property ordered.Map) ordered.Map {
	properties, _ := schema.Get("properties")
	required, _ := schema.Get("required")
	list, _ := required.([]string)
	schema.Set("properties", append(ordered.Map{{Key: name, Value: property}}, properties.(ordered.Map)...))
	schema.Set("required", append([]string{name}, list...))
	return schema
}

// names lists the names of params.
func names(params []toolfold.Param) []string {
	list := make([]string, len(params))
	for i, p := range params {
		list[i] = p.Name
	}
	return list
}
