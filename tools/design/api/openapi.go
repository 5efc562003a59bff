package api

import (
	"strings"

	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/tools/design/text"
)

// openAPI writes an OpenAPI 3.1 document: one successful response, 200, for
// each operation.
func (r resolved) openAPI() ordered.Map {
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
	return document
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
	response := ordered.Map{{Key: "description", Value: "Success."}}
	if op.answer != nil {
		response.Set("content", jsonBody(op.answer))
	}
	out.Set("responses", ordered.Map{{Key: "200", Value: response}})
	return out
}
