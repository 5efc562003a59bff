package judge

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// combinators are the keywords that combine schemas. Hosts reject them at the root of a schema.
var combinators = []string{"$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "not"}

// maxParts limits the parts that are read of a root with combinators, including the targets of
// their references.
const maxParts = 100

// Cut is the description for a schema with more than maxParts parts.
const Cut = "Its schema has more than 100 parts: parameters of the other parts are not shown here; the whole schema has them."

// Object reads a schema. A root with combinators is replaced by an object that allows everything
// that the original allows. It has the members of all parts, and requires the members that every
// alternative requires; references still have the same targets. whole reports that no part was left
// out. ok is false if the schema is not an object. The schema must be valid JSON. Values are
// [json.RawMessage], and may share its memory.
func Object(input json.RawMessage) (object ordered.Map, whole, ok bool) {
	if object, ok = ordered.Read(input); !ok {
		return nil, false, false
	}
	combined := slices.ContainsFunc(object, func(m ordered.Member) bool { return slices.Contains(combinators, m.Key) })
	var kind string
	Member(object, "type", &kind)
	if _, has := object.Get("properties"); has && !combined && kind == "object" {
		return object, true, true
	}
	m := merger{root: input}
	required := m.part(object)
	result := ordered.Map{{Key: "type", Value: "object"}, {Key: "properties", Value: m.properties()}}
	if len(required) > 0 {
		result.Set("required", required)
	}
	for _, rest := range object {
		switch {
		case slices.Contains([]string{"type", "properties", "required"}, rest.Key) || slices.Contains(combinators, rest.Key):
		case combined && (rest.Key == "additionalProperties" || rest.Key == "unevaluatedProperties"): // parts may have other members
		default:
			result = append(result, rest)
		}
	}
	result = rewriteRefs(result, input, "")
	if whole = m.parts <= maxParts; !whole {
		var text string
		Member(object, "description", &text)
		result.Set("description", ordered.MustJSON(strings.TrimSpace(text+" "+Cut)))
	}
	return result, whole, true
}

// Members returns the properties and the required names of the [Object] of a schema, as written;
// nil if there are none. Without combinators it only scans the root.
func Members(input json.RawMessage) (properties, required json.RawMessage) {
	combined, isObject := false, false
	ordered.Scan(input, func(name []byte, start, end int) {
		switch value := input[start:end:end]; string(name) {
		case "properties":
			properties = value
		case "required":
			required = value
		case "type":
			isObject = string(value) == `"object"`
		default:
			combined = combined || slices.Contains(combinators, string(name))
		}
	})
	if isObject && !combined && properties != nil {
		return properties, required
	}
	object, _, _ := Object(input)
	for _, m := range object {
		text, _ := m.Value.(json.RawMessage)
		switch m.Key {
		case "properties":
			properties = text
		case "required":
			required = text
		}
	}
	return properties, required
}

// merger collects the members of all parts of a root.
type merger struct {
	root    json.RawMessage
	parts   int
	names   []string
	forms   map[string][]json.RawMessage // by name, without duplicates
	targets map[string][]string          // names that the target of each followed reference requires
}

// part adds the members of a schema and of its parts. It returns the names that every object of the
// schema has.
func (m *merger) part(schema ordered.Map) (required []string) {
	if len(schema) == 0 {
		return nil
	}
	if m.parts++; m.parts > maxParts {
		return nil
	}
	Member(schema, "required", &required)
	var properties ordered.Map
	Member(schema, "properties", &properties)
	for _, p := range properties {
		form, _ := p.Value.(json.RawMessage)
		if m.forms == nil {
			m.forms = map[string][]json.RawMessage{}
		}
		if _, known := m.forms[p.Key]; !known {
			m.names = append(m.names, p.Key)
		}
		if !slices.ContainsFunc(m.forms[p.Key], func(f json.RawMessage) bool { return string(f) == string(form) }) {
			m.forms[p.Key] = append(m.forms[p.Key], form)
		}
	}
	required = append(required, m.target(schema)...)
	for _, part := range parts(schema, "allOf") {
		required = append(required, m.part(part)...)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		var common []string
		for i, part := range parts(schema, keyword) {
			if names := m.part(part); i == 0 {
				common = names
			} else {
				common = slices.DeleteFunc(slices.Clone(common), func(name string) bool { return !slices.Contains(names, name) })
			}
		}
		required = append(required, common...)
	}
	for _, keyword := range []string{"if", "then", "else"} {
		var part ordered.Map
		Member(schema, keyword, &part)
		m.part(part)
	}
	var once []string
	for _, name := range required {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return once
}

// target adds the local target of a schema's $ref, once.
func (m *merger) target(schema ordered.Map) (required []string) {
	var ref string
	Member(schema, "$ref", &ref)
	if required, known := m.targets[ref]; known || ref == "" {
		return required
	}
	path, local := pathOf(ref, m.root)
	if !local {
		return nil
	}
	if m.targets == nil {
		m.targets = map[string][]string{}
	}
	m.targets[ref] = nil // for references back to it
	var target ordered.Map
	if at, ok := at(m.root, path); ok && json.Unmarshal(at, &target) == nil {
		m.targets[ref] = m.part(target)
	}
	return m.targets[ref]
}

// properties returns the members as written; members with several forms become an anyOf. A boolean
// schema in a part is ignored.
func (m *merger) properties() ordered.Map {
	properties := ordered.Map{}
	for _, name := range m.names {
		forms := slices.DeleteFunc(m.forms[name], func(f json.RawMessage) bool { return len(f) == 0 || f[0] != '{' })
		switch words := words(forms); {
		case len(forms) == 0:
			properties.Set(name, ordered.Map{})
		case len(forms) == 1:
			properties.Set(name, forms[0])
		case words != nil:
			properties.Set(name, ordered.Map{{Key: "type", Value: "string"}, {Key: "enum", Value: words}})
		default:
			properties.Set(name, ordered.Map{{Key: "anyOf", Value: forms}})
		}
	}
	return properties
}

// words returns the union of the words that forms allow, if no form allows anything else, as for a
// member that distinguishes alternatives; otherwise nil.
func words(forms []json.RawMessage) (all []string) {
	for _, form := range forms {
		var schema ordered.Map
		if json.Unmarshal(form, &schema) != nil {
			return nil
		}
		var kind, word string
		var own []string
		Member(schema, "type", &kind)
		Member(schema, "enum", &own)
		if Member(schema, "const", &word); word != "" {
			own = append(own, word)
		}
		more := slices.ContainsFunc(schema, func(m ordered.Member) bool { return !slices.Contains([]string{"type", "const", "enum"}, m.Key) })
		if len(own) == 0 || kind != "" && kind != "string" || more {
			return nil
		}
		for _, word := range own {
			if !slices.Contains(all, word) {
				all = append(all, word)
			}
		}
	}
	return all
}

// parts returns the schemas in the list of a keyword, boolean ones as empty.
func parts(schema ordered.Map, keyword string) []ordered.Map {
	var texts []json.RawMessage
	Member(schema, keyword, &texts)
	list := make([]ordered.Map, len(texts))
	for i, text := range texts {
		var part ordered.Map
		if json.Unmarshal(text, &part) == nil {
			list[i] = part
		}
	}
	return list
}

// Member reads a keyword into v. It leaves v alone if the value has another type.
func Member[T any](schema ordered.Map, keyword string, v *T) {
	raw, _ := schema.Get(keyword)
	text, ok := raw.(json.RawMessage)
	var read T
	if ok && json.Unmarshal(text, &read) == nil {
		*v = read
	}
}
