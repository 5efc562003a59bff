package workspace

import (
	"errors"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/toolfold/toolfold/internal/text/yamlx"
)

// ParseYAML parses one YAML document that is an object, into JSON values. A text without a document
// is a Document without a Value. Anchors, aliases, tags and keys that are not scalars are errors.
func ParseYAML(file string, text []byte) (Document, *BrokenFile) {
	if !utf8.Valid(text) {
		return Document{}, &BrokenFile{File: file, Reason: notUTF8}
	}
	d, err := readYAML(text)
	if fault, ok := errors.AsType[*yamlx.Error](err); ok {
		return Document{}, &BrokenFile{File: file, Line: fault.Line, Column: fault.Column, Reason: fault.Reason}
	}
	d.File = file
	return d, nil
}

// readYAML parses a document. The error is a *yamlx.Error.
func readYAML(text []byte) (d Document, err error) {
	roots, err := yamlx.Read(text)
	if err != nil {
		return d, err
	}
	r := yamlReader{positions: positions{places: map[string]place{}}}
	for _, root := range roots {
		switch {
		case root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null":
			continue
		case d.Value != nil:
			return d, yamlx.At(root, "it has more than one document")
		}
		value, err := r.read(root, "")
		if err != nil {
			return d, err
		}
		object, ok := value.(map[string]any)
		if !ok {
			return d, yamlx.At(root, notPairs)
		}
		d.Value, d.places = object, r.places
	}
	return d, nil
}

// yamlReader converts nodes to values. Its errors are *yamlx.Error.
type yamlReader struct {
	positions
	values, depth int
}

func (r *yamlReader) read(n *yaml.Node, at string) (any, error) {
	if r.values++; r.values > MaxValues {
		return nil, yamlx.At(n, tooMany)
	}
	if !r.note(at, place{n.Line, n.Column}) {
		return nil, yamlx.At(n, tooLong)
	}
	if r.depth++; r.depth > MaxNesting {
		return nil, yamlx.At(n, tooDeep)
	}
	defer func() { r.depth-- }()
	if why := foreign(n); why != "" {
		return nil, yamlx.At(n, "%s", why)
	}
	switch n.Kind {
	case yaml.MappingNode:
		return r.object(n, at)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, inner := range n.Content {
			value, err := r.read(inner, child(at, i))
			if err != nil {
				return nil, err
			}
			list[i] = value
		}
		return list, nil
	}
	return yamlx.Scalar(n)
}

// foreign returns the reason for rejecting a node: an anchor, an alias, a merge or an explicit tag.
// It is empty for other nodes.
func foreign(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.AliasNode, n.Anchor != "", n.ShortTag() == "!!merge":
		return "anchors and aliases are not taken"
	case n.Style&yaml.TaggedStyle != 0:
		return "tags are not taken"
	}
	return ""
}

func (r *yamlReader) object(n *yaml.Node, at string) (any, error) {
	object := make(map[string]any, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		name := key.Value
		_, twice := object[name]
		pointer := child(at, name)
		switch why := foreign(key); {
		case why != "":
			return nil, yamlx.At(key, "%s", why)
		case key.Kind != yaml.ScalarNode:
			return nil, yamlx.At(key, "keys must be plain texts")
		case twice:
			return nil, yamlx.At(key, "%q stands there twice: first in line %d", short(name), r.places[pointer].line)
		case !r.note(pointer, place{key.Line, key.Column}):
			return nil, yamlx.At(key, tooLong)
		}
		value, err := r.read(n.Content[i+1], pointer)
		if err != nil {
			return nil, err
		}
		object[name] = value
	}
	return object, nil
}

// short cuts a name in a file for quoting in a reason.
func short(name string) string { return Excerpt(name, 40) }
