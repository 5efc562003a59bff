package judge

import (
	"encoding/json"
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// ListedSchema converts the [Object] of a schema to a valid 2020-12 schema, as clients require. Invalid
// keywords are dropped or converted, and references without a target are dropped. There is no
// $schema, because some hosts reject dialects. If the schema is still invalid, it becomes an object
// without members, and whole is false.
func ListedSchema(object ordered.Map) (schema ordered.Map, whole bool) {
	object = slices.DeleteFunc(slices.Clone(object), func(m ordered.Member) bool { return m.Key == "$schema" })
	l := lister{root: ordered.MustJSON(object)}
	schema = l.object(object)
	if properties, _ := schema.Get("properties"); properties == nil {
		schema.Set("properties", json.RawMessage(`{}`))
		l.changed = true
	}
	if !l.changed && !l.refers {
		return object, true
	}
	var doc any
	if json.Unmarshal(ordered.MustJSON(schema), &doc) == nil {
		eachSchema(doc, func(s map[string]any) { takePatterns(s) })
		if _, err := compileAs("listed", doc, jsonschema.Draft2020); err == nil {
			return schema, true
		}
	}
	bare := ordered.Map{{Key: "type", Value: json.RawMessage(`"object"`)}, {Key: "properties", Value: json.RawMessage(`{}`)}}
	var text string
	if Member(object, "description", &text); text != "" {
		bare.Set("description", ordered.MustJSON(text))
	}
	return bare, false
}

// maxListed limits the nesting of schemas in [ListedSchema]. Deeper schemas are dropped, which allows any
// value. Lists are made for every client, so it is less than the limit of encoding/json.
const maxListed = 500

// lister converts a schema to 2020-12.
type lister struct {
	root    json.RawMessage
	changed bool // the output differs from the input
	refers  bool // there are references
	depth   int
}

// The keywords of 2020-12 by type of value.
var (
	oneSchema = []string{
		"additionalProperties", "items", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems",
		"contentSchema",
	}
	someSchemas  = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	namedSchemas = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
	numbers      = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
	counts       = []string{
		"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains",
	}
	words2020 = []string{
		"title", "description", "$comment", "format", "pattern", "$ref", "$dynamicRef", "$anchor", "$dynamicAnchor", "$id",
		"contentMediaType", "contentEncoding",
	}
	switches = []string{"uniqueItems", "deprecated", "readOnly", "writeOnly"}
	objects  = []string{"dependentRequired", "dependencies", "$vocabulary"}
)

// kinds maps other names of types that servers use.
var kinds = map[string]string{
	"int": "integer", "long": "integer", "str": "string", "text": "string", "float": "number", "double": "number", "bool": "boolean",
	"dict": "object", "map": "object", "list": "array",
}

// schema converts a schema; ok is false if raw is not a schema.
func (l *lister) schema(raw json.RawMessage) (result json.RawMessage, ok bool) {
	var object ordered.Map
	switch l.depth++; {
	case l.depth > maxListed:
	case string(raw) == "true", string(raw) == "false":
		result, ok = raw, true
	case len(raw) > 0 && raw[0] == '{' && json.Unmarshal(raw, &object) == nil:
		before := l.changed
		l.changed = false
		object = l.object(object)
		if result, ok = raw, true; l.changed {
			result = ordered.MustJSON(object)
		}
		l.changed = l.changed || before
	}
	l.depth--
	return result, ok
}

func (l *lister) object(object ordered.Map) (result ordered.Map) {
	_, tuple := object.Get("prefixItems")
	for _, m := range object {
		raw, _ := m.Value.(json.RawMessage)
		key, value := m.Key, json.RawMessage(nil)
		switch {
		case key == "items" && len(raw) > 0 && raw[0] == '[' && !tuple: // tuple of older drafts
			key, value = "prefixItems", l.schemas(raw)
		case key == "additionalItems":
			items, _ := object.Get("items")
			if list, _ := items.(json.RawMessage); len(list) > 0 && list[0] == '[' {
				key, value = "items", l.one(raw)
			}
		case slices.Contains(oneSchema, key):
			value = l.one(raw)
		case slices.Contains(someSchemas, key):
			value = l.schemas(raw)
		case slices.Contains(namedSchemas, key):
			value = l.schemasByName(raw)
		default:
			value = l.plain(key, raw)
		}
		switch {
		case value == nil:
			l.changed = true
			key, value = exclusive(object, m.Key, raw)
			if value == nil {
				continue
			}
		case key != m.Key || string(value) != string(raw):
			l.changed = true
		}
		result.Set(key, value)
	}
	for bound, beyond := range map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"} {
		if value, _ := object.Get(beyond); value != nil && string(value.(json.RawMessage)) == "true" {
			result = slices.DeleteFunc(result, func(m ordered.Member) bool { return m.Key == bound })
		}
	}
	return result
}

// exclusive converts an exclusive limit of draft-04; nil for other values.
func exclusive(object ordered.Map, key string, raw json.RawMessage) (string, json.RawMessage) {
	bound := map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}[key]
	limit, has := object.Get(bound)
	if string(raw) != "true" || !has {
		return key, nil
	}
	value, _ := limit.(json.RawMessage)
	if !number(value, false) {
		return key, nil
	}
	return key, value
}

// one converts a schema; nil if raw is not a schema.
func (l *lister) one(raw json.RawMessage) json.RawMessage {
	result, ok := l.schema(raw)
	if !ok {
		return nil
	}
	return result
}

// schemas converts a list of schemas; nil if no valid schema is left.
func (l *lister) schemas(raw json.RawMessage) json.RawMessage {
	var all, results []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	same := true
	for _, part := range all {
		one := l.one(part)
		if same = same && string(one) == string(part); one != nil {
			results = append(results, one)
		}
	}
	switch {
	case len(results) == 0:
		return nil
	case same:
		return raw
	}
	return ordered.MustJSON(results)
}

// schemasByName converts schemas by name; an invalid schema becomes one that allows any value.
func (l *lister) schemasByName(raw json.RawMessage) json.RawMessage {
	var all ordered.Map
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &all) != nil {
		return nil
	}
	same := true
	for i, m := range all {
		part, _ := m.Value.(json.RawMessage)
		one, ok := l.schema(part)
		if !ok {
			one = json.RawMessage(`{}`)
		}
		same = same && string(one) == string(part)
		all[i].Value = one
	}
	if same {
		return raw
	}
	return ordered.MustJSON(all)
}

// plain returns the value of another keyword; nil if it is invalid in 2020-12.
func (l *lister) plain(key string, raw json.RawMessage) json.RawMessage {
	text, isText := ordered.Text(raw)
	first := byte(0)
	if len(raw) > 0 {
		first = raw[0]
	}
	valid := true
	switch {
	case key == "type":
		return typed(raw)
	case key == "required":
		return unique(raw)
	case key == "enum":
		valid = first == '[' && string(raw) != "[]"
	case key == "examples":
		valid = first == '['
	case key == "pattern":
		valid = isText && !malformed(text)
	case key == "$ref":
		l.refers = true
		valid = isText && l.leads(text)
	case key == "$id" && strings.HasPrefix(text, "#"):
		valid = false
	case slices.Contains(numbers, key):
		valid = number(raw, key == "multipleOf")
	case slices.Contains(counts, key):
		valid = number(raw, false) && !strings.ContainsAny(string(raw), "-.eE")
	case slices.Contains(words2020, key):
		valid = isText
		l.refers = l.refers || strings.HasPrefix(key, "$")
	case slices.Contains(switches, key):
		valid = first == 't' || first == 'f'
	case slices.Contains(objects, key):
		valid = first == '{'
		l.refers = true // needs compiling to check
	}
	if !valid {
		return nil
	}
	return raw
}

// leads reports whether a reference has a target in the same document.
func (l *lister) leads(ref string) bool {
	path, local := pathOf(ref, l.root)
	if !local {
		return false
	}
	_, found := at(l.root, path)
	return found
}

// number reports whether a value is a number, and positive if required.
func number(raw json.RawMessage, positive bool) bool {
	var n json.Number
	if len(raw) == 0 || raw[0] == '"' || json.Unmarshal(raw, &n) != nil || n == "" {
		return false
	}
	f, _ := n.Float64()
	return !positive || f > 0
}

// typed returns a type, or a list of types, in the words of 2020-12; nil if no type is left.
func typed(raw json.RawMessage) json.RawMessage {
	known := []string{"string", "integer", "number", "boolean", "object", "array", "null"}
	names, several := ordered.Texts(raw)
	if one, is := ordered.Text(raw); is {
		names = []string{one}
	}
	var types []string
	for _, name := range names {
		word := strings.ToLower(name)
		if other, is := kinds[word]; is {
			word = other
		}
		if slices.Contains(known, word) && !slices.Contains(types, word) {
			types = append(types, word)
		}
	}
	switch {
	case len(types) == 0:
		return nil
	case slices.Equal(types, names):
		return raw
	case several:
		return ordered.MustJSON(types)
	}
	return ordered.MustJSON(types[0])
}

// unique removes duplicates from a list of texts; nil for another value.
func unique(raw json.RawMessage) json.RawMessage {
	names, ok := ordered.Texts(raw)
	if !ok {
		return nil
	}
	once := []string{}
	for _, name := range names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	if len(once) == len(names) {
		return raw
	}
	return ordered.MustJSON(once)
}

// malformed reports whether a pattern is invalid in every dialect of regular expressions.
func malformed(pattern string) bool {
	_, err := regexp.Compile(pattern)
	var failed *syntax.Error
	return errors.As(err, &failed) && slices.Contains([]syntax.ErrorCode{
		syntax.ErrMissingBracket, syntax.ErrMissingParen, syntax.ErrUnexpectedParen, syntax.ErrMissingRepeatArgument, syntax.ErrTrailingBackslash,
	}, failed.Code)
}
