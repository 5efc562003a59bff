package api

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/design/text"
)

// openAPI writes an OpenAPI 3.1 document.
func (r validModel) openAPI() ordered.Map {
	info := ordered.Map{{Key: "title", Value: text.Line(r.Name)}, {Key: "version", Value: text.Line(r.Version)}}
	setText(&info, "description", r.Description)
	document := ordered.Map{{Key: "openapi", Value: "3.1.0"}, {Key: "info", Value: info}}
	if r.base != nil {
		document.Set("servers", []ordered.Map{{{Key: "url", Value: strings.TrimSuffix(r.BaseURL, "/")}}})
	}
	if tags := r.tagged(); tags != nil {
		document.Set("tags", tags)
	}
	paths := ordered.Map{}
	for _, op := range r.operations {
		item, _ := paths.Get(op.Path)
		methods, _ := item.(ordered.Map)
		methods.Set(strings.ToLower(op.Method), op.openAPI())
		paths.Set(op.Path, methods)
	}
	document.Set("paths", paths)
	if len(r.Security) > 0 {
		var ways []ordered.Map
		for _, name := range unique(r.Security) {
			ways = append(ways, ordered.Map{{Key: name, Value: []any{}}})
		}
		document.Set("security", ways)
	}
	if components := r.components("apiKey"); components != nil {
		document.Set("components", components)
	}
	return document
}

// components returns the targets of references in both formats; nil if there are none. KeyType is
// the format's type of an API key.
func (r validModel) components(keyType string) (components ordered.Map) {
	if len(r.schemas) > 0 {
		components.Set("schemas", r.schemas)
	}
	schemes := ordered.Map{}
	for _, name := range unique(r.Security) {
		scheme := ordered.Map{{Key: "type", Value: "http"}, {Key: "scheme", Value: name}}
		if name == "apiKey" {
			scheme = ordered.Map{{Key: "type", Value: keyType}, {Key: "in", Value: "header"}, {Key: "name", Value: "X-API-Key"}}
		}
		schemes.Set(name, scheme)
	}
	if len(schemes) > 0 {
		components.Set("securitySchemes", schemes)
	}
	return components
}

func (op operation) openAPI() ordered.Map {
	out := ordered.Map{{Key: "operationId", Value: op.id}}
	setText(&out, "summary", text.Line(op.Summary))
	setText(&out, "description", op.Description)
	if len(op.Tags) > 0 {
		out.Set("tags", unique(op.Tags))
	}
	var parameters []ordered.Map
	for _, p := range op.Parameters {
		parameter := ordered.Map{{Key: "name", Value: p.Name}, {Key: "in", Value: p.In}}
		setText(&parameter, "description", p.Description)
		parameter.Set("required", p.Required)
		parameter.Set("schema", p.schema())
		parameters = append(parameters, parameter)
	}
	if parameters != nil {
		out.Set("parameters", parameters)
	}
	if op.request != nil {
		out.Set("requestBody", ordered.Map{{Key: "required", Value: true}, {Key: "content", Value: jsonBody(op.request)}})
	}
	if op.Public {
		out.Set("security", []any{})
	}
	out.Set("responses", op.answers())
	return out
}

// answers writes the responses of an operation: 200 unless another success is declared, and the
// responses with a status of their own.
func (op operation) answers() ordered.Map {
	answers := ordered.Map{}
	succeeds := slices.ContainsFunc(op.responses, func(m ordered.Member) bool { return m.Key[0] == '2' || m.Key[0] == '3' })
	if op.answer != nil || !succeeds {
		answers.Set("200", answerOf("Success.", op.answer))
	}
	for _, m := range op.responses {
		about := "Any other."
		if code, err := strconv.Atoi(m.Key); err == nil {
			about = cmp.Or(http.StatusText(code), "Status "+m.Key) + "."
		} else if m.Key != "default" {
			about = "Any of " + m.Key + "."
		}
		answers.Set(m.Key, answerOf(about, m.Value))
	}
	return answers
}

func answerOf(about string, schema any) ordered.Map {
	answer := ordered.Map{{Key: "description", Value: about}}
	if schema != nil {
		answer.Set("content", jsonBody(schema))
	}
	return answer
}
