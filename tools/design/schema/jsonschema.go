package schema

import (
	"bytes"
	"encoding/json"

	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/design/text"
)

// jsonSchema writes a JSON Schema of draft 2020-12.
func (r record) jsonSchema() string {
	root := ordered.Map{{Key: "$schema", Value: "https://json-schema.org/draft/2020-12/schema"}, {Key: "title", Value: r.TypeName}}
	describe(&root, r.Doc)
	properties := ordered.Map{}
	var required []string
	for _, f := range r.Fields {
		properties.Set(f.Name, r.property(f))
		if f.Required {
			required = append(required, f.Name)
		}
	}
	root.Set("type", Object)
	root.Set("properties", properties)
	if len(required) > 0 {
		root.Set("required", required)
	}
	if len(r.Others) > 0 {
		defs := ordered.Map{}
		for _, o := range r.Others {
			defs.Set(o.TypeName, ordered.Map{{Key: "description", Value: "Stands for the schema " + o.TypeName + "."}})
		}
		root.Set("$defs", defs)
	}
	var b bytes.Buffer
	// What was encoded can be indented.
	_ = json.Indent(&b, ordered.MustJSON(root), "", "  ")
	b.WriteByte('\n')
	return b.String()
}

var jsonTypes = map[string]ordered.Map{
	String: {{Key: "type", Value: String}}, Number: {{Key: "type", Value: Number}},
	Integer: {{Key: "type", Value: Integer}}, Boolean: {{Key: "type", Value: Boolean}},
	Object: {{Key: "type", Value: Object}}, Null: {{Key: "type", Value: Null}}, Enum: {{Key: "type", Value: String}},
	Date:     {{Key: "type", Value: String}, {Key: "format", Value: "date"}},
	DateTime: {{Key: "type", Value: String}, {Key: "format", Value: "date-time"}},
	UUID:     {{Key: "type", Value: String}, {Key: "format", Value: "uuid"}},
	Email:    {{Key: "type", Value: String}, {Key: "format", Value: "email"}},
	URL:      {{Key: "type", Value: String}, {Key: "format", Value: "uri"}},
}

func (r record) property(f field) ordered.Map {
	property := append(ordered.Map{}, jsonTypes[f.Type]...)
	var of ordered.Map // what it refers to, or what its values are
	switch {
	case f.ref == r.TypeName:
		of = ordered.Map{{Key: "$ref", Value: "#"}}
	case f.ref != "":
		of = ordered.Map{{Key: "$ref", Value: "#/$defs/" + f.ref}}
	case len(f.EnumValues) > 0:
		of = ordered.Map{{Key: "type", Value: String}, {Key: "enum", Value: f.EnumValues}}
	}
	switch {
	case f.Type == Array:
		property = ordered.Map{{Key: "type", Value: Array}}
		if of != nil {
			property.Set("items", of)
		}
	case of != nil:
		property = of
	}
	if least, most := boundNames(f.Type); f.Min != nil || f.Max != nil {
		if f.Min != nil {
			property.Set(least, json.Number(number(*f.Min)))
		}
		if f.Max != nil {
			property.Set(most, json.Number(number(*f.Max)))
		}
	}
	if f.Pattern != "" {
		property.Set("pattern", scriptPattern(f.Pattern))
	}
	if f.Nullable {
		property = nullable(property)
	}
	if f.value != nil && !f.isNow() {
		property.Set("default", json.RawMessage(jsonText(f.value)))
	}
	describe(&property, f.Description)
	return property
}

// boundNames are the keywords of the bounds of a type.
func boundNames(kind string) (least, most string) {
	switch kind {
	case Number, Integer:
		return "minimum", "maximum"
	case Array:
		return "minItems", "maxItems"
	}
	return "minLength", "maxLength"
}

// nullable lets a schema take null too.
func nullable(s ordered.Map) ordered.Map {
	kind, typed := s.Get("type")
	if !typed {
		return ordered.Map{{Key: "anyOf", Value: []ordered.Map{s, {{Key: "type", Value: Null}}}}}
	}
	if kind != Null {
		s.Set("type", []any{kind, Null})
	}
	if values, ok := s.Get("enum"); ok {
		var list []any
		for _, v := range values.([]string) {
			list = append(list, v)
		}
		s.Set("enum", append(list, nil))
	}
	return s
}

func describe(s *ordered.Map, doc string) {
	if doc = text.Line(doc); doc != "" {
		s.Set("description", doc)
	}
}
