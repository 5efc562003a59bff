package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shape has the constraints of a schema, with references resolved and allOf merged.
type shape struct {
	types        []string // empty = any
	enum         []string // as JSON; nil = any
	properties   map[string]node
	required     map[string]bool
	items        node
	additional   node // for undeclared members
	closed       bool // undeclared members are not allowed
	format       string
	pattern      string
	bounds       map[string]float64
	alternatives map[string]node // of oneOf and anyOf
}

// lower and upper are the keywords of bounds. A larger lower bound is narrower.
var (
	lower = []string{"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}
	upper = []string{"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"}
)

func shapeOf(d *Document, n node) shape {
	s := shape{properties: map[string]node{}, required: map[string]bool{}, bounds: map[string]float64{}, alternatives: map[string]node{}}
	s.put(d, n, 0)
	slices.Sort(s.types)
	return s
}

func (s *shape) put(d *Document, n node, depth int) {
	n = d.resolve(n)
	object := members(n.v)
	if depth > 30 {
		return
	}
	types := texts(object["type"])
	if object["nullable"] == true && len(types) > 0 {
		types = append(types, "null")
	}
	if len(types) > 0 {
		s.types = types
	}
	if values, ok := object["enum"].([]any); ok {
		s.enum = []string{}
		for _, v := range values {
			s.enum = append(s.enum, canonical(v))
		}
	}
	if v, there := object["const"]; there {
		s.enum = []string{canonical(v)}
	}
	for _, name := range slices.Sorted(maps.Keys(members(object["properties"]))) {
		s.properties[name] = n.child("properties").child(name)
	}
	for _, name := range texts(object["required"]) {
		s.required[name] = true
	}
	if object["items"] != nil {
		s.items = n.child("items")
	}
	switch object["additionalProperties"].(type) {
	case bool:
		s.closed = object["additionalProperties"] == false
	case map[string]any:
		s.additional = n.child("additionalProperties")
	}
	if text := n.text("format"); text != "" {
		s.format = text
	}
	if text := n.text("pattern"); text != "" {
		s.pattern = text
	}
	for _, name := range slices.Concat(lower, upper) {
		if number, ok := object[name].(json.Number); ok {
			if f, err := number.Float64(); err == nil {
				s.bounds[name] = f
			}
		}
	}
	for _, part := range n.child("allOf").items() {
		s.put(d, part, depth+1)
	}
	for _, word := range []string{"oneOf", "anyOf"} {
		list := n.child(word).items()
		var some []node
		for _, alternative := range list {
			if members(alternative.v)["type"] != "null" {
				some = append(some, alternative)
			}
		}
		if len(some) == 1 { // a type or null
			s.put(d, some[0], depth+1)
			if len(list) > 1 && len(s.types) > 0 && !slices.Contains(s.types, "null") {
				s.types = append(slices.Clone(s.types), "null")
			}
			continue
		}
		for _, alternative := range list {
			key := alternative.text("$ref")
			if key == "" {
				key = alternative.text("title")
			}
			if key == "" {
				key = canonical(alternative.v)
			}
			s.alternatives[key[strings.LastIndexByte(key, '/')+1:]] = alternative
		}
	}
}

// schemas compares the possible values. Every earlier value of an input must still be accepted.
// Every new value of an output must have been possible before.
func (c *comparison) schemas(where string, old, now node, input bool) {
	before, after := c.old.resolve(old), c.new.resolve(now)
	key := fmt.Sprint(before.at, "\x00", after.at, "\x00", input)
	if c.seen[key] || before.v == nil && after.v == nil {
		return
	}
	if c.pairs++; c.pairs > maxPairs {
		return
	}
	c.seen[key] = true
	a, b := shapeOf(c.old, before), shapeOf(c.new, after)
	differs := func(rule, format string, args ...any) {
		newAt := after.at
		if after.v == nil {
			newAt = ""
		}
		c.add(rule, where, before.at, newAt, format, args...)
	}
	// narrow must accept every value that wide accepts.
	wide, narrow := a, b
	if !input {
		wide, narrow = b, a
	}
	severalForms := len(wide.types) == 0 && len(wide.alternatives) > 0 // their types are in the alternatives
	if !severalForms && !admits(narrow.types, wide.types) {
		if input {
			differs("type", "was %s and takes only %s now", typeList(a.types), typeList(b.types))
		} else {
			differs("type", "was %s and may be %s now", typeList(a.types), typeList(b.types))
		}
		return
	}
	c.enums(a, b, input, differs)
	if wide.format != narrow.format && (wide.format != "" && narrow.format != "" || input && narrow.format != "") &&
		!(wide.format == "int32" && narrow.format == "int64") && !(wide.format == "float" && narrow.format == "double") {
		differs("format", "format was %s and is %s", orNone(a.format), orNone(b.format))
	}
	if input && b.pattern != "" && b.pattern != a.pattern {
		differs("pattern", "values must be of the form %s now", b.pattern)
	}
	for i, name := range slices.Concat(lower, upper) {
		limit, limited := narrow.bounds[name]
		was, before := wide.bounds[name]
		switch stricter := limited && (!before || i < len(lower) && limit > was || i >= len(lower) && limit < was); {
		case !stricter || i < len(lower) && !before && limit <= 0 && strings.HasSuffix(name, "s"):
		case input:
			differs("bound", "%s is %v now: values that were taken are refused", name, limit)
		case !before:
			differs("bound", "%s is no longer %v: values may come that could not", name, limit)
		default:
			differs("bound", "%s was %v and is %v: values may come that could not", name, limit, was)
		}
	}
	c.properties(where, a, b, before, after, input)
	if a.items.v != nil && b.items.v != nil || input && b.items.v != nil || !input && a.items.v != nil {
		c.schemas(where+"[]", orAny(a.items, before), orAny(b.items, after), input)
	}
	if a.additional.v != nil && b.additional.v != nil {
		c.schemas(where+".*", a.additional, b.additional, input)
	}
	c.alternatives(where, a, b, before, after, input)
}

// orAny returns the node, or a schema for any value if the node is missing.
func orAny(n, holder node) node {
	if n.v == nil {
		return node{map[string]any{}, holder.at + "/items"}
	}
	return n
}

// admits reports whether each type in narrow is covered by a type in wide.
func admits(narrow, wide []string) bool {
	if len(narrow) == 0 {
		return true
	}
	for _, t := range wide {
		if !slices.Contains(narrow, t) && !(t == "integer" && slices.Contains(narrow, "number")) {
			return false
		}
	}
	return len(wide) > 0
}

func (c *comparison) enums(a, b shape, input bool, differs func(rule, format string, args ...any)) {
	without := func(these, others []string) []string {
		return slices.DeleteFunc(slices.Clone(these), func(v string) bool { return slices.Contains(others, v) })
	}
	gone, added := without(a.enum, b.enum), without(b.enum, a.enum)
	switch {
	case input && a.enum == nil && b.enum != nil:
		differs("enum", "only %s are taken now", strings.Join(b.enum, ", "))
	case input && b.enum != nil && len(gone) > 0:
		differs("enum", "%s is no longer taken", strings.Join(gone, ", "))
	case !input && a.enum != nil && b.enum == nil:
		differs("enum", "any value may come now, and it was one of %s", strings.Join(a.enum, ", "))
	case !input && a.enum != nil && len(added) > 0:
		differs("enum", "%s may come now, which callers do not know", strings.Join(added, ", "))
	}
}

func (c *comparison) properties(where string, a, b shape, before, after node, input bool) {
	for _, name := range slices.Sorted(maps.Keys(a.properties)) {
		p, inner := a.properties[name], where+"."+name
		q, there := b.properties[name]
		switch {
		case !there && input && b.additional.v != nil, !there && !input && len(b.alternatives) > len(a.alternatives):
		case !there && input:
			c.add("property-removed", inner, p.at, "", "callers that send it are ignored or refused")
		case !there:
			c.add("property-removed", inner, p.at, "", "callers that read it find nothing")
		default:
			if !input && a.required[name] && !b.required[name] {
				c.add("property-optional", inner, p.at, q.at, "it was always there and may be absent now")
			}
			c.schemas(inner, p, q, input)
		}
	}
	if !input {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(b.required)) {
		_, known := a.properties[name]
		switch {
		case a.required[name]:
		case known:
			c.add("property-required", where+"."+name, a.properties[name].at, after.at, "callers that leave it out are refused")
		default:
			c.add("property-added", where+"."+name, "", after.at, "it is required, and callers do not send it")
		}
	}
	if b.closed && !a.closed {
		c.add("closed", where, before.at, after.at, "members that are not declared are refused now")
	}
}

// alternatives compares oneOf and anyOf by the names of what they refer to. Inline schemas without
// a name are compared in order.
func (c *comparison) alternatives(where string, a, b shape, before, after node, input bool) {
	if len(a.alternatives) == 0 && len(b.alternatives) == 0 {
		return
	}
	var gone, added []string
	for _, key := range slices.Sorted(maps.Keys(a.alternatives)) {
		if other, there := b.alternatives[key]; there {
			c.schemas(where+"("+key+")", a.alternatives[key], other, input)
			continue
		}
		gone = append(gone, key)
	}
	for _, key := range slices.Sorted(maps.Keys(b.alternatives)) {
		if _, there := a.alternatives[key]; !there {
			added = append(added, key)
		}
	}
	switch {
	case len(gone) == len(added):
		for i := range gone {
			c.schemas(fmt.Sprintf("%s(%d)", where, i+1), a.alternatives[gone[i]], b.alternatives[added[i]], input)
		}
	case len(a.alternatives) == 0 && !input:
		c.add("alternatives", where, before.at, after.at, "one of several forms may come now, and there was one")
	case input && len(gone) > 0 && len(b.alternatives) > 0:
		c.add("alternatives", where, before.at, after.at, "no longer taken: %s", strings.Join(gone, ", "))
	case !input && len(added) > 0:
		c.add("alternatives", where, before.at, after.at, "may come now, which callers do not know: %s", strings.Join(added, ", "))
	case input && len(b.alternatives) == 0 && len(b.types)+len(b.properties) > 0:
		c.add("alternatives", where, before.at, after.at, "one form is taken, and there were several: %s", strings.Join(gone, ", "))
	}
}

func typeList(types []string) string {
	if len(types) == 0 {
		return "anything"
	}
	return strings.Join(types, " or ")
}

func orNone(format string) string {
	if format == "" {
		return "free"
	}
	return format
}
