// Package api writes the endpoints of an API as an OpenAPI 3.1 or AsyncAPI 3.0
// document, in JSON or YAML. The same model gives the same text.
//
// It is not a stable API: see docs/stability.md.
package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/tools/design/text"
)

// The formats.
const (
	OpenAPI  = "openapi"
	AsyncAPI = "asyncapi"
)

// Formats lists the formats.
func Formats() []string { return []string{OpenAPI, AsyncAPI} }

// Methods lists the methods of an endpoint.
func Methods() []string {
	return []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}
}

// Model is an API.
type Model struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	BaseURL     string     `json:"baseUrl"` // empty = unknown
	Version     string     `json:"version"`
	Endpoints   []Endpoint `json:"endpoints"`

	Schemas  json.RawMessage `json:"schemas"`  // object of JSON Schemas by name, the targets of $ref; nil = no schemas
	Security []string        `json:"security"` // names of [Securities], any of which is enough; empty = unknown
}

// Securities lists the ways of authentication.
func Securities() []string { return []string{"bearer", "basic", "apiKey"} }

// Endpoint is one operation. RequestBody and ResponseBody are JSON Schemas, nil if there is no
// body. Responses is an object of further schemas by status, {} for an answer without a body.
// Public endpoints need no security.
type Endpoint struct {
	Path         string          `json:"path"`
	Method       string          `json:"method"`
	Summary      string          `json:"summary"`
	Description  string          `json:"description"`
	Tags         []string        `json:"tags"`
	Parameters   []Parameter     `json:"parameters"`
	RequestBody  json.RawMessage `json:"requestBody"`
	ResponseBody json.RawMessage `json:"responseBody"`
	Responses    json.RawMessage `json:"responses"`
	Public       bool            `json:"public"`
}

// The locations of a parameter.
const (
	InPath   = "path"
	InQuery  = "query"
	InHeader = "header"
	InCookie = "cookie"
)

var (
	places         = []string{InQuery, InPath, InHeader, InCookie}
	parameterTypes = []string{"string", "integer", "number", "boolean", "array"}
)

// Parameter is a value outside the body. In is query, path, header or cookie; if empty, a name in
// the path is in path, any other name in query. Type is string, integer, number, boolean, or array
// (of strings); empty = string. Parameters in the path are always required.
type Parameter struct {
	Name        string `json:"name"`
	In          string `json:"in"`
	Type        string `json:"type"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

// Generate writes a model in a format, as YAML or JSON. With problems, which have paths into the
// model, the text is empty.
func Generate(m Model, format string, asYAML bool) (string, []toolfold.Problem) {
	var document ordered.Map
	r, problems := resolve(m, format)
	if len(problems) == 0 {
		switch format {
		case OpenAPI:
			document = r.openAPI()
		case AsyncAPI:
			document = r.asyncAPI()
		default:
			problems = []toolfold.Problem{{Path: "/format", Kind: toolfold.ProblemEnum, Got: format, Allowed: Formats()}}
		}
	}
	if len(problems) > 0 {
		return "", problems
	}
	if asYAML {
		return writeYAML(document), nil
	}
	return writeJSON(document), nil
}

// validModel is a model that is valid in its format.
type validModel struct {
	Model
	base       *url.URL // nil if unknown
	schemas    ordered.Map
	operations []operation
}

// operation is an endpoint with an id and all parameters of its path.
type operation struct {
	Endpoint
	id              string
	request, answer any         // schemas; nil = no body
	responses       ordered.Map // schemas by status, in order of status; nil = no body
}

// faults collects the faults of a model.
type faults []toolfold.Problem

// refuse adds the fault that the value at a path should be a want.
func (f *faults) refuse(path, want string) {
	*f = append(*f, toolfold.Problem{Path: path, Kind: toolfold.ProblemFormat, Want: want})
}

func resolve(m Model, format string) (validModel, faults) {
	var found faults
	bodies := newBodies(&found, m.Schemas, format)
	r := validModel{Model: m, schemas: bodies.named}
	if text.Line(m.Name) == "" {
		found.refuse("/name", "title, not empty")
	}
	if text.Line(m.Version) == "" {
		found.refuse("/version", "version, not empty")
	}
	if m.BaseURL != "" {
		r.base = parseBase(&found, m.BaseURL, format)
	}
	ids := text.NewScope()
	taken := map[string]bool{}
	spelt := map[string]string{} // paths by their form without names of parameters
	for i, e := range m.Endpoints {
		e.Path = colonNames().ReplaceAllString(e.Path, "$1{$2}")
		at := fmt.Sprintf("/endpoints/%d", i)
		shape := templates().ReplaceAllString(e.Path, "{}")
		if before, ok := spelt[shape]; ok && before != e.Path {
			found.refuse(at+"/path", "path whose parameters are called as in "+before)
		}
		spelt[shape] = e.Path
		if taken[e.Method+" "+shape] {
			found.refuse(at+"/path", "path that no other endpoint has with the same method")
		}
		taken[e.Method+" "+shape] = true
		op := operation{Endpoint: e, id: ids.Claim(operationID(e.Method, e.Path))}
		op.Parameters = resolveParameters(&found, e, at)
		op.request = bodies.parse(e.RequestBody, at+"/requestBody")
		op.answer = bodies.parse(e.ResponseBody, at+"/responseBody")
		op.responses = bodies.responses(e, at+"/responses")
		if (e.Method == "GET" || e.Method == "HEAD") && op.request != nil {
			found.refuse(at+"/method", "method with a body: "+e.Method+" has no body, so leave requestBody out")
		}
		if e.Method == "HEAD" && op.answer != nil {
			found.refuse(at+"/method", "method whose answer has a body: HEAD's has no body, so leave responseBody out")
		}
		if e.Public && len(m.Security) == 0 {
			found.refuse(at+"/public", "false, as there is no security")
		}
		if format == AsyncAPI {
			refuseInAsyncAPI(&found, op, r.base, at)
		} else if !strings.HasPrefix(e.Path, "/") {
			found.refuse(at+"/path", "path that starts with /")
		}
		r.operations = append(r.operations, op)
	}
	return r, found
}

// maxURL limits the address of a server, in bytes.
const maxURL = 2000

// parseBase parses the address of a server.
func parseBase(found *faults, address, format string) *url.URL {
	base, err := url.Parse(address)
	switch {
	case err != nil || len(address) > maxURL || base.Host == "" || base.Hostname() == "" || strings.ContainsAny(address, "{}\\\"<> ") ||
		text.Line(address) != address:
		found.refuse("/baseUrl", "url with a host, such as https://api.example.com/v1")
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		found.refuse("/baseUrl", "url without user, query and fragment")
	case format == OpenAPI && base.Scheme != "http" && base.Scheme != "https":
		found.refuse("/baseUrl", "http or https url in openapi")
	default:
		return base
	}
	return nil
}

var (
	templates  = regex.Lazy(`\{[^{}]*\}`)
	colonNames = regex.Lazy(`(^|/):([A-Za-z_][A-Za-z0-9_]*)`)
	plainName  = regex.Lazy(`^[A-Za-z0-9_-]+$`)
	token      = regex.Lazy("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") // a header's or cookie's name
)

// resolveParameters checks the path and returns its parameters in order, declared or not, followed
// by the other parameters.
func resolveParameters(found *faults, e Endpoint, at string) []Parameter {
	rest := templates().ReplaceAllString(e.Path, "")
	if e.Path == "" || strings.ContainsAny(rest, "{}?#\\\"<>^`| ") || text.Line(e.Path) != e.Path {
		found.refuse(at+"/path", "path such as /users/{id}, without query, spaces and stray braces")
		return nil
	}
	declared := map[string]Parameter{}
	var others []Parameter
	for i, p := range e.Parameters {
		if p.In == "" {
			p.In = InQuery
			if strings.Contains(e.Path, "{"+p.Name+"}") {
				p.In = InPath
			}
		}
		if p.Type == "" {
			p.Type = "string"
		}
		name := fmt.Sprintf("%s/parameters/%d/name", at, i)
		key := p.In + " " + p.Name
		if p.In == InHeader {
			key = strings.ToLower(key)
		}
		if _, twice := declared[key]; twice || p.Name == "" {
			found.refuse(name, "name that no other parameter in the same place has, not empty")
		}
		if !slices.Contains(places, p.In) {
			*found = append(*found, toolfold.Problem{Path: fmt.Sprintf("%s/parameters/%d/in", at, i), Kind: toolfold.ProblemEnum, Got: p.In,
				Allowed: places})
		}
		if !slices.Contains(parameterTypes, p.Type) {
			*found = append(*found, toolfold.Problem{Path: fmt.Sprintf("%s/parameters/%d/type", at, i), Kind: toolfold.ProblemEnum, Got: p.Type,
				Allowed: parameterTypes})
		}
		switch {
		case p.In == InHeader && slices.Contains([]string{"accept", "content-type", "authorization"}, strings.ToLower(p.Name)):
			found.refuse(name, "header other than Accept, Content-Type and Authorization, which are set elsewhere")
		case (p.In == InHeader || p.In == InCookie) && !token().MatchString(p.Name):
			found.refuse(name, "name that a "+p.In+" can have")
		case p.In == InPath && !strings.Contains(e.Path, "{"+p.Name+"}"):
			found.refuse(name, "name in braces in the path")
		}
		declared[key] = p
		if p.In != InPath {
			others = append(others, p)
		}
	}
	var all []Parameter
	for _, name := range templates().FindAllString(e.Path, -1) {
		name = name[1 : len(name)-1]
		p, known := declared[InPath+" "+name]
		if !known {
			p = Parameter{Name: name, In: InPath, Type: "string"}
		}
		p.Required = true
		if !plainName().MatchString(name) || slices.ContainsFunc(all, func(q Parameter) bool { return q.Name == name }) {
			found.refuse(at+"/path", "path whose names in braces are letters, digits, - and _, each once")
		}
		all = append(all, p)
	}
	return append(all, others...)
}

// operationID names an operation by its method and path: getUsersById.
func operationID(method, path string) string {
	words := []string{strings.ToLower(method)}
	for _, segment := range strings.Split(path, "/") {
		if strings.Contains(segment, "{") {
			words = append(words, "by")
		}
		words = append(words, asciiWords(segment)...)
	}
	return text.Camel(words)
}

// asciiWords is [text.Words] of the part of a text that is ASCII.
func asciiWords(s string) []string {
	return text.Words(strings.Map(func(r rune) rune {
		if r > '~' {
			return ' '
		}
		return r
	}, s))
}

// schema returns the JSON Schema of a parameter.
func (p Parameter) schema() ordered.Map {
	schema := ordered.Map{{Key: "type", Value: p.Type}}
	if p.Type == "array" {
		schema.Set("items", ordered.Map{{Key: "type", Value: "string"}})
	}
	return schema
}

// setText adds a member unless its text is blank.
func setText(m *ordered.Map, key, value string) {
	if lines := text.Lines(value); len(lines) > 0 {
		m.Set(key, strings.Join(lines, "\n"))
	}
}

func jsonBody(schema any) ordered.Map {
	return ordered.Map{{Key: "application/json", Value: ordered.Map{{Key: "schema", Value: schema}}}}
}

// tagged lists the tags of all operations, in the order of first use.
func (r validModel) tagged() []ordered.Map {
	var list []ordered.Map
	seen := map[string]bool{}
	for _, op := range r.operations {
		for _, tag := range op.Tags {
			if !seen[tag] {
				seen[tag] = true
				list = append(list, ordered.Map{{Key: "name", Value: tag}})
			}
		}
	}
	return list
}

// pointerKey writes a key as a step of a reference.
func pointerKey(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// unique removes duplicates.
func unique(list []string) []string {
	var distinct []string
	for _, s := range list {
		if !slices.Contains(distinct, s) {
			distinct = append(distinct, s)
		}
	}
	return distinct
}
