package api

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolfold/toolfold/internal/ordered"
)

// MaxDepth limits the nesting of objects and lists in a body's schema.
const MaxDepth = 20

// parseSchema reads the JSON Schema of a body, and keeps the order of its
// members. It returns nil for none, and for one that is refused: one that is
// too deep, is no schema of the draft that the format uses, or refers to
// anything, since a reference would mean another place in the document.
func parseSchema(found *faults, raw json.RawMessage, at, format string) any {
	if len(raw) == 0 {
		return nil
	}
	value, problem := parseBody(raw, 0)
	if problem != "" {
		found.refuse(at, problem)
		return nil
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // of no scheme: reads nothing
	compiler.DefaultDraft(jsonschema.Draft2020)
	draft := "2020-12"
	if format == AsyncAPI {
		compiler.DefaultDraft(jsonschema.Draft7)
		draft = "7"
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err == nil {
		err = compiler.AddResource("mem://body", doc)
	}
	if err != nil {
		found.refuse(at, "JSON Schema")
		return nil
	}
	if _, err := compiler.Compile("mem://body"); err != nil {
		found.refuse(at, "valid JSON Schema of draft "+draft)
		return nil
	}
	return value
}

// parseBody reads a JSON value whose objects keep the order of their members.
// The problem is empty or says what is wanted in its place.
func parseBody(raw json.RawMessage, depth int) (value any, problem string) {
	if depth > MaxDepth {
		return nil, fmt.Sprintf("schema of at most %d levels", MaxDepth)
	}
	switch raw = bytes.TrimSpace(raw); raw[0] {
	case '{':
		var members ordered.Map
		if err := json.Unmarshal(raw, &members); err != nil {
			return nil, "JSON object"
		}
		for i, m := range members {
			switch m.Key {
			case "$ref", "$dynamicRef", "$recursiveRef", "$id", "$schema", "$anchor", "$dynamicAnchor":
				return nil, "schema without " + m.Key + ": write what it stands for in its place"
			}
			if members[i].Value, problem = parseBody(m.Value.(json.RawMessage), depth+1); problem != "" {
				return nil, problem
			}
		}
		return members, ""
	case '[':
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, "JSON list"
		}
		list := make([]any, len(items))
		for i, item := range items {
			if list[i], problem = parseBody(item, depth+1); problem != "" {
				return nil, problem
			}
		}
		return list, ""
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return nil, "JSON value"
	}
	return value, ""
}
