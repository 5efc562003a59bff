// Package yamledit edits YAML in place, by whole lines of block mappings. All other lines stay
// unchanged. It returns an error for layouts that it cannot edit this way.
package yamledit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/yamlx"
)

var errLayout = errors.New("its layout would not survive the edit: make it by hand")

// maxNodes bounds the values of a file; an alias counts at each use.
const maxNodes = 100_000

// JSON converts the text to JSON. A text without values becomes an empty object.
func JSON(text []byte) ([]byte, error) {
	root, err := read(text)
	if err != nil || root == nil {
		return []byte("{}"), err
	}
	return jsonOf(root)
}

// Get returns the value at a path of keys as JSON, or nil.
func Get(text []byte, path ...string) ([]byte, error) {
	n, err := read(text)
	for _, key := range path {
		if err != nil || n == nil || n.Kind != yaml.MappingNode {
			return nil, err
		}
		var i int
		if i, err = find(n, key); i < 0 {
			return nil, err
		}
		n = n.Content[i+1]
	}
	if err != nil || n == nil {
		return nil, err
	}
	return jsonOf(n)
}

// Set sets the key at a path to a value, which is JSON. It adds missing mappings on the way. If the
// key already has the value, it returns the text unchanged.
func Set(text, value []byte, path ...string) ([]byte, error) {
	now, err := Get(text, path...)
	if err != nil || now != nil && jsonx.Equal(now, value) {
		return text, err
	}
	d, parent, err := open(text)
	if err != nil {
		return nil, err
	}
	at := len(d.lines) // line for a key in an empty parent
	indent := ""
	for i, key := range path {
		if parent == nil {
			d.replace(at, at, block(indent, nested(value, path[i:])))
			return d.check(text, value, path)
		}
		if parent.Kind != yaml.MappingNode || parent.Style&yaml.FlowStyle != 0 || len(parent.Content) == 0 {
			return nil, errLayout
		}
		indent = strings.Repeat(" ", parent.Content[0].Column-1)
		k, _ := find(parent, key) // Get has rejected duplicate keys
		if k < 0 {
			_, at = d.extent(parent, len(parent.Content)-2)
			parent = nil
			d.replace(at, at, block(indent, nested(value, path[i:])))
			return d.check(text, value, path)
		}
		start, end := d.extent(parent, k)
		child := parent.Content[k+1]
		switch {
		case i == len(path)-1:
			lines := block(indent, nested(value, path[i:]))
			if comment := child.LineComment; comment != "" {
				first, rest, _ := strings.Cut(lines, "\n")
				lines = first + " " + comment + "\n" + rest
			}
			d.replace(start, end, lines)
			return d.check(text, value, path)
		case isEmpty(child):
			if err := d.clear(child); err != nil {
				return nil, err
			}
			parent, at, indent = nil, start+1, indent+"  "
		default:
			parent = child
		}
	}
	return nil, errLayout
}

// Remove removes the key at a path with its lines. If there is no such key, it returns the text
// unchanged.
func Remove(text []byte, path ...string) ([]byte, error) {
	now, err := Get(text, path...)
	if err != nil || now == nil {
		return text, err
	}
	d, parent, err := open(text)
	if err != nil {
		return nil, err
	}
	holder := -1 // line of the key whose value is parent
	for i, key := range path {
		if parent.Style&yaml.FlowStyle != 0 {
			return nil, errLayout
		}
		k, _ := find(parent, key)
		start, end := d.extent(parent, k)
		if i < len(path)-1 {
			holder, parent = start, parent.Content[k+1]
			continue
		}
		d.replace(start, end, "")
		if len(parent.Content) == 2 && holder >= 0 {
			place := keyAndColon().FindStringIndex(d.lines[holder])
			if place == nil {
				return nil, errLayout
			}
			d.lines[holder] = d.lines[holder][:place[1]] + " {}" + d.lines[holder][place[1]:]
		}
	}
	return d.check(text, nil, path)
}

// keyAndColon matches a key at the start of a line.
var keyAndColon = regex.Lazy(`^ *("[^"]*"|'[^']*'|[^\s:#]+) *:`)

// read returns the root of a text with one document, or nil if it is empty.
func read(text []byte) (*yaml.Node, error) {
	roots, err := yamlx.Read(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading YAML: %w", err)
	case len(roots) > 1:
		return nil, errors.New("it has several YAML documents")
	case len(roots) == 0 || roots[0].Kind == yaml.ScalarNode && roots[0].ShortTag() == "!!null":
		return nil, nil
	case roots[0].Kind != yaml.MappingNode:
		return nil, errors.New("it is not a YAML mapping")
	}
	return roots[0], nil
}

// find returns the index of a key in the content of a mapping, or -1. A duplicate key is an error.
func find(mapping *yaml.Node, key string) (int, error) {
	found := -1
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value != key {
			continue
		}
		if found >= 0 {
			return -1, yamlx.At(mapping.Content[i], "%q is there twice", key)
		}
		found = i
	}
	return found, nil
}

// isEmpty reports whether a value is null or a mapping without keys.
func isEmpty(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && len(n.Content) == 0 || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// document is a text split into lines, with their line ends.
type document struct {
	lines []string
	end   string // line end of new lines
}

func open(text []byte) (*document, *yaml.Node, error) {
	root, err := read(text)
	d := &document{lines: slices.Collect(strings.Lines(string(text))), end: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		d.end = "\r\n"
	}
	return d, root, err
}

// extent returns the lines [start, end) of a key and its value in a block mapping. Comments and
// blank lines after it belong to the next key, unless they are indented deeper.
func (d *document) extent(mapping *yaml.Node, i int) (start, end int) {
	key, value := mapping.Content[i], mapping.Content[i+1]
	start, end = key.Line-1, key.Line
	indent := key.Column - 1
	list := value.Kind == yaml.SequenceNode && value.Style&yaml.FlowStyle == 0
	for at := start + 1; at < len(d.lines); at++ {
		rest := strings.TrimLeft(d.lines[at], " ")
		deep := len(d.lines[at]) - len(rest)
		switch {
		case strings.TrimSpace(rest) == "":
		case deep > indent, list && deep == indent && strings.HasPrefix(rest, "-"):
			end = at + 1
		case strings.HasPrefix(rest, "#"):
		default:
			return start, end
		}
	}
	return start, end
}

// clear removes the text of an empty value from its line.
func (d *document) clear(n *yaml.Node) error {
	text := map[yaml.Kind]string{yaml.MappingNode: "{}", yaml.ScalarNode: n.Value}[n.Kind]
	line := d.lines[n.Line-1]
	if text == "" {
		return nil
	}
	before, after, ok := strings.Cut(line, " "+text)
	if !ok {
		return errLayout
	}
	d.lines[n.Line-1] = before + after
	return nil
}

// replace replaces the lines [start, end). If the text does not end with a line end, the result
// does not either.
func (d *document) replace(start, end int, text string) {
	open := len(d.lines) > 0 && !strings.HasSuffix(d.lines[len(d.lines)-1], "\n")
	if open {
		d.lines[len(d.lines)-1] += d.end
	}
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSuffix(line, "\n")+d.end)
	}
	d.lines = slices.Replace(d.lines, start, end, lines...)
	if last := len(d.lines) - 1; open && last >= 0 {
		d.lines[last] = strings.TrimSuffix(d.lines[last], d.end)
	}
}

// check returns the edited text. It is an error if the text differs in more than the key at the
// path. A nil value means that the key is removed.
func (d *document) check(before, value []byte, path []string) ([]byte, error) {
	edited := []byte(strings.Join(d.lines, ""))
	was, err := JSON(before)
	if err != nil {
		return nil, err
	}
	is, err := JSON(edited)
	if err != nil || !jsonx.IsEdit(was, is, value, path) {
		return nil, errLayout
	}
	return edited, nil
}

// block writes a JSON object as indented YAML lines.
func block(indent string, value []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(yamlx.FromJSON(value))) {
		if strings.TrimSpace(line) != "" {
			line = indent + line
		}
		b.WriteString(line)
	}
	return b.String()
}

// nested wraps a value in objects with one key each.
func nested(value []byte, path []string) []byte {
	for _, key := range slices.Backward(path) {
		value = ordered.MustJSON(ordered.Map{{Key: key, Value: json.RawMessage(value)}})
	}
	return value
}

func jsonOf(n *yaml.Node) ([]byte, error) {
	left := maxNodes
	value, err := valueOf(n, &left)
	if err != nil {
		return nil, err
	}
	return ordered.JSON(value)
}

// valueOf converts a value, keeping the order of keys. left counts down to the limit of values.
func valueOf(n *yaml.Node, left *int) (any, error) {
	if *left--; *left < 0 {
		return nil, errors.New("it has too many values")
	}
	switch n.Kind {
	case yaml.AliasNode:
		return valueOf(n.Alias, left)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			var err error
			if list[i], err = valueOf(item, left); err != nil {
				return nil, err
			}
		}
		return list, nil
	case yaml.MappingNode:
		object := ordered.Map{}
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
				return nil, yamlx.At(key, "only texts can be keys here")
			}
			value, err := valueOf(n.Content[i+1], left)
			if err != nil {
				return nil, err
			}
			object.Set(key.Value, value)
		}
		return object, nil
	}
	return yamlx.Scalar(n)
}
