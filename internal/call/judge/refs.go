package judge

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Nested returns the [Object] of a schema for a place below a path of another document, such as
// /properties/params: its references still have the same targets.
func Nested(object ordered.Map, below string) ordered.Map {
	return rewriteRefs(object, ordered.MustJSON(object), below)
}

// rewriteRefs rewrites the references of a schema that was made from another one, so that they have
// the same targets: at a path below, or in its $defs if the schema no longer contains the target.
func rewriteRefs(schema ordered.Map, from json.RawMessage, below string) ordered.Map {
	s := refRewriter{from: from, text: ordered.MustJSON(schema), below: below, names: map[string]string{}}
	var moved ordered.Map
	_ = json.Unmarshal(s.schema(s.text), &moved) // schema was an object before
	if len(s.defs) > 0 {
		var defs ordered.Map
		Member(moved, "$defs", &defs)
		moved.Set("$defs", ordered.MustJSON(append(defs, s.defs...)))
	}
	return moved
}

// refRewriter rewrites references.
type refRewriter struct {
	from, text json.RawMessage
	below      string            // path of the schema in its document
	names      map[string]string // names in $defs of missing targets, by path
	defs       ordered.Map
}

// data are the keywords whose values are not schemas.
var data = []string{"const", "enum", "default", "examples"}

// schema copies a value and rewrites the $refs in it.
func (s *refRewriter) schema(raw json.RawMessage) json.RawMessage {
	var object ordered.Map
	var list []json.RawMessage
	switch {
	case len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &list) == nil:
		for i := range list {
			list[i] = s.schema(list[i])
		}
		return ordered.MustJSON(list)
	case len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &object) != nil:
		return raw
	}
	var base string
	if Member(object, "$id", &base); base != "" && base[0] != '#' && len(raw) != len(s.text) {
		return raw // its references are relative to itself
	}
	for i, m := range object {
		text, _ := m.Value.(json.RawMessage)
		var ref string
		switch {
		case slices.Contains(data, m.Key):
		case m.Key == "$ref" && json.Unmarshal(text, &ref) == nil:
			object[i].Value = s.reference(ref)
		default:
			object[i].Value = s.schema(text)
		}
	}
	return ordered.MustJSON(object)
}

// reference returns a reference to the target of ref.
func (s *refRewriter) reference(ref string) string {
	path, local := pathOf(ref, s.from)
	if !local {
		return ref
	}
	if _, ok := at(s.text, path); ok {
		return pointer(s.below + path)
	}
	target, found := at(s.from, path)
	if !found {
		return ref // it had no target before
	}
	name, known := s.names[path]
	if !known {
		name = strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", ".")
		s.names[path] = name
		at := len(s.defs)
		s.defs = append(s.defs, ordered.Member{Key: name, Value: target})
		s.defs[at].Value = s.schema(target)
	}
	return pointer(s.below + "/$defs/" + escape(name))
}

// pointer returns a reference to a path.
func pointer(path string) string { return "#" + (&url.URL{Fragment: path}).EscapedFragment() }

// escape returns a name in the form of JSON pointers.
func escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// unescape is the reverse of escape.
func unescape(name string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(name) }

// pathOf returns the JSON pointer of the target of a reference in the same document, also for
// anchors. ok is false for other documents and unknown anchors.
func pathOf(ref string, document json.RawMessage) (path string, ok bool) {
	fragment, local := strings.CutPrefix(ref, "#")
	fragment, err := url.PathUnescape(fragment)
	switch {
	case !local || err != nil:
		return "", false
	case fragment == "" || fragment[0] == '/':
		return fragment, true
	}
	return findAnchor(document, fragment, "")
}

// findAnchor returns the path of the schema with an anchor.
func findAnchor(raw json.RawMessage, anchor, path string) (found string, ok bool) {
	var object ordered.Map
	var list []json.RawMessage
	switch {
	case len(raw) > 0 && raw[0] == '{' && json.Unmarshal(raw, &object) == nil:
		var is, old string
		Member(object, "$anchor", &is)
		Member(object, "$id", &old) // draft-07
		if is == anchor || old == "#"+anchor {
			return path, true
		}
		for _, m := range object {
			text, _ := m.Value.(json.RawMessage)
			if slices.Contains(data, m.Key) {
				continue
			}
			if found, ok := findAnchor(text, anchor, path+"/"+escape(m.Key)); ok {
				return found, true
			}
		}
	case len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &list) == nil:
		for i, entry := range list {
			if found, ok := findAnchor(entry, anchor, path+"/"+strconv.Itoa(i)); ok {
				return found, true
			}
		}
	}
	return "", false
}

// at returns the value at a JSON pointer.
func at(document json.RawMessage, path string) (json.RawMessage, bool) {
	if path == "" {
		return document, true
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		var object map[string]json.RawMessage
		var list []json.RawMessage
		if json.Unmarshal(document, &object) == nil {
			value, has := object[unescape(name)]
			if !has {
				return nil, false
			}
			document = value
			continue
		}
		i, err := strconv.Atoi(name)
		if err != nil || json.Unmarshal(document, &list) != nil || i < 0 || i >= len(list) {
			return nil, false
		}
		document = list[i]
	}
	return document, true
}
