package toolfold

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/toolfold/toolfold/internal/jsonx"
	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/internal/suggest"
)

// MaxProblems is the greatest number of problems that validation reports.
const MaxProblems = 20

// Checker validates values of one shape and says what is wrong in terms of the
// schema, never in the validator's own words. It is safe for concurrent use.
type Checker struct {
	schema *jsonschema.Schema
	doc    any // the schema as JSON, to look up what a keyword demanded
}

// CompileSchema compiles a schema under a name that errors mention. References
// to other documents are refused: following them would read files.
func CompileSchema(name string, schema any) (*Checker, error) {
	raw, err := ordered.JSON(schema)
	if err != nil {
		return nil, fmt.Errorf("encoding schema of %s: %w", name, err)
	}
	address := "mem://toolfold/" + url.PathEscape(name)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat = true
	compiler.LoadURL = func(address string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("references to other documents are not followed: %s", address)
	}
	if err := compiler.AddResource(address, bytes.NewReader(raw)); err != nil {
		return nil, fmt.Errorf("reading schema of %s: %w", name, err)
	}
	compiled, err := compiler.Compile(address)
	if err != nil {
		return nil, fmt.Errorf("compiling schema of %s: %w", name, err)
	}
	c := &Checker{schema: compiled}
	return c, jsonx.Decode(raw, &c.doc)
}

// Checker compiles what the arguments of a call of this entry must satisfy,
// the action argument left out. Which names a call may have is judged before;
// the schema itself takes others.
func (e *Entry) Checker() (*Checker, error) {
	if e.Action.Input != nil {
		return CompileSchema(e.Title(), e.Action.Input)
	}
	return CompileSchema(e.Title(), ObjectSchema(e.Required, e.Optional, Style{Strict: true}))
}

// CheckFields lists what is wrong with an object that should have the given
// members and no others. All of them are optional; what is inside them is
// checked as declared. Paths are JSON pointers into the object, whose numbers
// may be [json.Number]. It compiles a schema each time it is called.
func CheckFields(params []Param, object map[string]any) []Problem {
	schema := ObjectSchema(nil, params, Style{Strict: true})
	schema.Set("additionalProperties", false)
	check, err := CompileSchema("fields", schema)
	if err != nil {
		panic(err) // a broken declaration, which Validate refuses at start-up
	}
	return check.Problems(object)
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

// Problems lists what is wrong with an object, in the order of paths, at most
// [MaxProblems].
func (c *Checker) Problems(object map[string]any) []Problem {
	err := c.schema.Validate(object)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil
	}
	var found []Problem
	var collect func(*jsonschema.ValidationError)
	collect = func(err *jsonschema.ValidationError) {
		if len(err.Causes) == 0 {
			found = append(found, c.explain(err, object)...)
		}
		for _, cause := range err.Causes {
			if len(found) >= MaxProblems {
				return
			}
			collect(cause)
		}
	}
	collect(invalid)
	found = found[:min(len(found), MaxProblems)]
	sort.SliceStable(found, func(i, j int) bool { return found[i].Path < found[j].Path })
	return found
}

// explain turns one failed keyword into problems: the keyword's place gives
// the part of the schema, the instance's place the value.
func (c *Checker) explain(cause *jsonschema.ValidationError, args any) []Problem {
	_, fragment, _ := strings.Cut(cause.AbsoluteKeywordLocation, "#")
	fragment, _ = url.PathUnescape(fragment)
	cut := strings.LastIndex(fragment, "/")
	keyword := fragment[cut+1:]
	part, _ := Lookup(c.doc, fragment[:cut])
	demand, _ := part.(map[string]any)
	path, _ := url.PathUnescape(cause.InstanceLocation)
	value, _ := Lookup(args, path)
	switch keyword {
	case "required":
		object, _ := value.(map[string]any)
		var list []Problem
		for _, name := range texts(demand["required"]) {
			if _, ok := object[name]; !ok {
				list = append(list, Problem{Path: jsonx.Pointer(path, name), Kind: ProblemMissing})
			}
		}
		return list
	case "additionalProperties":
		return unknown(path, demand, value)
	}
	return []Problem{explainValue(path, keyword, demand, value)}
}

func explainValue(path, keyword string, demand map[string]any, value any) Problem {
	p := Problem{Path: path, Got: got(value)}
	switch keyword {
	case "type":
		p.Kind, p.Got = ProblemType, TypeName(value)
		if word, ok := demand["type"].(string); ok {
			p.Want = word
		} else {
			p.Want = strings.Join(texts(demand["type"]), TypeOr)
		}
	case "enum", "const":
		p.Kind, p.Allowed = ProblemEnum, texts(demand["enum"])
		p.Suggest = suggest.Nearest(fmt.Sprint(value), p.Allowed)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		p.Kind, p.Min, p.Max = ProblemRange, float(demand["minimum"]), float(demand["maximum"])
	case "minLength", "maxLength":
		p.Kind, p.Min, p.Max, p.Got = ProblemLength, float(demand["minLength"]), float(demand["maxLength"]), length(value)
	case "minItems", "maxItems":
		p.Kind, p.Min, p.Max, p.Got = ProblemLength, float(demand["minItems"]), float(demand["maxItems"]), length(value)
	case "minProperties", "maxProperties":
		p.Kind, p.Min, p.Max, p.Got = ProblemLength, float(demand["minProperties"]), float(demand["maxProperties"]), length(value)
	case "format", "pattern":
		p.Kind, p.Want = ProblemFormat, fmt.Sprint(demand[keyword])
		text, _ := value.(string)
		if t, err := time.Parse("2006-01-02T15:04:05.999999999", text); err == nil && p.Want == "date-time" {
			p.Want = "date-time with its zone, such as " + t.Format(time.RFC3339)
		}
	default:
		p.Kind, p.Want = ProblemFormat, "value that satisfies "+keyword
	}
	return p
}

// TypeOr joins the types of a [Problem] where a schema allows several.
const TypeOr = " or "

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
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if _, ok := known[name]; !ok && len(list) < MaxProblems {
			list = append(list, Problem{Path: jsonx.Pointer(path, name), Kind: ProblemUnknown, Suggest: suggest.Nearest(name, free)})
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

// Lookup follows a JSON pointer into a decoded value.
func Lookup(v any, path string) (value any, ok bool) {
	if path == "" {
		return v, true
	}
	for step := range strings.SplitSeq(path[1:], "/") {
		step = jsonx.UnescapePointer(step)
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

// TypeName returns the JSON type of a decoded value.
func TypeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}
