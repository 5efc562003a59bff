package judge

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Limits of an example.
const (
	maxExampleDepth  = 12
	exampleAttempts  = 8   // alternatives of anyOf and oneOf that are tried
	maxExampleLength = 200 // items of a list, and characters of a text
	maxExampleValues = 500 // of all attempts together
	maxExampleBytes  = 2000
)

// Example returns a short object that a schema of arguments allows, with its required members only.
// It is nil if none is found, as for most patterns and for schemas that need many values.
func Example(schema json.RawMessage) json.RawMessage {
	tool, err := Compile("example", schema)
	if err != nil {
		return nil
	}
	maker := exampleMaker{root: schema, left: maxExampleValues}
	for maker.alternative = range exampleAttempts {
		raw, err := ordered.JSON(maker.value(schema, 0))
		if err != nil || maker.left <= 0 || len(raw) > maxExampleBytes {
			return nil
		}
		var value map[string]any
		if jsonx.Decode(raw, &value) == nil && value != nil && tool.Schema.Validate(any(value)) == nil {
			return raw
		}
	}
	return nil
}

type exampleMaker struct {
	root        json.RawMessage
	alternative int // of each anyOf and oneOf, as far as they have it
	left        int // number of values that may still be made
}

// value returns a value for a schema. It may be invalid.
func (m *exampleMaker) value(raw json.RawMessage, depth int) any {
	var schema ordered.Map
	if m.left--; m.left <= 0 || depth > maxExampleDepth || json.Unmarshal(raw, &schema) != nil {
		return "text"
	}
	var ref string
	if Member(schema, "$ref", &ref); ref != "" {
		if path, ok := pathOf(ref, m.root); ok {
			if target, ok := at(m.root, path); ok {
				return m.value(target, depth+1)
			}
		}
	}
	for _, keyword := range []string{"const", "default"} {
		if value, ok := schema.Get(keyword); ok && value != nil {
			return value
		}
	}
	for _, keyword := range []string{"enum", "examples"} {
		var list []json.RawMessage
		if Member(schema, keyword, &list); len(list) > 0 {
			return list[0]
		}
	}
	merged := ordered.Map{}
	for _, part := range slices.Concat(m.chosen(schema), parts(schema, "allOf")) {
		value := m.value(ordered.MustJSON(part), depth+1)
		if object, ok := value.(ordered.Map); ok {
			merged = append(merged, object...)
		} else if _, typed := schema.Get("type"); !typed {
			return value
		}
	}
	return m.typed(schema, merged, depth)
}

// chosen returns the alternatives of a schema for this attempt.
func (m *exampleMaker) chosen(schema ordered.Map) (chosen []ordered.Map) {
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if list := parts(schema, keyword); len(list) > 0 {
			chosen = append(chosen, list[min(m.alternative, len(list)-1)])
		}
	}
	return chosen
}

// typed returns a value for the type of a schema; merged are members of an object that other parts
// of the schema require.
func (m *exampleMaker) typed(schema, merged ordered.Map, depth int) any {
	switch typeOf(schema) {
	case "integer", "number":
		return m.number(schema)
	case "boolean":
		return true
	case "null":
		return nil
	case "array":
		var least int
		var items json.RawMessage
		Member(schema, "minItems", &least)
		Member(schema, "items", &items)
		list := []any{}
		if least == 0 && depth > maxExampleDepth/2 { // it may contain itself
			return list
		}
		for range min(max(least, 1), maxExampleLength) {
			list = append(list, m.value(items, depth+1))
		}
		return list
	case "string":
		return text(schema)
	}
	var required []string
	var properties ordered.Map
	Member(schema, "required", &required)
	Member(schema, "properties", &properties)
	object := ordered.Map{}
	for _, name := range required {
		var property json.RawMessage
		if value, ok := properties.Get(name); ok {
			property = ordered.MustJSON(value)
		}
		object.Set(name, m.value(property, depth+1))
	}
	for _, member := range merged {
		object.Set(member.Key, member.Value)
	}
	return object
}

// typeOf returns the type of a schema: of several, the first that is not null.
func typeOf(schema ordered.Map) (kind string) {
	if Member(schema, "type", &kind); kind != "" {
		return kind
	}
	var kinds []string
	Member(schema, "type", &kinds)
	for _, kind := range kinds {
		if kind != "null" {
			return kind
		}
	}
	if _, ok := schema.Get("items"); ok {
		return "array"
	}
	if slices.ContainsFunc(schema, func(m ordered.Member) bool {
		return m.Key == "properties" || m.Key == "required" || m.Key == "anyOf" || m.Key == "oneOf" || m.Key == "allOf"
	}) {
		return "object"
	}
	return "string"
}

func (m *exampleMaker) number(schema ordered.Map) any {
	value, most, above, step := 1.0, 0.0, 0.0, 0.0
	_, hasMost := schema.Get("maximum")
	_, hasLeast := schema.Get("minimum")
	Member(schema, "maximum", &most)
	if hasMost {
		value = min(value, most)
	}
	if hasLeast {
		Member(schema, "minimum", &value)
	}
	if _, ok := schema.Get("exclusiveMinimum"); ok {
		Member(schema, "exclusiveMinimum", &above)
		value = max(value, above+1)
	}
	if Member(schema, "multipleOf", &step); step > 0 && value != 0 {
		value = step
	}
	return value
}

// exampleTexts has a text for each format.
var exampleTexts = map[string]string{
	"date-time": "2026-01-31T12:00:00Z", "date": "2026-01-31", "time": "12:00:00Z", "duration": "PT1H", "email": "ann@example.com",
	"hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uri": "https://example.com", "url": "https://example.com",
	"uri-reference": "/path", "uuid": "00000000-0000-4000-8000-000000000001", "json-pointer": "/a", "regex": "a",
}

func text(schema ordered.Map) string {
	var format string
	var least, most int
	Member(schema, "format", &format)
	Member(schema, "minLength", &least)
	Member(schema, "maxLength", &most)
	if known := exampleTexts[format]; known != "" {
		return known
	}
	value := "text"
	if n := least - len(value); n > 0 {
		value += strings.Repeat("t", min(n, maxExampleLength))
	}
	if most > 0 && most < len(value) {
		value = value[:most]
	}
	return value
}
