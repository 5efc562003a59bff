package contract

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// The severities of findings.
const (
	Error   = "error"   // tools fail on the document or misread it
	Warning = "warning" // valid, but probably not intended
)

// Finding is a fault in a document.
type Finding struct {
	Severity string `json:"severity" doc:"How bad." enum:"error,warning"`
	Rule     string `json:"rule" doc:"The rule that it breaks."`
	At       string `json:"at" doc:"JSON pointer."`
	Line     int    `json:"line" doc:"In the file."`
	Message  string `json:"message" doc:"The fault."`
}

// official has the official schemas of the formats, from spec.openapis.org and @asyncapi/specs.
//
//go:embed schemas/*.json.gz
var official embed.FS

// compiled returns an official schema by its name, compiled once.
func compiled(name string) (*jsonschema.Schema, error) { return schemas[name]() }

var schemas = map[string]func() (*jsonschema.Schema, error){
	"openapi-3.0":  once("openapi-3.0"),
	"openapi-3.1":  once("openapi-3.1"),
	"asyncapi-2.6": once("asyncapi-2.6"),
	"asyncapi-3.0": once("asyncapi-3.0"),
	"asyncapi-3.1": once("asyncapi-3.1"),
	"2020-12": sync.OnceValues(func() (*jsonschema.Schema, error) {
		return jsonschema.NewCompiler().Compile("https://json-schema.org/draft/2020-12/schema")
	}),
}

func once(name string) func() (*jsonschema.Schema, error) {
	return sync.OnceValues(func() (*jsonschema.Schema, error) {
		packed, err := official.ReadFile("schemas/" + name + ".json.gz")
		if err != nil {
			return nil, err
		}
		text, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(text)
		if err != nil {
			return nil, err
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("mem://"+name, doc); err != nil {
			return nil, err
		}
		return c.Compile("mem://" + name)
	})
}

// linter collects findings.
type linter struct {
	*Document
	found    []Finding
	outside  int             // references to other documents
	targets  map[string]bool // targets of references
	bySchema map[string]bool // pointers with a finding of the official schema
}

// Lint returns the findings in a document, sorted by line. Outside is the number of references to
// other documents, which are not followed.
func Lint(d *Document) (found []Finding, outside int, err error) {
	l := &linter{Document: d, targets: map[string]bool{}, bySchema: map[string]bool{}}
	if err := l.official(); err != nil {
		return nil, 0, err
	}
	l.walk(d.root, "", "")
	if d.Spec == OpenAPI {
		l.openapi()
	} else {
		l.asyncapi()
	}
	l.unused()
	slices.SortStableFunc(l.found, func(a, b Finding) int { return a.Line - b.Line })
	return slices.Compact(l.found), l.outside, nil
}

func (l *linter) add(severity, rule, at, format string, args ...any) {
	l.found = append(l.found, Finding{severity, rule, at, l.line(at), shorten.To(fmt.Sprintf(format, args...), 300)})
}

// official validates the document by the official schema of its version. For AsyncAPI 2.0 to 2.5 it
// uses the schema of 2.6, which accepts them.
func (l *linter) official() error {
	schema, err := compiled(l.schema())
	if err != nil {
		return fmt.Errorf("reading the schema %s: %w", l.schema(), err)
	}
	judged := l.root
	if l.schema() == "asyncapi-2.6" {
		judged = maps.Clone(judged)
		judged[AsyncAPI] = "2.6.0"
	}
	l.violations(schema.Validate(judged), "")
	return nil
}

// violations adds the violations of a schema in the value at a pointer.
func (l *linter) violations(err error, base string) {
	violation, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return
	}
	for _, leaf := range leaves(violation) {
		at := base
		for _, part := range leaf.InstanceLocation {
			at = jsonx.Pointer(at, part)
		}
		text := worded(leaf)
		if text == "" || l.bySchema[at+text] {
			continue
		}
		l.bySchema[at+text] = true
		l.add(Error, "schema", at, "%s", text)
	}
}

// leaves returns the most specific violations. Among alternatives it uses the nearest: the one with
// the deepest and fewest violations.
func leaves(v *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(v.Causes) == 0 {
		return []*jsonschema.ValidationError{v}
	}
	_, anyOf := v.ErrorKind.(*kind.AnyOf)
	_, oneOf := v.ErrorKind.(*kind.OneOf)
	var all, best []*jsonschema.ValidationError
	most := 0
	for _, cause := range v.Causes {
		branch := leaves(cause)
		all = append(all, branch...)
		score := -len(branch)
		for _, leaf := range branch {
			score = max(score, 1000*len(leaf.InstanceLocation)-len(branch))
		}
		for _, leaf := range branch {
			missing, required := leaf.ErrorKind.(*kind.Required)
			_, typed := leaf.ErrorKind.(*kind.Type)
			atTop := len(leaf.InstanceLocation) == len(v.InstanceLocation)
			if atTop && (typed || required && slices.Equal(missing.Missing, []string{"$ref"})) {
				score -= 500
			}
		}
		if best == nil || score > most {
			best, most = branch, score
		}
	}
	if anyOf || oneOf {
		return best
	}
	return all
}

// worded returns the text of a violation; empty if other violations of the same value cover it.
func worded(v *jsonschema.ValidationError) string {
	switch k := v.ErrorKind.(type) {
	case *kind.Required:
		return strings.Join(k.Missing, ", ") + " is missing"
	case *kind.AdditionalProperties:
		return "unknown here: " + strings.Join(k.Properties, ", ")
	case *kind.FalseSchema:
		return "is not allowed here"
	case *kind.Type:
		return fmt.Sprintf("must be %s, not %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Pattern:
		return fmt.Sprintf("%.60q is not of the form %s", k.Got, k.Want)
	}
	return v.ErrorKind.LocalizedString(message.NewPrinter(language.English))
}

// named are the members whose own members have freely chosen names.
var named = map[string]bool{
	"properties": true, "patternProperties": true, "$defs": true, "definitions": true, "schemas": true, "responses": true,
	"parameters": true, "requestBodies": true, "headers": true, "securitySchemes": true, "links": true, "callbacks": true, "paths": true,
	"pathItems": true, "channels": true, "messages": true, "operations": true, "servers": true, "dependentSchemas": true, "webhooks": true,
}

// data are the members that contain values, not descriptions.
var data = map[string]bool{"example": true, "examples": true, "default": true, "enum": true, "const": true, "mapping": true}

// walk checks references and schemas everywhere. Within is the name of the member that contains the
// value.
func (l *linter) walk(v any, at, within string) {
	if list, ok := v.([]any); ok {
		for i, item := range list {
			l.walk(item, jsonx.Index(at, i), "")
		}
		return
	}
	object := members(v)
	names := named[within]
	if target, ok := object["$ref"].(string); ok && !names {
		l.reference(target, at, object)
	}
	if values, ok := object["enum"].([]any); ok && !names {
		l.enum(object, values, at)
	}
	if !names {
		l.required(object, at)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		switch pointer := jsonx.Pointer(at, name); {
		case names:
			l.walk(object[name], pointer, "")
		case strings.HasPrefix(name, "x-"):
		case data[name]:
			if name == "examples" { // for a media type they are objects, which may be references
				for key, example := range members(object[name]) {
					if target, ok := members(example)["$ref"].(string); ok {
						l.reference(target, jsonx.Pointer(pointer, key), nil)
					}
				}
			}
		default:
			l.walk(object[name], pointer, name)
		}
	}
}

func (l *linter) reference(target, at string, object map[string]any) {
	pointer, local := strings.CutPrefix(target, "#")
	if !local || pointer != "" && !strings.HasPrefix(pointer, "/") { // another file, or an anchor
		l.outside++
		return
	}
	pointer = unescaped(pointer)
	l.targets[pointer] = true
	if _, there := l.at(pointer); !there {
		l.add(Error, "ref", jsonx.Pointer(at, "$ref"), "%s leads nowhere", target)
	}
	if l.schema() != "openapi-3.0" {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if name != "$ref" && name != "description" && name != "summary" && !strings.HasPrefix(name, "x-") {
			l.add(Warning, "beside-ref", jsonx.Pointer(at, name), "%s beside $ref is ignored in OpenAPI 3.0; put the $ref into allOf", name)
		}
	}
}

func (l *linter) enum(object map[string]any, values []any, at string) {
	seen := map[string]bool{}
	for _, v := range values {
		text := canonical(v)
		if seen[text] {
			l.add(Warning, "enum", jsonx.Pointer(at, "enum"), "%s stands there twice", text)
		}
		seen[text] = true
	}
	if fallback, there := object["default"]; there && len(values) > 0 && !seen[canonical(fallback)] {
		l.add(Error, "default", jsonx.Pointer(at, "default"), "%s is not in enum", canonical(fallback))
	}
}

// required checks that a schema declares its required properties. A composed schema may declare
// them in its parts.
func (l *linter) required(object map[string]any, at string) {
	names, _ := object["required"].([]any)
	properties, there := object["properties"].(map[string]any)
	for _, word := range []string{"allOf", "anyOf", "oneOf", "$ref", "patternProperties", "additionalProperties", "if"} {
		if v, has := object[word]; has && v != false {
			there = false
		}
	}
	for i, name := range names {
		text, ok := name.(string)
		if _, declared := properties[text]; there && ok && !declared && !strings.Contains(at, "/allOf/") {
			l.add(Warning, "required", jsonx.Index(jsonx.Pointer(at, "required"), i), "%s is required, and no such property is declared", text)
		}
	}
}

// unused finds schemas without a reference. If the document refers to other documents, these may
// refer back to it.
func (l *linter) unused() {
	if l.outside > 0 || len(l.targets) == 0 {
		return
	}
	used := func(pointer string) bool {
		for target := range l.targets {
			if target == pointer || strings.HasPrefix(target, pointer+"/") {
				return true
			}
		}
		return false
	}
	all, _ := l.at("/components/schemas")
	if len(members(all)) > 2000 {
		return
	}
	for name := range members(all) {
		if pointer := jsonx.Pointer("/components/schemas", name); !used(unescaped(pointer)) && !l.mapped(name) {
			l.add(Warning, "unused", pointer, "nothing refers to this schema")
		}
	}
}

// mapped reports whether a discriminator of the document may name a schema.
func (l *linter) mapped(name string) bool {
	found := false
	var look func(v any)
	look = func(v any) {
		if list, ok := v.([]any); ok {
			for _, item := range list {
				look(item)
			}
		}
		for key, inner := range members(v) {
			if key == "discriminator" {
				found = true
			}
			look(inner)
		}
	}
	look(l.root)
	return found && name != ""
}

var template = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{([^{}]*)\}`) })

// variables returns the names in braces of a path or an address.
func variables(path string) []string {
	var names []string
	for _, m := range template().FindAllStringSubmatch(path, -1) {
		names = append(names, m[1])
	}
	return names
}

// methods lists the methods for which a path may have an operation.
var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

func (l *linter) openapi() {
	l.schemaObjects()
	byShape, byID := map[string]string{}, map[string]string{}
	paths := members(l.root["paths"])
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if strings.HasPrefix(path, "x-") {
			continue
		}
		at := jsonx.Pointer("/paths", path)
		shape := template().ReplaceAllString(path, "{}")
		if twin, there := byShape[shape]; there {
			l.add(Error, "path-twice", at, "is the same path as %s: names in braces do not distinguish paths", twin)
		}
		byShape[shape] = path
		names := variables(path)
		for i, name := range names {
			if slices.Contains(names[:i], name) {
				l.add(Error, "path-parameter", at, "{%s} stands there twice", name)
			}
		}
		item := l.resolve(node{paths[path], at})
		for _, method := range methods {
			if op, there := members(item.v)[method]; there {
				where := node{op, jsonx.Pointer(item.at, method)}
				l.operation(item, where, names)
				l.operationID(where, byID)
			}
		}
	}
	l.securities(l.root["security"], "/security")
}

func (l *linter) operationID(op node, byID map[string]string) {
	id, ok := members(op.v)["operationId"].(string)
	if !ok {
		return
	}
	if twin, there := byID[id]; there && twin != op.at {
		l.add(Error, "operation-id", jsonx.Pointer(op.at, "operationId"), "%s is the operationId at %s too", id, twin)
	}
	byID[id] = op.at
}

// operation checks the parameters of an operation by the names in its path, and its security by the
// declared schemes.
func (l *linter) operation(item, op node, names []string) {
	declared, unknown := map[string]bool{}, false
	for _, holder := range []node{item, op} {
		own := map[string]bool{}
		list, _ := members(holder.v)["parameters"].([]any)
		for i, p := range list {
			at := jsonx.Index(jsonx.Pointer(holder.at, "parameters"), i)
			resolved := l.resolve(node{p, at})
			param := members(resolved.v)
			name, _ := param["name"].(string)
			in, _ := param["in"].(string)
			if in == "" {
				unknown = true // in another file, or a broken reference
				continue
			}
			if own[in+" "+name] {
				l.add(Error, "parameter-twice", at, "the %s parameter %s is declared twice", in, name)
			}
			own[in+" "+name] = true
			if in != "path" {
				continue
			}
			declared[name] = true
			if !slices.Contains(names, name) {
				l.add(Error, "path-parameter", at, "the path has no {%s}", name)
			}
		}
	}
	for _, name := range names {
		if !declared[name] && !unknown {
			l.add(Error, "path-parameter", op.at, "{%s} of the path is no parameter: declare it with in: path", name)
		}
	}
	l.securities(members(op.v)["security"], jsonx.Pointer(op.at, "security"))
}

// securities finds required schemes that are not declared.
func (l *linter) securities(v any, at string) {
	schemes, _ := l.at("/components/securitySchemes")
	list, _ := v.([]any)
	for i, alternative := range list {
		for _, name := range slices.Sorted(maps.Keys(members(alternative))) {
			if _, there := members(schemes)[name]; !there && name != "$ref" && !(l.Spec == AsyncAPI && l.major() == "3") {
				l.add(Error, "security", jsonx.Pointer(jsonx.Index(at, i), name), "%s is no scheme of components.securitySchemes", name)
			}
		}
	}
}

func (l *linter) major() string { return l.Version[:1] }

// schemaObjects validates the schemas of OpenAPI 3.1, which the official schema omits, by JSON
// Schema 2020-12, unless the document declares another dialect.
func (l *linter) schemaObjects() {
	if _, other := l.root["jsonSchemaDialect"]; other || l.schema() != "openapi-3.1" {
		return
	}
	meta, err := compiled("2020-12")
	if err != nil {
		return
	}
	var look func(v any, at, within string)
	look = func(v any, at, within string) {
		if list, ok := v.([]any); ok {
			for i, item := range list {
				look(item, jsonx.Index(at, i), "")
			}
			return
		}
		for name, inner := range members(v) {
			pointer := jsonx.Pointer(at, name)
			switch {
			case name == "schema" && !named[within], within == "schemas":
				l.violations(meta.Validate(inner), pointer)
			case !named[within] && (data[name] || strings.HasPrefix(name, "x-")):
			default:
				look(inner, pointer, map[bool]string{true: "", false: name}[named[within]])
			}
		}
	}
	look(l.root, "", "")
}

func (l *linter) asyncapi() {
	byID := map[string]string{}
	channels := members(l.root["channels"])
	for _, name := range slices.Sorted(maps.Keys(channels)) {
		channel := l.resolve(node{channels[name], jsonx.Pointer("/channels", name)})
		address := name
		if l.major() == "3" {
			address, _ = members(channel.v)["address"].(string)
		}
		parameters := members(members(channel.v)["parameters"])
		names := variables(address)
		for _, v := range names {
			if _, there := parameters[v]; !there {
				l.add(Error, "channel-parameter", channel.at, "{%s} of the address is not declared in parameters", v)
			}
		}
		for _, p := range slices.Sorted(maps.Keys(parameters)) {
			if !slices.Contains(names, p) && address != "" {
				l.add(Error, "channel-parameter", jsonx.Pointer(jsonx.Pointer(channel.at, "parameters"), p), "the address has no {%s}", p)
			}
		}
		for _, verb := range []string{"publish", "subscribe"} {
			if op, there := members(channel.v)[verb]; there && l.major() == "2" {
				where := node{op, jsonx.Pointer(channel.at, verb)}
				l.operationID(where, byID)
				l.securities(members(op)["security"], jsonx.Pointer(where.at, "security"))
			}
		}
	}
	for name, v := range members(l.root["operations"]) {
		op := l.resolve(node{v, jsonx.Pointer("/operations", name)})
		target, _ := members(members(op.v)["channel"])["$ref"].(string)
		if target != "" && strings.HasPrefix(target, "#") && !strings.HasPrefix(target, "#/channels/") {
			l.add(Error, "operation-channel", jsonx.Pointer(op.at, "channel"), "%s is no entry of channels", target)
			continue
		}
		messages, _ := members(op.v)["messages"].([]any)
		for i, m := range messages {
			ref, _ := members(m)["$ref"].(string)
			if strings.HasPrefix(ref, "#") && target != "" && !strings.HasPrefix(ref, target+"/messages/") {
				l.add(Error, "operation-message", jsonx.Index(jsonx.Pointer(op.at, "messages"), i), "%s is no message of the operation's channel %s",
					ref, target)
			}
		}
	}
}
