package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/toolfold/toolfold/tools"
)

// misfit is what is wrong with a text as YAML. Line 0 is the text as a whole.
type misfit struct {
	line   int
	reason string
}

// Error implements error.
func (m *misfit) Error() string { return m.reason }

// parseYAML reads one YAML document, or JSON, as JSON would have it, and the
// line of each value by its JSON pointer. The parser is not ours: that it
// never panics is more than we know.
func parseYAML(text []byte) (value map[string]any, lines map[string]int, wrong *misfit) {
	defer func() {
		if p := recover(); p != nil {
			wrong = &misfit{1, "it is not valid YAML"}
		}
	}()
	if !utf8.Valid(text) {
		return nil, nil, &misfit{0, "it is not UTF-8"}
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, nil, yamlMisfit(err)
	}
	r := yamlReader{lines: map[string]int{}}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if value != nil {
			return nil, nil, &misfit{r.line(doc.Body), "it has more than one document"}
		}
		read, err := r.read(doc.Body, "")
		if errors.As(err, &wrong) {
			return nil, nil, wrong
		}
		object, ok := read.(map[string]any)
		if !ok {
			return nil, nil, &misfit{r.line(doc.Body), "it must be names with values"}
		}
		value = object
	}
	if value == nil {
		return nil, nil, &misfit{0, "it is empty"}
	}
	return value, r.lines, nil
}

// yamlMisfit leaves out the source that the parser quotes in its errors.
func yamlMisfit(err error) *misfit {
	var known yaml.Error
	if !errors.As(err, &known) {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return &misfit{1, line}
	}
	at := 1
	if token := known.GetToken(); token != nil && token.Position != nil {
		at = token.Position.Line
	}
	return &misfit{at, known.GetMessage()}
}

// yamlReader reads nodes and notes where they stand.
type yamlReader struct {
	lines map[string]int
	depth int
}

func (r *yamlReader) line(n ast.Node) int {
	if token := n.GetToken(); token != nil && token.Position != nil {
		return token.Position.Line
	}
	return 0
}

// read reads one node. Anchors and aliases are refused: with them a short
// text can stand for a huge value.
func (r *yamlReader) read(n ast.Node, at string) (any, error) {
	if _, noted := r.lines[at]; !noted {
		r.lines[at] = r.line(n)
	}
	if r.depth++; r.depth > 100 {
		return nil, &misfit{r.line(n), "it is nested too deep"}
	}
	defer func() { r.depth-- }()
	switch n := n.(type) {
	case *ast.MappingNode:
		return r.object(n.Values, at)
	case *ast.MappingValueNode:
		return r.object([]*ast.MappingValueNode{n}, at)
	case *ast.SequenceNode:
		list := make([]any, len(n.Values))
		for i, inner := range n.Values {
			value, err := r.read(inner, child(at, i))
			if err != nil {
				return nil, err
			}
			list[i] = value
		}
		return list, nil
	}
	return r.scalar(n)
}

func (r *yamlReader) object(members []*ast.MappingValueNode, at string) (any, error) {
	object := map[string]any{}
	for _, m := range members {
		if m.Key.Type() == ast.MergeKeyType {
			return nil, &misfit{r.line(m.Key), "anchors and aliases are not taken"}
		}
		name := m.Key.GetToken().Value
		if _, twice := object[name]; twice {
			return nil, &misfit{r.line(m.Key), fmt.Sprintf("%q stands there twice", tools.Shorten(name))}
		}
		path := child(at, escape(name))
		r.lines[path] = r.line(m.Key)
		value, err := r.read(m.Value, path)
		if err != nil {
			return nil, err
		}
		object[name] = value
	}
	return object, nil
}

func (r *yamlReader) scalar(n ast.Node) (any, error) {
	switch n := n.(type) {
	case *ast.NullNode:
		return nil, nil
	case *ast.BoolNode:
		return n.Value, nil
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.IntegerNode:
		return json.Number(fmt.Sprint(n.Value)), nil
	case *ast.FloatNode:
		return json.Number(strconv.FormatFloat(n.Value, 'g', -1, 64)), nil
	case *ast.AnchorNode, *ast.AliasNode:
		return nil, &misfit{r.line(n), "anchors and aliases are not taken"}
	}
	return nil, &misfit{r.line(n), fmt.Sprintf("%s has no meaning in JSON", strings.ToLower(n.Type().String()))}
}
