package judge

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Limits of the references that [Plain] replaces, and of the levels that it reads.
const (
	maxReferences = 100
	maxTargets    = 256 << 10 // total size of targets
	maxDepth      = 50
)

// Plain returns a schema in the form for usage lines, without definitions. Local references are
// replaced by their targets. If an anyOf, oneOf or allOf has only one part besides null, the part
// replaces it; the keyword is kept in addition if null is allowed and not the default.
//
// A reference is kept if it has no local target, is recursive, contradicts the keywords next to it,
// or exceeds the limits. It then gets the type of its target, if that is known. Values are
// [json.RawMessage].
func Plain(schema ordered.Map) ordered.Map {
	if !slices.ContainsFunc(schema, func(m ordered.Member) bool {
		text, _ := m.Value.(json.RawMessage)
		return slices.ContainsFunc([]string{"$ref", "anyOf", "oneOf", "allOf"}, func(word string) bool {
			return bytes.Contains(text, []byte(`"`+word+`"`))
		})
	}) {
		return schema
	}
	p := plainer{root: ordered.MustJSON(schema), open: []string{""}, members: map[string]map[string]json.RawMessage{}}
	return p.object(schema)
}

// plainer converts schemas for Plain.
type plainer struct {
	root          json.RawMessage
	open          []string                              // paths of the references being followed
	members       map[string]map[string]json.RawMessage // members of objects of the root, by path
	count, copied int                                   // number of references followed, and size of their targets
	depth         int
}

// schema converts a schema, or a list of schemas. Other values are returned unchanged.
func (p *plainer) schema(raw json.RawMessage) json.RawMessage {
	var object ordered.Map
	var list []json.RawMessage
	if p.depth++; p.depth > maxDepth {
		p.depth--
		return raw
	}
	defer func() { p.depth-- }()
	switch {
	case len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &list) == nil:
		for i := range list {
			list[i] = p.schema(list[i])
		}
		return ordered.MustJSON(list)
	case len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &object) != nil:
		return raw
	}
	var base string
	if Member(object, "$id", &base); base != "" && base[0] != '#' {
		return raw // its references are relative to itself
	}
	return ordered.MustJSON(p.object(object))
}

func (p *plainer) object(schema ordered.Map) ordered.Map {
	var plain ordered.Map
	for _, m := range schema {
		text, _ := m.Value.(json.RawMessage)
		switch {
		case m.Key == "$defs" || m.Key == "definitions":
			continue
		case slices.Contains(data, m.Key):
		case slices.Contains([]string{"properties", "patternProperties", "dependentSchemas"}, m.Key):
			var named ordered.Map
			if json.Unmarshal(text, &named) != nil {
				break
			}
			for i, n := range named {
				inner, _ := n.Value.(json.RawMessage)
				named[i].Value = p.schema(inner)
			}
			text = ordered.MustJSON(named)
		default:
			text = p.schema(text)
		}
		plain = append(plain, ordered.Member{Key: m.Key, Value: text})
	}
	var ref string
	if Member(plain, "$ref", &ref); ref != "" {
		plain = p.follow(plain, ref)
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		plain = single(plain, keyword)
	}
	return plain
}

// single replaces a keyword by its only part that is not null. The keyword is kept in addition if
// the parts include null, unless null is the default.
func single(schema ordered.Map, keyword string) ordered.Map {
	all := parts(schema, keyword)
	some := slices.DeleteFunc(slices.Clone(all), func(part ordered.Map) bool {
		var kind string
		Member(part, "type", &kind)
		return kind == "null" && keyword != "allOf"
	})
	if len(some) != 1 || len(some[0]) == 0 {
		return schema
	}
	with, ok := joined(schema, keyword, some[0])
	standard, _ := schema.Get("default")
	if text, _ := standard.(json.RawMessage); ok && len(some) < len(all) && string(text) != "null" {
		value, _ := schema.Get(keyword)
		with.Set(keyword, value)
	}
	return with
}

// follow replaces the reference in a schema by its target.
func (p *plainer) follow(schema ordered.Map, ref string) ordered.Map {
	path, local := pathOf(ref, p.root)
	if !local {
		return schema
	}
	raw, found := p.at(path)
	var target ordered.Map
	if !found || json.Unmarshal(raw, &target) != nil {
		return schema
	}
	all := false
	circle := slices.Contains(p.open, path)
	if p.count++; !circle && p.count <= maxReferences && p.copied+len(raw) <= maxTargets {
		p.copied += len(raw)
		p.open = append(p.open, path)
		var read ordered.Map
		if json.Unmarshal(p.schema(raw), &read) == nil {
			schema, all = joined(schema, "$ref", read)
		}
		p.open = p.open[:len(p.open)-1]
	}
	kind, typed := target.Get("type")
	if _, has := schema.Get("type"); !all && typed && !has {
		schema.Set("type", kind)
	}
	return schema
}

// at returns the value at a path of the root.
func (p *plainer) at(path string) (json.RawMessage, bool) {
	cut := strings.LastIndexByte(path, '/')
	if cut < 0 {
		return p.root, true
	}
	members, known := p.members[path[:cut]]
	if !known {
		if holder, ok := at(p.root, path[:cut]); ok {
			_ = json.Unmarshal(holder, &members) // stays nil for a list
		}
		p.members[path[:cut]] = members
	}
	if members == nil {
		return at(p.root, path)
	}
	raw, ok := members[unescape(path[cut+1:])]
	return raw, ok
}

// notes are the keywords that may differ between a schema and the target of its reference.
var notes = []string{"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$id", "$anchor"}

// joined returns a schema with the members of another in place of a keyword. If a keyword differs
// in both, ok is false and the schema is unchanged.
func joined(schema ordered.Map, keyword string, other ordered.Map) (with ordered.Map, ok bool) {
	for _, m := range schema {
		if m.Key == keyword {
			continue
		}
		with = append(with, m)
		mine, _ := m.Value.(json.RawMessage)
		value, has := other.Get(m.Key)
		its, _ := value.(json.RawMessage)
		if has && !slices.Contains(notes, m.Key) && !bytes.Equal(mine, its) {
			return schema, false
		}
	}
	for _, m := range other {
		if _, has := with.Get(m.Key); !has {
			with = append(with, m)
		}
	}
	return with, true
}
