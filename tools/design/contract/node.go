package contract

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold/internal/text/jsonx"
)

// node is a value of a document and its JSON pointer.
type node struct {
	v  any
	at string
}

func (n node) child(name string) node  { return node{members(n.v)[name], jsonx.Pointer(n.at, name)} }
func (n node) text(name string) string { s, _ := members(n.v)[name].(string); return s }

func (n node) items() []node {
	list, _ := n.v.([]any)
	nodes := make([]node, len(list))
	for i, v := range list {
		nodes[i] = node{v, jsonx.Index(n.at, i)}
	}
	return nodes
}

// names returns the names of an object's members in order, without extensions.
func (n node) names() []string {
	names := slices.Sorted(maps.Keys(members(n.v)))
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "x-") })
}

// unescaped returns the pointer in the fragment of a reference.
func unescaped(fragment string) string {
	if plain, err := url.PathUnescape(fragment); err == nil {
		return plain
	}
	return fragment
}

// at returns the value at a pointer.
func (d *Document) at(pointer string) (any, bool) {
	var v any = d.root
	for i, part := range strings.Split(pointer, "/") {
		if i == 0 {
			continue
		}
		part = jsonx.UnescapePointer(part)
		switch holder := v.(type) {
		case map[string]any:
			inner, there := holder[part]
			if !there {
				return nil, false
			}
			v = inner
		case []any:
			index, err := strconv.Atoi(part)
			if err != nil || index < 0 || index >= len(holder) {
				return nil, false
			}
			v = holder[index]
		default:
			return nil, false
		}
	}
	return v, true
}

// resolve follows references within the document. A reference that is broken, external or circular
// is returned unresolved.
func (d *Document) resolve(n node) node {
	for range 20 {
		pointer, local := strings.CutPrefix(n.text("$ref"), "#/")
		if !local {
			return n
		}
		pointer = "/" + unescaped(pointer)
		v, there := d.at(pointer)
		if !there {
			return n
		}
		n = node{v, pointer}
	}
	return n
}

// canonical returns a value as JSON with sorted members.
func canonical(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}
