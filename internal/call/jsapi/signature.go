package jsapi

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/internal/text/estimate"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Limits of a signature, in estimated tokens. A signature whose arguments and result do not fit shows less of
// them, with [cut] in place of what it leaves out.
const (
	argumentRoom  = 150
	signatureRoom = 100 // of a signature whose result shows less; the result gets resultRoom at least
	resultRoom    = 50
)

// cut stands for types and members that a signature leaves out.
const cut = "/*…*/"

// Signature returns the signature of an action in TypeScript, from the JSON Schemas of its arguments and result:
// memory.get(a: {key: string}): Promise<{key: string, value: unknown}>. call is its [Spelling]; if it is empty,
// the action is called by tools.call with its name. Without a schema of the result, its type is unknown.
func Signature(name, call string, input, output json.RawMessage) string {
	args := fitting(input, argumentRoom)
	var head string
	switch empty, required := args == "object" || args == "{}" || args == "unknown", requires(input); {
	case empty && noMembers(input):
	case required:
		head = "a: " + args
	default:
		head = "a?: " + args
	}
	if call == "" {
		call = "tools.call"
		head = strings.TrimSuffix("name: "+quoted(name)+", "+head, ", ")
	}
	head = call + "(" + head + "): Promise<"
	return head + fitting(output, max(resultRoom, signatureRoom-estimate.Tokens([]byte(head)))) + ">"
}

// noMembers reports whether a schema declares no members, and allows no others.
func noMembers(input json.RawMessage) bool {
	properties, _ := judge.Members(input)
	members, _ := ordered.Read(properties)
	return len(members) == 0 && !strings.Contains(string(input), `"additionalProperties":{`)
}

// requires reports whether a schema requires members.
func requires(input json.RawMessage) bool {
	_, raw := judge.Members(input)
	var required []string
	_ = json.Unmarshal(raw, &required)
	return len(required) > 0
}

// detail is how much of a type is shown.
type detail struct {
	depth    int // levels of objects
	values   int // of an enum
	bytes    int // of all values of an enum
	members  int // of an object
	inner    int // of an object in another; 0 = members
	optional bool
}

// details are the steps from the most detail to the least.
var details = []detail{
	{depth: 6, values: 20, bytes: 300, members: 60, optional: true},
	{depth: 3, values: 8, bytes: 120, members: 60, optional: true},
	{depth: 2, values: 5, bytes: 60, members: 60, optional: true},
	{depth: 2, values: 5, bytes: 60, members: 60, inner: 6, optional: true},
	{depth: 2, values: 0, members: 60, inner: 3, optional: true},
	{depth: 1, values: 5, bytes: 60, members: 60, optional: true},
	{depth: 1, values: 0, members: 40, optional: true},
	{depth: 1, values: 0, members: 12, optional: true},
	{depth: 1, values: 0, members: 8},
	{depth: 0},
}

// fitting returns the type of a schema with as much detail as fits into room, in estimated tokens.
func fitting(schema json.RawMessage, room int) (text string) {
	object, ok := ordered.Read(schema)
	if !ok || len(object) == 0 {
		return "unknown"
	}
	plain := ordered.MustJSON(judge.Plain(object))
	for _, d := range details {
		w := writer{detail: d, left: 400}
		if text = w.schema(plain, 0); estimate.Tokens([]byte(text)) <= room {
			return text
		}
	}
	return text
}

// writer writes types.
type writer struct {
	detail
	left int // number of types that may still be written
}

// schema returns the type of a schema.
func (w *writer) schema(raw json.RawMessage, depth int) string {
	if w.left--; w.left < 0 {
		return "unknown " + cut
	}
	s, ok := ordered.Read(raw)
	if !ok || len(s) == 0 {
		if string(raw) == "false" {
			return "never"
		}
		return "unknown"
	}
	var kind string
	var kinds []string
	judge.Member(s, "type", &kind)
	if judge.Member(s, "type", &kinds); kind != "" {
		kinds = []string{kind}
	}
	var list []json.RawMessage
	if constant, has := s.Get("const"); has {
		list = []json.RawMessage{constant.(json.RawMessage)}
	} else {
		judge.Member(s, "enum", &list)
	}
	if len(list) > 0 {
		return w.literals(list)
	}
	_, object := s.Get("properties")
	for _, keyword := range []string{"anyOf", "oneOf"} {
		var parts []json.RawMessage
		if judge.Member(s, keyword, &parts); len(parts) > 0 && !object && !slices.Contains(kinds, "object") {
			return w.union(parts, depth)
		}
	}
	var types []string
	for _, kind := range kinds {
		types = append(types, w.kind(kind, s, depth))
	}
	_, items := s.Get("items")
	_, parts := s.Get("allOf")
	switch {
	case len(types) > 0:
		return joined(types)
	case items:
		return w.kind("array", s, depth)
	case object || parts && w.object(s, w.depth) != "object":
		return w.object(s, depth)
	}
	return "unknown"
}

// kind returns the type of the values of a JSON type that a schema allows.
func (w *writer) kind(kind string, s ordered.Map, depth int) string {
	switch kind {
	case "string", "boolean", "null":
		return kind
	case "number", "integer":
		return "number"
	case "array":
		items, has := s.Get("items")
		raw, _ := items.(json.RawMessage)
		if !has || depth > w.depth {
			return "unknown[]"
		}
		if item := w.schema(raw, depth); !single(item) {
			return "(" + item + ")[]"
		} else {
			return item + "[]"
		}
	case "object":
		return w.object(s, depth)
	}
	return "unknown"
}

// object returns the type of an object.
func (w *writer) object(s ordered.Map, depth int) string {
	whole := ordered.MustJSON(s)
	raw, rawRequired := judge.Members(whole)
	members, _ := ordered.Read(raw)
	var required []string
	_ = json.Unmarshal(rawRequired, &required)
	if len(members) == 0 {
		values, _ := s.Get("additionalProperties")
		if text, ok := values.(json.RawMessage); ok && len(text) > 0 && text[0] == '{' && depth < w.depth {
			if value := w.schema(text, depth+1); value != "unknown" {
				return "Record<string, " + value + ">"
			}
		}
		return "object"
	}
	if depth >= w.depth {
		return "{" + cut + "}"
	}
	var parts []string
	left, most := 0, w.members
	if depth > 0 && w.inner > 0 {
		most = w.inner
	}
	for _, optional := range []bool{false, true} {
		for _, m := range members {
			if slices.Contains(required, m.Key) == optional {
				continue
			}
			if len(parts) == most || optional && !w.optional || len(m.Key) > 64 {
				left++
				continue
			}
			value, _ := m.Value.(json.RawMessage)
			name := m.Key
			if !identifier().MatchString(name) {
				name = quoted(name)
			}
			parts = append(parts, name+map[bool]string{true: "?"}[optional]+": "+w.schema(value, depth+1))
		}
	}
	if left > 0 {
		parts = append(parts, cut)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// union returns the union of the types of schemas.
func (w *writer) union(schemas []json.RawMessage, depth int) string {
	var types []string
	for i, part := range schemas {
		if i == 8 {
			types = append(types, "unknown "+cut)
			break
		}
		types = append(types, w.schema(part, depth))
	}
	return joined(types)
}

// literals returns the union of values, or the type of all of them if there are too many.
func (w *writer) literals(values []json.RawMessage) string {
	var types, texts []string
	bytes := 0
	for _, value := range values {
		kind := "unknown"
		switch value[0] {
		case '"':
			kind = "string"
		case 't', 'f':
			kind = "boolean"
		case 'n':
			kind = "null"
		case '{':
			kind = "object"
		case '[':
			kind = "unknown[]"
		default:
			kind = "number"
		}
		types = append(types, kind)
		text := kind
		if kind == "string" {
			var s string
			_ = json.Unmarshal(value, &s)
			text = quoted(s)
		} else if kind == "number" {
			text = string(value)
		}
		texts, bytes = append(texts, text), bytes+len(text)
	}
	if len(values) == 1 && bytes <= 60 || len(values) <= w.values && bytes <= w.bytes {
		return joined(texts)
	}
	return joined(types) + " " + cut
}

// single reports whether a type can stand before [] without brackets.
func single(text string) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '(', '<', '[':
			depth++
		case '}', ')', '>', ']':
			depth--
		case ' ', '-':
			if depth == 0 {
				return false
			}
		}
	}
	return true
}

// joined joins alternatives without duplicates. Those of all types are unknown.
func joined(types []string) string {
	var list []string
	for _, t := range types {
		parts := []string{t}
		if !strings.ContainsAny(t, `{("<`) {
			parts = strings.Split(t, " | ") // of a union of words
		}
		for _, part := range parts {
			if !slices.Contains(list, part) {
				list = append(list, part)
			}
		}
	}
	all := !slices.ContainsFunc([]string{"string", "number", "boolean", "object"}, func(t string) bool { return !slices.Contains(list, t) })
	if all || slices.Contains(list, "unknown") {
		return "unknown"
	}
	return cmp.Or(strings.Join(list, " | "), "unknown")
}

// quoted returns a text as a literal.
func quoted(text string) string { return string(ordered.MustJSON(text)) }
