package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// ParseYAML parses one YAML document that is an object, into the values that
// JSON knows. A text without a document is a Document without a Value.
// Anchors, aliases, tags and keys that are not texts are refused.
func ParseYAML(file string, text []byte) (d Document, broken *Broken) {
	// The parser is not ours, so that it may panic where we know of no reason.
	defer func() {
		if p := recover(); p != nil {
			broken = &Broken{File: file, Line: 1, Reason: "it is not valid YAML"}
		}
	}()
	if !utf8.Valid(text) {
		return d, &Broken{File: file, Reason: notUTF8}
	}
	tokens := lexer.Tokenize(string(text))
	if line, reason := checkTokens(tokens); reason != "" {
		return d, &Broken{File: file, Line: line, Reason: reason}
	}
	parsed, err := parser.Parse(tokens, 0)
	if err != nil {
		line, reason := yamlFault(err)
		return d, &Broken{File: file, Line: line, Reason: reason}
	}
	d.File = file
	r := yamlReader{positions: positions{lines: map[string]int{}}}
	for _, doc := range parsed.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.NullType {
			continue
		}
		if d.Value != nil {
			return Document{}, &Broken{File: file, Line: lineOf(doc.Body), Reason: "it has more than one document"}
		}
		value, err := r.read(doc.Body, "")
		var fault *Broken
		if errors.As(err, &fault) {
			fault.File = file
			return Document{}, fault
		}
		object, ok := value.(map[string]any)
		if !ok {
			return Document{}, &Broken{File: file, Line: lineOf(doc.Body), Reason: notPairs}
		}
		d.Value, d.lines = object, r.lines
	}
	return d, nil
}

// checkTokens refuses, before the parser sees them, the texts whose syntax
// tree would be huge: each node of the tree holds its whole path. It returns
// the line and the reason, or no reason.
func checkTokens(tokens token.Tokens) (line int, reason string) {
	if len(tokens) > MaxValues {
		return tokens[MaxValues].Position.Line, tooMany
	}
	// level is an open collection: its column, 0 for one in brackets, and the
	// length of the name or index that leads to its present value.
	type level struct {
		column, name int
		list         bool
	}
	var open []level
	names, flow, paths := 0, 0, 0
	push := func(l level) { open, names = append(open, l), names+l.name }
	pop := func() { names -= open[len(open)-1].name; open = open[:len(open)-1] }
	// enter closes what a block entry at a column ends. A list may stand in the
	// column of the key that it belongs to.
	enter := func(l level) {
		for len(open) > 0 {
			top := open[len(open)-1]
			if top.column < l.column || top.column == l.column && l.list && !top.list {
				break
			}
			pop()
		}
		push(l)
	}
	for i, t := range tokens {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return t.Position.Line, "anchors and aliases are not taken"
		case token.TagType:
			return t.Position.Line, "tags are not taken"
		case token.MappingKeyType:
			return t.Position.Line, "keys with a question mark are not taken"
		case token.DocumentHeaderType, token.DocumentEndType:
			open, names, flow = nil, 0, 0
		case token.SequenceStartType, token.MappingStartType:
			flow++
			push(level{name: 8})
		case token.SequenceEndType, token.MappingEndType:
			if flow > 0 {
				flow--
				pop()
			}
		case token.SequenceEntryType:
			if flow == 0 {
				enter(level{column: t.Position.Column, name: 8, list: true})
			}
		default:
			if i+1 == len(tokens) || tokens[i+1].Type != token.MappingValueType {
				break
			}
			if flow == 0 {
				enter(level{column: t.Position.Column, name: len(t.Value) + 1})
			} else {
				top := &open[len(open)-1]
				names += len(t.Value) + 1 - top.name
				top.name = len(t.Value) + 1
			}
		}
		if len(open) >= MaxNesting {
			return t.Position.Line, tooDeep
		}
		if paths += names; paths > maxPaths {
			return t.Position.Line, tooLong
		}
	}
	return 0, ""
}

// yamlFault returns the line and the first line of the message of an error of
// the parser, without the source that it quotes.
func yamlFault(err error) (line int, reason string) {
	var known yaml.Error
	if !errors.As(err, &known) {
		reason, _, _ = strings.Cut(err.Error(), "\n")
		return 1, reason
	}
	reason, _, _ = strings.Cut(known.GetMessage(), "\n")
	if t := known.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line, reason
	}
	return 1, reason
}

func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

// yamlReader makes values of nodes. Its errors are *Broken without a file.
type yamlReader struct {
	positions
	depth int
}

func (r *yamlReader) read(n ast.Node, at string) (any, error) {
	if !r.note(at, lineOf(n)) {
		return nil, &Broken{Line: lineOf(n), Reason: tooLong}
	}
	if r.depth++; r.depth > MaxNesting {
		return nil, &Broken{Line: lineOf(n), Reason: tooDeep}
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
		if written := n.Token.Value; json.Valid([]byte(written)) { // 1.0 is no 1 where it is a version
			return json.Number(written), nil
		}
		return json.Number(strconv.FormatFloat(n.Value, 'g', -1, 64)), nil
	}
	return nil, &Broken{Line: lineOf(n), Reason: strings.ToLower(n.Type().String()) + " has no meaning in JSON"}
}

func (r *yamlReader) object(members []*ast.MappingValueNode, at string) (any, error) {
	object := make(map[string]any, len(members))
	for _, m := range members {
		name := m.Key.GetToken().Value
		if _, twice := object[name]; twice {
			return nil, &Broken{Line: lineOf(m.Key), Reason: fmt.Sprintf("%q stands there twice", shorten(name))}
		}
		pointer := child(at, name)
		if !r.note(pointer, lineOf(m.Key)) {
			return nil, &Broken{Line: lineOf(m.Key), Reason: tooLong}
		}
		value, err := r.read(m.Value, pointer)
		if err != nil {
			return nil, err
		}
		object[name] = value
	}
	return object, nil
}

// shorten cuts a name of a file to what a reason quotes of it.
func shorten(name string) string { return Excerpt(name, 40) }
