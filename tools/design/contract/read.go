// Package contract checks existing OpenAPI and AsyncAPI documents: it finds faults in a document,
// and breaks between an older and a newer one. It reads texts only: references to other documents
// are reported, not followed.
//
// It is not a stable API: see docs/stability.md.
package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/yamlx"
)

// Limits of a document.
const (
	MaxBytes   = 4 << 20
	maxValues  = 200_000 // members and items; aliases count at each use
	maxNesting = 100
)

// The kinds of documents.
const (
	OpenAPI  = "openapi"
	AsyncAPI = "asyncapi"
)

// Document is a parsed document.
type Document struct {
	Spec    string // OpenAPI or AsyncAPI
	Version string // such as 3.1.0

	root  map[string]any // numbers are json.Number
	lines map[string]int // by JSON pointer
}

// Read parses a document: JSON if its text begins with a brace, otherwise YAML. Its errors have the
// line.
func Read(text []byte) (*Document, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is not UTF-8")
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	r := reader{lines: map[string]int{}}
	var value any
	var err error
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		value, err = r.readJSON(text)
	} else {
		value, err = r.readYAML(text)
	}
	if err != nil {
		return nil, err
	}
	root, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("it is no object")
	}
	d := &Document{root: root, lines: r.lines}
	for _, spec := range []string{OpenAPI, AsyncAPI} {
		if version, there := root[spec]; there {
			d.Spec, d.Version = spec, fmt.Sprint(version)
		}
	}
	switch {
	case d.Spec == "" && root["swagger"] != nil:
		return nil, errors.New("it is Swagger 2.0; OpenAPI 3.0 and 3.1 are read")
	case d.Spec == "":
		return nil, errors.New("it has neither openapi nor asyncapi at the top, so it is no API document")
	case d.schema() == "":
		return nil, fmt.Errorf("it is %s %.20s; OpenAPI 3.0 and 3.1, AsyncAPI 2.0 to 2.6, 3.0 and 3.1 are read", d.Spec, d.Version)
	}
	return d, nil
}

// schema returns the name of the official schema for the document's version; empty if there is
// none.
func (d *Document) schema() string {
	major, minor, _ := strings.Cut(d.Version, ".")
	minor, _, _ = strings.Cut(minor, ".")
	switch name := d.Spec + "-" + major + "." + minor; {
	case d.Spec == AsyncAPI && major == "2" && len(minor) == 1 && minor <= "6":
		return "asyncapi-2.6"
	case name == "openapi-3.0", name == "openapi-3.1", name == "asyncapi-3.0", name == "asyncapi-3.1":
		return name
	}
	return ""
}

// line returns the line of the value at a pointer, or of the nearest one around it.
func (d *Document) line(pointer string) int {
	for {
		if line, ok := d.lines[pointer]; ok {
			return line
		}
		cut := strings.LastIndexByte(pointer, '/')
		if cut < 0 {
			return 1
		}
		pointer = pointer[:cut]
	}
}

// reader decodes a text into values with lines.
type reader struct {
	lines  map[string]int
	values int

	text    []byte // of JSON
	counted int64  // offset up to which lines are counted
	newline int    // line breaks before counted
}

func (r *reader) note(at string, line, depth int) error {
	if r.values++; r.values > maxValues {
		return fmt.Errorf("line %d: it holds more than %d values", line, maxValues)
	}
	if depth > maxNesting {
		return fmt.Errorf("line %d: it is nested more than %d levels deep", line, maxNesting)
	}
	if _, known := r.lines[at]; !known {
		r.lines[at] = line
	}
	return nil
}

func (r *reader) readJSON(text []byte) (any, error) {
	r.text = text
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	value, err := r.json(dec, "", 0)
	if err == nil {
		if _, end := dec.ReadToken(); end != io.EOF {
			err = errors.New("text follows the document")
		}
	}
	if err == nil {
		return value, nil
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		before := text[:min(syntax.ByteOffset, int64(len(text)))]
		return nil, fmt.Errorf("line %d: it is not valid JSON: %w", 1+bytes.Count(before, []byte("\n")), syntax.Err)
	}
	return nil, err
}

func (r *reader) json(dec *jsontext.Decoder, at string, depth int) (any, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	offset := dec.InputOffset()
	r.newline += bytes.Count(r.text[r.counted:offset], []byte("\n"))
	r.counted = offset
	if err := r.note(at, r.newline+1, depth); err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		object := map[string]any{}
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			if object[key], err = r.json(dec, jsonx.Pointer(at, key), depth+1); err != nil {
				return nil, err
			}
		}
		_, err := dec.ReadToken()
		return object, err
	case '[':
		list := []any{}
		for dec.PeekKind() != ']' {
			item, err := r.json(dec, jsonx.Index(at, len(list)), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err := dec.ReadToken()
		return list, err
	case '0':
		return json.Number(token.String()), nil
	case '"':
		return token.String(), nil
	case 't', 'f':
		return token.Bool(), nil
	}
	return nil, nil
}

func (r *reader) readYAML(text []byte) (any, error) {
	roots, err := yamlx.Read(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("it is not valid YAML: %w", err)
	case len(roots) == 0:
		return nil, errors.New("it is empty")
	case len(roots) > 1:
		return nil, errors.New("it has more than one YAML document")
	}
	return r.yaml(roots[0], "", 0)
}

func (r *reader) yaml(n *yaml.Node, at string, depth int) (any, error) {
	if err := r.note(at, n.Line, depth); err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.yaml(n.Alias, at, depth+1)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			var err error
			if list[i], err = r.yaml(item, jsonx.Index(at, i), depth+1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case yaml.MappingNode:
		object, merged := map[string]any{}, map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			key, pointer := n.Content[i], jsonx.Pointer(at, n.Content[i].Value)
			if key.Kind != yaml.ScalarNode {
				return nil, yamlx.At(key, "a key must be a plain text")
			}
			if _, twice := object[key.Value]; twice {
				return nil, yamlx.At(key, "%.40q stands there twice", key.Value)
			}
			if key.ShortTag() != "!!merge" {
				r.lines[pointer] = key.Line
			}
			value, err := r.yaml(n.Content[i+1], pointer, depth+1)
			if err != nil {
				return nil, err
			}
			if key.ShortTag() != "!!merge" {
				object[key.Value] = value
				continue
			}
			sources, ok := value.([]any)
			if !ok {
				sources = []any{value}
			}
			for _, source := range sources {
				for name, v := range members(source) {
					if _, there := merged[name]; !there {
						merged[name] = v
					}
				}
			}
		}
		for name, v := range merged {
			if _, there := object[name]; !there {
				object[name] = v
			}
		}
		return object, nil
	}
	return yamlx.Scalar(n)
}

// members returns the members of an object; nil for other values.
func members(v any) map[string]any {
	object, _ := v.(map[string]any)
	return object
}
