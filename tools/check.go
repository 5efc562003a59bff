package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sort"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/internal/suggest"
)

// checker validates one shape of arguments and says what is wrong in terms of
// the schema, never in the validator's own words.
type checker struct {
	schema *jsonschema.Schema
	doc    any // the schema as JSON, to look up what a keyword demanded
}

func compileSchema(name string, schema any) (*checker, error) {
	raw, err := ordered.JSON(schema)
	if err != nil {
		return nil, fmt.Errorf("encoding schema of %s: %w", name, err)
	}
	address := "mem://toolfold/" + url.PathEscape(name)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat = true
	compiler.LoadURL = refuseToLoad
	if err := compiler.AddResource(address, bytes.NewReader(raw)); err != nil {
		return nil, fmt.Errorf("reading schema of %s: %w", name, err)
	}
	compiled, err := compiler.Compile(address)
	if err != nil {
		return nil, fmt.Errorf("compiling schema of %s: %w", name, err)
	}
	c := &checker{schema: compiled}
	return c, decode(raw, &c.doc)
}

// refuseToLoad keeps a schema that was written elsewhere from reading files of
// this machine.
func refuseToLoad(address string) (io.ReadCloser, error) {
	return nil, fmt.Errorf("references to other documents are not followed: %s", address)
}

func mustCompile(name string, schema any) *checker {
	c, err := compileSchema(name, schema)
	if err != nil {
		panic(err)
	}
	return c
}

// problems lists everything that is wrong with args, in the order of paths.
func (c *checker) problems(args Args) []Problem {
	err := c.schema.Validate(map[string]any(args))
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil
	}
	var found []Problem
	for _, cause := range leaves(invalid) {
		found = append(found, c.explain(cause, map[string]any(args))...)
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].Path < found[j].Path })
	return found
}

func leaves(err *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(err.Causes) == 0 {
		return []*jsonschema.ValidationError{err}
	}
	var list []*jsonschema.ValidationError
	for _, cause := range err.Causes {
		list = append(list, leaves(cause)...)
	}
	return list
}

// explain turns one failed keyword into problems: the keyword's place gives
// the part of the schema, the instance's place the value.
func (c *checker) explain(cause *jsonschema.ValidationError, args any) []Problem {
	_, fragment, _ := strings.Cut(cause.AbsoluteKeywordLocation, "#")
	fragment, _ = url.PathUnescape(fragment)
	cut := strings.LastIndex(fragment, "/")
	keyword := fragment[cut+1:]
	part, _ := lookup(c.doc, fragment[:cut])
	demand, _ := part.(map[string]any)
	path, _ := url.PathUnescape(cause.InstanceLocation)
	value, _ := lookup(args, path)
	switch keyword {
	case "required":
		return missing(path, demand, value)
	case "additionalProperties":
		return unknown(path, demand, value)
	}
	return []Problem{explainValue(path, keyword, demand, value)}
}

func explainValue(path, keyword string, demand map[string]any, value any) Problem {
	p := Problem{Path: path, Got: got(value)}
	switch keyword {
	case "type":
		p.Kind, p.Want, p.Got = ProblemType, strings.Join(typeWords(demand["type"]), typeOr), TypeName(value)
	case "enum", "const":
		p.Kind, p.Allowed = ProblemEnum, texts(demand["enum"])
		p.Suggest = suggest.Nearest(fmt.Sprint(value), p.Allowed)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		p.Kind, p.Min, p.Max = ProblemRange, float(demand["minimum"]), float(demand["maximum"])
	case "minLength", "maxLength":
		p.Kind, p.Min, p.Max, p.Got = ProblemLength, float(demand["minLength"]), float(demand["maxLength"]), length(value)
	case "minItems", "maxItems":
		p.Kind, p.Min, p.Max, p.Got = ProblemLength, float(demand["minItems"]), float(demand["maxItems"]), length(value)
	case "format", "pattern":
		p.Kind, p.Want = ProblemFormat, fmt.Sprint(demand[keyword])
	default:
		p.Kind, p.Want = ProblemFormat, "value that satisfies "+keyword
	}
	return p
}

// typeOr joins the types that a schema written elsewhere may allow.
const typeOr = " or "

func typeWords(demand any) []string {
	if word, ok := demand.(string); ok {
		return []string{word}
	}
	return texts(demand)
}

func missing(path string, demand map[string]any, value any) []Problem {
	object, _ := value.(map[string]any)
	var list []Problem
	for _, name := range texts(demand["required"]) {
		if _, ok := object[name]; !ok {
			list = append(list, Problem{Path: pointer(path, name), Kind: ProblemMissing})
		}
	}
	return list
}

func unknown(path string, demand map[string]any, value any) []Problem {
	object, _ := value.(map[string]any)
	known, _ := demand["properties"].(map[string]any)
	var free []string // members that could have been meant
	for name := range known {
		if _, taken := object[name]; !taken {
			free = append(free, name)
		}
	}
	sort.Strings(free)
	var list []Problem
	for name := range object {
		if _, ok := known[name]; !ok {
			list = append(list, Problem{Path: pointer(path, name), Kind: ProblemUnknown, Suggest: suggest.Nearest(name, free)})
		}
	}
	return list
}

// got quotes a value in an error: scalars shortened, the rest by type.
func got(v any) any {
	switch v := v.(type) {
	case string:
		return Shorten(v)
	case bool, json.Number:
		return v
	}
	return TypeName(v)
}

func length(v any) any {
	switch v := v.(type) {
	case string:
		return len([]rune(v))
	case []any:
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

func float(v any) *float64 {
	n, ok := v.(json.Number)
	if !ok {
		return nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil
	}
	return &f
}

// lookup follows a JSON pointer.
func lookup(v any, path string) (value any, ok bool) {
	for _, step := range steps(path) {
		switch holder := v.(type) {
		case map[string]any:
			v, ok = holder[step]
		case []any:
			i, err := strconv.Atoi(step)
			if ok = err == nil && i >= 0 && i < len(holder); ok {
				v = holder[i]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return v, true
}

// steps splits a JSON pointer into its unescaped names.
func steps(path string) []string {
	path = strings.TrimPrefix(path, "/")
	if path == "" {
		return nil
	}
	list := strings.Split(path, "/")
	for i := range list {
		list[i] = unescapePointer(list[i])
	}
	return list
}

func pointer(parent, name string) string {
	return parent + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func unescapePointer(s string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
}
