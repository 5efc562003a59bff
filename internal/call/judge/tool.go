package judge

import (
	"encoding/json"
	"regexp"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// CompileTool is [Compile] for another server's tool, and is not stricter than that server. Formats
// are annotations, as in 2020-12. Null is allowed if nullable or an enum allows it. Patterns that
// Go cannot express are not enforced.
func CompileTool(name string, schema json.RawMessage) (*ForeignSchema, error) {
	doc, err := decode(name, schema)
	if err != nil {
		return nil, err
	}
	var patterns []string
	formats := false
	eachSchema(doc, func(s map[string]any) {
		patterns = append(patterns, takePatterns(s)...)
		allowNull(s)
		_, has := s["format"]
		formats = formats || has
	})
	asserting := func() *jsonschema.Schema { return nil }
	if formats {
		text, err := json.Marshal(doc)
		if err != nil {
			return nil, err
		}
		asserting = sync.OnceValue(func() *jsonschema.Schema {
			var s *jsonschema.Schema
			if doc, err := decode(name, text); err == nil {
				s, _ = compile(name, doc) // it compiles without formats
			}
			return s
		})
		eachSchema(doc, func(s map[string]any) { delete(s, "format") })
	}
	s, err := compile(name, doc)
	if err != nil {
		return nil, err
	}
	return &ForeignSchema{Schema: s, Doc: doc, Formats: asserting, Patterns: patterns}, nil
}

// eachSchema calls visit for a schema, or each schema of a list, and for all nested schemas.
func eachSchema(part any, visit func(schema map[string]any)) {
	list, _ := part.([]any)
	for _, entry := range list {
		eachSchema(entry, visit)
	}
	object, is := part.(map[string]any)
	if !is {
		return
	}
	visit(object)
	for word, value := range object {
		switch word {
		case "const", "enum", "default", "examples":
		case "properties", "patternProperties", "definitions", "$defs", "dependencies", "dependentSchemas": // schemas by name
			named, _ := value.(map[string]any)
			for _, schema := range named {
				eachSchema(schema, visit)
			}
		default:
			eachSchema(value, visit)
		}
	}
}

// takePatterns removes the patterns that Go cannot express from a schema and returns them. If it
// removes a patternProperties entry, additional members are not checked either.
func takePatterns(s map[string]any) (taken []string) {
	unknown := func(pattern string) bool {
		_, err := regexp.Compile(pattern)
		if err != nil && !slices.Contains(taken, pattern) {
			taken = append(taken, pattern)
		}
		return err != nil
	}
	if pattern, is := s["pattern"].(string); is && unknown(pattern) {
		delete(s, "pattern")
	}
	named, _ := s["patternProperties"].(map[string]any)
	for pattern := range named {
		if unknown(pattern) {
			delete(named, pattern)
			delete(s, "additionalProperties")
			delete(s, "unevaluatedProperties")
		}
	}
	return taken
}

// allowNull makes a schema allow null if it is nullable, as in OpenAPI, or if null is in its enum.
func allowNull(s map[string]any) {
	values, enumerates := s["enum"].([]any)
	hasNull := slices.Contains(values, nil)
	nullable := s["nullable"] == true
	if !nullable && !hasNull {
		return
	}
	switch kind := s["type"].(type) {
	case string:
		if kind != "null" {
			s["type"] = []any{kind, "null"}
		}
	case []any:
		if !slices.Contains(kind, any("null")) {
			s["type"] = append(kind, "null")
		}
	}
	if !nullable {
		return
	}
	if enumerates && !hasNull {
		s["enum"] = append(values, nil)
	}
	null := map[string]any{"type": "null"}
	for _, word := range []string{"anyOf", "oneOf"} {
		if parts, is := s[word].([]any); is && !slices.ContainsFunc(parts, allowsNull) {
			s[word] = append(parts, null)
		}
	}
	if _, taken := s["anyOf"]; taken {
		return
	}
	for _, word := range []string{"$ref", "allOf"} {
		if part, has := s[word]; has {
			s["anyOf"] = []any{map[string]any{word: part}, null}
			delete(s, word)
			return
		}
	}
}

// allowsNull reports whether null is the type of a part, or one of its types.
func allowsNull(part any) bool {
	s, _ := part.(map[string]any)
	kinds, _ := s["type"].([]any)
	return s["type"] == "null" || slices.Contains(kinds, any("null"))
}
