// Package validate checks values against declared fields, and against JSON Schemas from elsewhere.
package validate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// Fields lists the problems of an object that should have only the given members. All members are
// optional; their values are checked as declared. Paths are JSON pointers into the object.
func Fields(params []toolfold.Param, object map[string]any) []toolfold.Problem {
	return toolfold.Param{Kind: toolfold.KindObject, Optional: params}.Check(object)
}

// A Tool checks the arguments of another server's tool by the tool's schema. It is safe for concurrent use.
type Tool struct{ *judge.ForeignSchema }

// Compile compiles the schema of a tool. Errors mention name. References to other documents are
// rejected.
func Compile(name string, schema json.RawMessage) (Tool, error) {
	compiled, err := judge.CompileTool(name, schema)
	return Tool{compiled}, err
}

// Problems lists the problems of an object, sorted by path, at most [judge.MaxProblems].
func (t Tool) Problems(object map[string]any) []toolfold.Problem {
	return foreignSchema(t).problems(object)
}

// Warnings lists the values of an object that do not have the schema's format.
func (t Tool) Warnings(object map[string]any) []string {
	asserting := t.Formats()
	if asserting == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(asserting.Validate(object), &invalid) {
		return nil
	}
	var found []string
	var collect func(*jsonschema.ValidationError)
	collect = func(err *jsonschema.ValidationError) {
		if failed, is := err.ErrorKind.(*kind.Format); is && failed.Want != "regex" { // Go supports fewer expressions than servers do
			name := toolfold.Problem{Path: pathOf(err)}.Name()
			if text := fmt.Sprintf("%s is not of format %s: passed on unchanged", name, failed.Want); !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
		for _, cause := range err.Causes {
			collect(cause)
		}
	}
	collect(invalid)
	slices.Sort(found)
	return found
}

// pathOf returns the path of the value that failed.
func pathOf(failed *jsonschema.ValidationError) (path string) {
	for _, step := range failed.InstanceLocation {
		path = jsonx.Pointer(path, step)
	}
	return path
}

type foreignSchema struct{ *judge.ForeignSchema }

// Combines reports whether a JSON Schema lets one value decide what another has to be.
func Combines(schema json.RawMessage) bool {
	return slices.ContainsFunc([]string{`"anyOf"`, `"oneOf"`, `"not"`, `"if"`, `"dependentSchemas"`, `"dependencies"`},
		func(word string) bool { return bytes.Contains(schema, []byte(word)) })
}

// Schema lists the problems of a value that should satisfy a JSON Schema from elsewhere. Paths of
// the problems are JSON pointers, prefixed with at. An error means that the schema is invalid or
// refers to other documents. The schema is compiled at every call.
func Schema(schema json.RawMessage, value map[string]any, at string) ([]toolfold.Problem, error) {
	var doc any
	if err := jsonx.Decode(schema, &doc); err != nil {
		return nil, fmt.Errorf("reading schema: %w", err)
	}
	if err := closedSchema(doc); err != nil {
		return nil, err
	}
	compiled, err := judge.Compile("value", schema)
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return nil, errors.New(line)
	}
	found := foreignSchema{compiled}.problems(value)
	for i := range found {
		found[i].Path = at + found[i].Path
	}
	return found, nil
}

// closedSchema rejects references to other documents, and ids by which the schema could be referred
// to.
func closedSchema(part any) error {
	switch part := part.(type) {
	case []any:
		for _, inner := range part {
			if err := closedSchema(inner); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, inner := range part {
			target, isText := inner.(string)
			if isText && (name == "$ref" || name == "$dynamicRef") && !strings.HasPrefix(target, "#") {
				return fmt.Errorf("%s refers to another document: %s", name, shorten.Quoted(target))
			}
			if isText && (name == "$id" || name == "$schema" && !strings.Contains(target, "json-schema.org")) {
				return fmt.Errorf("%s is not supported", name)
			}
			if err := closedSchema(inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// problems lists the problems of an object, in terms of the schema.
func (f foreignSchema) problems(object map[string]any) []toolfold.Problem {
	var invalid *jsonschema.ValidationError
	if !errors.As(f.Schema.Validate(object), &invalid) {
		return nil
	}
	var found []toolfold.Problem
	var collect func(*jsonschema.ValidationError)
	collect = func(err *jsonschema.ValidationError) {
		_, ofNames := err.ErrorKind.(*kind.PropertyNames) // its causes have no path
		if len(err.Causes) == 0 || ofNames {
			found = append(found, f.explain(err, object)...)
		}
		for _, cause := range err.Causes {
			if len(found) >= judge.MaxProblems {
				return
			}
			collect(cause)
		}
	}
	collect(invalid)
	found = found[:min(len(found), judge.MaxProblems)]
	slices.SortStableFunc(found, func(a, b toolfold.Problem) int { return cmp.Compare(a.Path, b.Path) })
	return found
}

// explain converts one failed keyword to problems.
func (f foreignSchema) explain(cause *jsonschema.ValidationError, object map[string]any) []toolfold.Problem {
	_, fragment, _ := strings.Cut(cause.SchemaURL, "#")
	fragment, _ = url.PathUnescape(fragment)
	part := jsonx.Lookup(f.Doc, fragment)
	demand, _ := part.(map[string]any)
	path := pathOf(cause)
	value := jsonx.Lookup(object, path)
	switch failed := cause.ErrorKind.(type) {
	case *kind.Required:
		return missing(path, failed.Missing)
	case *kind.DependentRequired:
		return missing(path, failed.Missing)
	case *kind.Dependency:
		return missing(path, failed.Missing)
	case *kind.PropertyNames:
		return []toolfold.Problem{{Path: path, Kind: toolfold.ProblemFormat, Got: shorten.Quoted(failed.Property),
			Want: "value with names that satisfy " + schemaText(part) + ", as " + strconv.Quote(shorten.Quoted(failed.Property)) + " does not"}}
	case *kind.AdditionalProperties:
		members, _ := value.(map[string]any)
		known, _ := demand["properties"].(map[string]any)
		var list []toolfold.Problem
		for name, near := range suggest.Unknown(slices.Collect(maps.Keys(known)), members) {
			list = append(list, toolfold.Problem{Path: jsonx.Pointer(path, name), Kind: toolfold.ProblemUnknown, Suggest: near})
		}
		return list
	}
	if one, is := cause.ErrorKind.(*kind.OneOf); is && len(one.Subschemas) > 1 {
		return []toolfold.Problem{{Path: path, Kind: toolfold.ProblemFormat, Got: judge.Got(value),
			Want: "value that satisfies only one of " + schemaText(demand["oneOf"])}}
	}
	keyword := ""
	if words := cause.ErrorKind.KeywordPath(); len(words) > 0 {
		keyword = words[0]
	} else if _, is := cause.ErrorKind.(*kind.Not); is {
		keyword = "not"
	}
	return []toolfold.Problem{explainValue(path, keyword, demand, value)}
}

// missing returns the problems of missing members.
func missing(path string, names []string) []toolfold.Problem {
	var list []toolfold.Problem
	for _, name := range names {
		list = append(list, toolfold.Problem{Path: jsonx.Pointer(path, name), Kind: toolfold.ProblemMissing})
	}
	return list
}

func explainValue(path, keyword string, demand map[string]any, value any) toolfold.Problem {
	p := toolfold.Problem{Path: path, Got: judge.Got(value)}
	switch keyword {
	case "type":
		p.Kind, p.Got = toolfold.ProblemType, jsonx.TypeName(value)
		if word, ok := demand["type"].(string); ok {
			p.Want = word
		} else {
			p.Want = strings.Join(texts(demand["type"]), judge.TypeOr)
		}
	case "enum", "const":
		p.Kind, p.Allowed = toolfold.ProblemEnum, texts(demand["enum"])
		if only, is := demand["const"]; is && keyword == "const" {
			p.Allowed = texts([]any{only})
		}
		p.Suggest = suggest.Nearest(fmt.Sprint(value), p.Allowed)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		p.Kind, p.Min, p.Max = toolfold.ProblemRange, limitOf(demand["minimum"]), limitOf(demand["maximum"])
		p.Want = exclusiveRange(demand)
	case "minLength", "maxLength":
		p.Kind, p.Min, p.Max, p.Got = toolfold.ProblemLength, limitOf(demand["minLength"]), limitOf(demand["maxLength"]), length(value)
	case "minItems", "maxItems":
		p.Kind, p.Min, p.Max, p.Got = toolfold.ProblemLength, limitOf(demand["minItems"]), limitOf(demand["maxItems"]), length(value)
	case "minProperties", "maxProperties":
		p.Kind, p.Min, p.Max, p.Got = toolfold.ProblemLength, limitOf(demand["minProperties"]), limitOf(demand["maxProperties"]), length(value)
	case "format":
		text, _ := value.(string)
		p.Kind, p.Want = toolfold.ProblemFormat, judge.WantedFormat(fmt.Sprint(demand[keyword]), text)
	case "pattern":
		p.Kind, p.Want = toolfold.ProblemPattern, shorten.To(fmt.Sprint(demand[keyword]), maxWritten)
	case "": // the schema is false
		p.Kind = toolfold.ProblemRefused
	default:
		p.Kind, p.Want = toolfold.ProblemFormat, "value that satisfies "+keyword
		if part, has := demand[keyword]; has {
			p.Want += " " + schemaText(part)
		}
	}
	return p
}

// exclusiveRange describes the range of a number with an exclusive limit, which is a number or, in draft-04,
// a boolean next to the limit. It is empty if all limits are inclusive.
func exclusiveRange(demand map[string]any) string {
	bound := func(inclusive, exclusive, within, beyond string) string {
		limit, more := demand[inclusive], demand[exclusive]
		switch n, ok := judge.Float(more); {
		case ok:
			return beyond + " " + strconv.FormatFloat(n, 'f', -1, 64)
		case limit != nil && more == true:
			return fmt.Sprint(beyond, " ", limit)
		case limit != nil:
			return fmt.Sprint(within, " ", limit)
		}
		return ""
	}
	least := bound("minimum", "exclusiveMinimum", "at least", "more than")
	most := bound("maximum", "exclusiveMaximum", "at most", "less than")
	if !strings.HasPrefix(least, "more") && !strings.HasPrefix(most, "less") {
		return ""
	}
	return strings.Join(slices.DeleteFunc([]string{least, most}, func(text string) bool { return text == "" }), " and ")
}

func length(v any) any {
	switch v := v.(type) {
	case string:
		return len([]rune(v))
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return nil
}

func texts(v any) []string {
	var list []string
	items, _ := v.([]any)
	for _, item := range items {
		text, isText := item.(string)
		if !isText {
			text = schemaText(item)
		}
		list = append(list, text)
	}
	return list
}

// maxWritten limits a part of a schema in an error, in characters.
const maxWritten = 120

// schemaText returns a part of a schema as JSON, shortened.
func schemaText(part any) string { return shorten.To(string(ordered.MustJSON(part)), maxWritten) }

// limitOf returns the number of a keyword; nil if it has no number.
func limitOf(v any) *float64 {
	if n, ok := judge.Float(v); ok {
		return &n
	}
	return nil
}
