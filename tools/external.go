package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/ordered"
)

// External is a tool whose schema was written elsewhere, such as by another
// MCP server. It becomes a bare family: listed, found, described and called
// like any other.
type External struct {
	Name        string
	Description string // its first sentence becomes the summary
	InputSchema json.RawMessage
	Category    Category
	Effect      Effect // zero counts as Deletes: assume the worst

	// Run gets arguments that satisfy InputSchema and returns a JSON value.
	Run func(ctx context.Context, args json.RawMessage) (json.RawMessage, error)
}

// Mount returns the tool as a family of one action. It fails when the schema
// is not one that arguments can be checked with.
func (x External) Mount() (*Spec, error) {
	input := x.InputSchema
	if len(input) == 0 {
		input = json.RawMessage(`{"type":"object"}`)
	}
	if _, err := compileSchema(x.Name, input); err != nil {
		return nil, err
	}
	var schema ordered.Map
	if err := json.Unmarshal(input, &schema); err != nil {
		return nil, fmt.Errorf("reading schema of %s: %w", x.Name, err)
	}
	return x.spec(input, readMembers(schema)), nil
}

func (x External) spec(input json.RawMessage, object Param) *Spec {
	summary, rest := firstSentence(x.Description)
	spec := &Spec{
		Name: x.Name, Summary: shorten(summary, MaxFamilySummary-1), Category: x.Category,
		Tier: Extended, OpenWorld: true, Bare: true,
		service: &service{open: func(context.Context) (any, error) { return x, nil }},
	}
	effect := x.Effect
	if effect == 0 {
		effect = Deletes
	}
	spec.Actions = []*ActionSpec{{
		Family: spec, Name: x.Name, Summary: shorten(summary, MaxActionSummary-1), Doc: rest,
		Required: object.Required, Optional: object.Optional,
		Effect: effect, input: input, run: runExternal,
	}}
	return spec
}

func runExternal(ctx context.Context, service any, args []byte) (any, error) {
	raw, err := service.(External).Run(ctx, args)
	if err != nil {
		return nil, err
	}
	if raw = json.RawMessage(strings.TrimSpace(string(raw))); len(raw) == 0 || raw[0] != '{' {
		return map[string]json.RawMessage{"result": raw}, nil
	}
	return raw, nil
}

// firstSentence cuts a description after its first sentence or line.
func firstSentence(text string) (first, rest string) {
	text = strings.TrimSpace(text)
	if line, below, ok := strings.Cut(text, "\n"); ok {
		text, rest = strings.TrimSpace(line), strings.TrimSpace(below)
	}
	if sentence, more, ok := strings.Cut(text, ". "); ok {
		return sentence + ".", strings.TrimSpace(more + " " + rest)
	}
	return text, rest
}

// readMembers reads the members of an object schema as parameters: what
// listings, search and describe need of them.
func readMembers(schema ordered.Map) Param {
	object := Param{Kind: KindObject}
	var required []string
	get(schema, "required", &required)
	var properties ordered.Map
	get(schema, "properties", &properties)
	for _, m := range properties {
		p := readSchema(m.Key, m.Value)
		if slices.Contains(required, m.Key) {
			object.Required = append(object.Required, p)
		} else {
			object.Optional = append(object.Optional, p)
		}
	}
	return object
}

func readSchema(name string, raw any) Param {
	var schema ordered.Map
	if text, ok := raw.(json.RawMessage); !ok || json.Unmarshal(text, &schema) != nil {
		return Param{Name: name, Kind: KindAny} // a boolean schema
	}
	p := Param{Name: name, Kind: readKind(schema)}
	get(schema, "description", &p.Doc)
	get(schema, "format", &p.Format)
	get(schema, "enum", &p.Enum)
	switch p.Kind {
	case KindObject:
		members := readMembers(schema)
		p.Required, p.Optional = members.Required, members.Optional
	case KindArray:
		items, _ := schema.Get("items")
		p.Items = new(readSchema("", items))
	}
	return p
}

// readKind takes the first type of several, null left out.
func readKind(schema ordered.Map) Kind {
	var one string
	var several []string
	get(schema, "type", &one)
	get(schema, "type", &several)
	for _, word := range append(several, one) {
		switch kind := Kind(word); kind {
		case KindString, KindInteger, KindNumber, KindBoolean, KindObject, KindArray:
			return kind
		}
	}
	return KindAny
}

// get reads a keyword into v, and leaves v alone when it is of another shape.
func get[T any](schema ordered.Map, keyword string, v *T) {
	raw, _ := schema.Get(keyword)
	text, ok := raw.(json.RawMessage)
	if !ok {
		return
	}
	var read T
	if json.Unmarshal(text, &read) == nil {
		*v = read
	}
}
