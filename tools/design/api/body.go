package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// MaxDepth limits the nesting of objects and lists in a body's schema.
const MaxDepth = 20

// bodies reads the JSON Schemas of bodies. They may refer only to named schemas.
type bodies struct {
	found  *faults
	format string
	named  ordered.Map // parsed, with references in the document's form
}

// references are the prefixes of a reference to a named schema: the document's form, and a form
// that is common in calls.
var references = []string{"#/components/schemas/", "#/schemas/"}

// newBodies reads the named schemas.
func newBodies(found *faults, schemas json.RawMessage, format string) *bodies {
	named, _ := ordered.Read(schemas)
	b := &bodies{found: found, format: format}
	for _, m := range named {
		b.named = append(b.named, ordered.Member{Key: m.Key}) // so that they can refer to each other
	}
	for i, m := range named {
		at := "/schemas/" + pointerKey(m.Key)
		if !component().MatchString(m.Key) {
			found.refuse(at, "name of letters, digits, ., - and _")
			continue
		}
		raw, _ := m.Value.(json.RawMessage)
		b.named[i].Value = b.read(raw, at)
	}
	for _, m := range b.named {
		if m.Value != nil && len(*found) == 0 {
			b.compile("#/components/schemas/"+m.Key, nil, "/schemas/"+m.Key)
		}
	}
	return b
}

var component = regex.Lazy(`^[A-Za-z0-9._-]+$`)

// parse reads the JSON Schema of a body and keeps the order of its members. It returns nil if there
// is no schema, or if it is invalid: too deep, not valid in the draft of the format, or with a
// reference to anything except a named schema, which would have another meaning in the document.
func (b *bodies) parse(raw json.RawMessage, at string) any {
	if len(raw) == 0 {
		return nil
	}
	value := b.read(raw, at)
	if value == nil || !b.compile("#/body", value, at) {
		return nil
	}
	return value
}

// read reads a schema. It checks the names of its keywords, not their values, and returns nil if it
// is invalid.
func (b *bodies) read(raw json.RawMessage, at string) any {
	value, problem := b.value(raw, 0)
	if problem != "" {
		b.found.refuse(at, problem)
		return nil
	}
	members, _ := value.(ordered.Map)
	for _, m := range members {
		if !strings.HasPrefix(m.Key, "x-") && !slices.Contains(keywords(), m.Key) {
			b.found.refuse(at, fmt.Sprintf(`JSON Schema, such as {"type":"object","properties":{}}, and %q is no keyword of it`,
				shorten.Quoted(m.Key)))
			return nil
		}
	}
	return value
}

// compile reports whether body is a valid schema. If it is not, it adds a fault.
func (b *bodies) compile(place string, body any, at string) bool {
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // without schemes: it loads nothing
	compiler.DefaultDraft(jsonschema.Draft2020)
	draft := "2020-12"
	if b.format == AsyncAPI {
		compiler.DefaultDraft(jsonschema.Draft7)
		draft = "7"
	}
	document := ordered.Map{{Key: "components", Value: ordered.Map{{Key: "schemas", Value: b.named}}}, {Key: "body", Value: body}}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(ordered.MustJSON(document)))
	if err == nil {
		err = compiler.AddResource("mem://document", doc)
	}
	if err != nil {
		b.found.refuse(at, "JSON Schema")
		return false
	}
	if _, err := compiler.Compile("mem://document" + place); err != nil {
		b.found.refuse(at, "valid JSON Schema of draft "+draft)
		return false
	}
	return true
}

var statuses = regex.Lazy(`^([1-5][0-9][0-9]|[1-5]XX|default)$`)

// responses reads the schemas of answers by their statuses.
func (b *bodies) responses(e Endpoint, at string) (list ordered.Map) {
	given, _ := ordered.Read(e.Responses)
	if len(given) > 0 && b.format == AsyncAPI {
		b.found.refuse(at, "nothing in asyncapi, which has no statuses: the reply is responseBody")
	}
	for _, m := range given {
		place := at + "/" + pointerKey(m.Key)
		raw, _ := m.Value.(json.RawMessage)
		var schema any
		if string(raw) != "{}" && string(raw) != "null" {
			schema = b.parse(raw, place)
		}
		switch {
		case !statuses().MatchString(m.Key):
			b.found.refuse(place, "status such as 404, 4XX or default")
		case m.Key == "200" && e.ResponseBody != nil:
			b.found.refuse(place, "status other than 200, whose body is responseBody")
		case e.Method == "HEAD" && schema != nil:
			b.found.refuse(place, "{}: answers to HEAD have no body")
		}
		list = append(list, ordered.Member{Key: m.Key, Value: schema})
	}
	slices.SortStableFunc(list, func(a, b ordered.Member) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// keywords are the members of a body's schema: the keywords of the drafts and of OpenAPI. Other
// members, for example from an example value, would have no meaning.
var keywords = sync.OnceValue(func() []string {
	return strings.Fields(`$comment $defs $ref allOf anyOf oneOf not if then else dependentSchemas prefixItems items contains properties
		patternProperties additionalProperties propertyNames unevaluatedItems unevaluatedProperties type enum const multipleOf maximum
		exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems minItems uniqueItems maxContains minContains
		maxProperties minProperties required dependentRequired title description default deprecated readOnly writeOnly examples format
		contentEncoding contentMediaType contentSchema definitions dependencies additionalItems discriminator xml externalDocs example`)
})

// value reads a JSON value whose objects keep the order of their members. Problem is empty, or
// names the value that is wanted instead.
func (b *bodies) value(raw json.RawMessage, depth int) (value any, problem string) {
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
			case "$ref":
				if members[i].Value, problem = b.reference(m.Value.(json.RawMessage)); problem != "" {
					return nil, problem
				}
				continue
			case "$dynamicRef", "$recursiveRef", "$id", "$schema", "$anchor", "$dynamicAnchor":
				return nil, "schema without " + m.Key + ": name it in schemas, and refer to it by $ref"
			}
			if members[i].Value, problem = b.value(m.Value.(json.RawMessage), depth+1); problem != "" {
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
			if list[i], problem = b.value(item, depth+1); problem != "" {
				return nil, problem
			}
		}
		return list, ""
	}
	if err := jsonx.Decode(raw, &value); err != nil {
		return nil, "JSON value"
	}
	return value, ""
}

// reference returns a reference in the document's form.
func (b *bodies) reference(raw json.RawMessage) (ref, problem string) {
	written, _ := ordered.Text(raw)
	for _, begin := range references {
		if name, is := strings.CutPrefix(written, begin); is && slices.Contains(b.named.Keys(), name) {
			return references[0] + name, ""
		}
	}
	if len(b.named) == 0 {
		return "", "schema without $ref, or one that schemas names"
	}
	return "", "$ref to " + references[0] + "NAME, with NAME one of " + strings.Join(b.named.Keys(), ", ")
}
