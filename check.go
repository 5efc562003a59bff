package toolfold

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/toolfold/toolfold/internal/jsonx"
	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/internal/suggest"
)

// foreign is a compiled schema that was written elsewhere.
type foreign struct {
	schema *jsonschema.Schema
	doc    any // the schema as JSON, to look up what a keyword demanded
}

// noLoader refuses references to other documents: following them would read
// files.
type noLoader struct{}

// Load implements [jsonschema.URLLoader].
func (noLoader) Load(address string) (any, error) {
	return nil, fmt.Errorf("references to other documents are not followed: %s", address)
}

// CompileSchema compiles a schema under a name that errors mention. References
// to other documents are refused.
func CompileSchema(name string, schema any) (*Checker, error) {
	raw, err := ordered.JSON(schema)
	if err != nil {
		return nil, fmt.Errorf("encoding schema of %s: %w", name, err)
	}
	var f foreign
	if err := jsonx.Decode(raw, &f.doc); err != nil {
		return nil, fmt.Errorf("reading schema of %s: %w", name, err)
	}
	address := "mem://toolfold/" + url.PathEscape(name)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(address, f.doc); err != nil {
		return nil, fmt.Errorf("reading schema of %s: %w", name, err)
	}
	if f.schema, err = compiler.Compile(address); err != nil {
		return nil, fmt.Errorf("compiling schema of %s: %w", name, err)
	}
	return &Checker{f.problems}, nil
}

// CheckSchema lists what is wrong with a value that should satisfy a JSON
// Schema written elsewhere. Paths of the problems are JSON pointers below at.
// An error says what is wrong with the schema itself, which may refer to
// nothing outside of it. It compiles the schema each time it is called.
func CheckSchema(schema json.RawMessage, value map[string]any, at string) ([]Problem, error) {
	var doc any
	if err := jsonx.Decode(schema, &doc); err != nil {
		return nil, fmt.Errorf("reading schema: %w", err)
	}
	if err := closedSchema(doc); err != nil {
		return nil, err
	}
	check, err := CompileSchema("value", schema)
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return nil, errors.New(line)
	}
	problems := check.Problems(value)
	for i := range problems {
		problems[i].Path = at + problems[i].Path
	}
	return problems, nil
}

// closedSchema refuses references out of a schema, and identities under which
// it could be referred to.
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
				return fmt.Errorf("%s leads out of the schema: %s", name, Shorten(target))
			}
			if isText && (name == "$id" || name == "$schema" && !strings.Contains(target, "json-schema.org")) {
				return fmt.Errorf("%s is not taken", name)
			}
			if err := closedSchema(inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// problems lists what is wrong with an object, in terms of the schema.
func (f *foreign) problems(object map[string]any) []Problem {
	var invalid *jsonschema.ValidationError
	if !errors.As(f.schema.Validate(object), &invalid) {
		return nil
	}
	var found []Problem
	var collect func(*jsonschema.ValidationError)
	collect = func(err *jsonschema.ValidationError) {
		if len(err.Causes) == 0 {
			found = append(found, f.explain(err, object)...)
		}
		for _, cause := range err.Causes {
			if len(found) >= MaxProblems {
				return
			}
			collect(cause)
		}
	}
	collect(invalid)
	return found
}

// explain turns one failed keyword into problems.
func (f *foreign) explain(cause *jsonschema.ValidationError, object map[string]any) []Problem {
	_, fragment, _ := strings.Cut(cause.SchemaURL, "#")
	fragment, _ = url.PathUnescape(fragment)
	part, _ := jsonx.Lookup(f.doc, fragment)
	demand, _ := part.(map[string]any)
	path := ""
	for _, step := range cause.InstanceLocation {
		path = jsonx.Pointer(path, step)
	}
	value, _ := jsonx.Lookup(object, path)
	switch failed := cause.ErrorKind.(type) {
	case *kind.Required:
		var list []Problem
		for _, name := range failed.Missing {
			list = append(list, Problem{Path: jsonx.Pointer(path, name), Kind: ProblemMissing})
		}
		return list
	case *kind.AdditionalProperties:
		members, _ := value.(map[string]any)
		known, _ := demand["properties"].(map[string]any)
		return unknown(path, slices.Collect(maps.Keys(known)), members)
	}
	keyword := ""
	if words := cause.ErrorKind.KeywordPath(); len(words) > 0 {
		keyword = words[0]
	}
	return []Problem{explainValue(path, keyword, demand, value)}
}

func explainValue(path, keyword string, demand map[string]any, value any) Problem {
	p := Problem{Path: path, Got: got(value)}
	switch keyword {
	case "type":
		p.Kind, p.Got = ProblemType, jsonx.TypeName(value)
		if word, ok := demand["type"].(string); ok {
			p.Want = word
		} else {
			p.Want = strings.Join(texts(demand["type"]), TypeOr)
		}
	case "enum", "const":
		p.Kind, p.Allowed = ProblemEnum, texts(demand["enum"])
		p.Suggest = suggest.Nearest(fmt.Sprint(value), p.Allowed)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		p.Kind, p.Min, p.Max = ProblemRange, demanded(demand["minimum"]), demanded(demand["maximum"])
	case "minLength", "maxLength":
		p.Kind, p.Min, p.Max, p.Got = ProblemLength, demanded(demand["minLength"]), demanded(demand["maxLength"]), length(value)
	case "minItems", "maxItems":
		p.Kind, p.Min, p.Max, p.Got = ProblemLength, demanded(demand["minItems"]), demanded(demand["maxItems"]), length(value)
	case "minProperties", "maxProperties":
		p.Kind, p.Min, p.Max, p.Got = ProblemLength, demanded(demand["minProperties"]), demanded(demand["maxProperties"]), length(value)
	case "format", "pattern":
		text, _ := value.(string)
		p.Kind, p.Want = ProblemFormat, wantedFormat(fmt.Sprint(demand[keyword]), text)
	default:
		p.Kind, p.Want = ProblemFormat, "value that satisfies "+keyword
	}
	return p
}

// TypeOr joins the types of a [Problem] where a schema allows several.
const TypeOr = " or "

// got quotes a value in an error: scalars shortened, the rest by type.
func got(v any) any {
	switch v := v.(type) {
	case string:
		return Shorten(v)
	case bool, json.Number:
		return v
	}
	return jsonx.TypeName(v)
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
		list = append(list, fmt.Sprint(item))
	}
	return list
}

// demanded returns a number that a keyword demands; nil where it has none.
func demanded(v any) *float64 {
	if n, ok := float(v); ok {
		return &n
	}
	return nil
}
