package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold/internal/text/jsonx"
)

// Limits of a JSON Schema in a file.
const (
	maxSchemaNodes = 2_000 // values of the schema
	maxExpanded    = 5_000 // values with every reference expanded
	maxPatterns    = 2_000 // instructions of all patterns, expanded
	maxSchemaWork  = 50e6  // see [Schema.Admits]
	maxChecks      = 4     // checks that may continue after their calls gave up
)

// Schema is a JSON Schema that can be checked in bounded time.
type Schema struct {
	Text json.RawMessage

	expanded int  // values, with every reference expanded
	patterns int  // instructions of the patterns, expanded
	pairs    bool // it compares the items of lists with each other
}

// BoundSchema measures a JSON Schema. It returns an error if checking a value could take unbounded
// time: if the schema is too large, if references form a cycle or multiply it, or if a reference
// leads out of it. It does not check whether the schema is valid.
func BoundSchema(raw json.RawMessage) (Schema, error) {
	if err := boundDepth(raw); err != nil {
		return Schema{}, err
	}
	var doc any
	if err := jsonx.Decode(raw, &doc); err != nil {
		return Schema{}, fmt.Errorf("it is not JSON: %w", err)
	}
	m := schemaMeter{doc: doc, anchors: map[string]any{}, costs: map[string]cost{}}
	if err := m.survey(doc); err != nil {
		return Schema{}, err
	}
	c, err := m.cost(doc)
	if err != nil {
		return Schema{}, err
	}
	return Schema{Text: raw, expanded: c.values, patterns: c.patterns, pairs: m.pairs}, nil
}

// boundDepth returns an error for JSON that is nested too deeply.
func boundDepth(raw json.RawMessage) error {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > MaxNesting {
				return errors.New(tooDeep)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// cost is the cost of checking one value against a part of a schema.
type cost struct{ values, patterns int }

func (c cost) plus(other cost) cost {
	return cost{c.values + other.values, c.patterns + other.patterns}
}

// schemaMeter is the state of measuring a schema.
type schemaMeter struct {
	doc     any
	nodes   int
	pairs   bool
	anchors map[string]any  // schemas by $anchor
	costs   map[string]cost // of references that were measured
	path    []string        // references that are being measured
}

// Keywords whose value is not a schema or a list of schemas.
var (
	dataKeywords  = []string{"enum", "const", "default", "examples"}
	namedKeywords = []string{"properties", "patternProperties", "dependentSchemas", "dependencies"} // schemas by name
	storeKeywords = []string{"$defs", "definitions"}                                                // schemas for references only
)

// survey counts all values and collects the anchors.
func (m *schemaMeter) survey(part any) error {
	if m.nodes++; m.nodes > maxSchemaNodes {
		return fmt.Errorf("it has more than %d values", maxSchemaNodes)
	}
	switch part := part.(type) {
	case []any:
		for _, inner := range part {
			if err := m.survey(inner); err != nil {
				return err
			}
		}
	case map[string]any:
		if version, ok := part["$schema"].(string); ok && strings.Contains(version, "draft-04") {
			return errors.New("draft-04 of JSON Schema is not supported: use 2020-12")
		}
		if anchor, ok := part["$anchor"].(string); ok {
			m.anchors[anchor] = part
		}
		if unique, _ := part["uniqueItems"].(bool); unique {
			m.pairs = true
		}
		for _, inner := range part {
			if err := m.survey(inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// cost measures a schema, or a list of schemas, with references expanded.
func (m *schemaMeter) cost(part any) (sum cost, err error) {
	sum.values = 1
	add := func(c cost, err error) error {
		sum = sum.plus(c)
		if err == nil && (sum.values > maxExpanded || sum.patterns > maxPatterns) {
			err = fmt.Errorf("it has more than %d values or %d steps of patterns with its references written out", maxExpanded, maxPatterns)
		}
		return err
	}
	if list, ok := part.([]any); ok {
		for _, inner := range list {
			if err := add(m.cost(inner)); err != nil {
				return sum, err
			}
		}
	}
	keywords, _ := part.(map[string]any)
	for keyword, value := range keywords {
		text, isText := value.(string)
		named, _ := value.(map[string]any)
		switch {
		case slices.Contains(dataKeywords, keyword), slices.Contains(storeKeywords, keyword):
		case isText && keyword == "$ref":
			err = add(m.target(text))
		case keyword == "$dynamicRef" || keyword == "$recursiveRef":
			err = fmt.Errorf("%s is not supported: use $ref", keyword)
		case isText && keyword == "pattern":
			err = add(cost{1, instructions(text)}, nil)
		case slices.Contains(namedKeywords, keyword):
			for name, inner := range named {
				if keyword == "patternProperties" {
					sum.patterns += instructions(name)
				}
				if err = add(m.cost(inner)); err != nil {
					break
				}
			}
		default:
			err = add(m.cost(value))
		}
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// target measures the target of a reference.
func (m *schemaMeter) target(reference string) (cost, error) {
	if c, known := m.costs[reference]; known {
		return c, nil
	}
	if slices.Contains(m.path, reference) {
		return cost{}, fmt.Errorf("the reference %s leads back to itself", short(reference))
	}
	part, ok := m.find(reference)
	if !ok {
		return cost{}, fmt.Errorf("the reference %s leads to nothing in the schema", short(reference))
	}
	m.path = append(m.path, reference)
	c, err := m.cost(part)
	m.path = m.path[:len(m.path)-1]
	m.costs[reference] = c
	return c, err
}

func (m *schemaMeter) find(reference string) (part any, ok bool) {
	pointer, local := strings.CutPrefix(reference, "#")
	if !local {
		return nil, false
	}
	if pointer != "" && !strings.HasPrefix(pointer, "/") {
		part, ok = m.anchors[pointer]
		return part, ok
	}
	part = m.doc
	for i, token := range strings.Split(pointer, "/") {
		if i == 0 {
			continue
		}
		object, isObject := part.(map[string]any)
		list, isList := part.([]any)
		switch {
		case isObject:
			if plain, err := url.PathUnescape(token); err == nil {
				token = plain
			}
			if part, ok = object[jsonx.UnescapePointer(token)]; !ok {
				return nil, false
			}
		case isList:
			item, err := strconv.Atoi(token)
			if err != nil || item < 0 || item >= len(list) {
				return nil, false
			}
			part = list[item]
		default:
			return nil, false
		}
	}
	return part, true
}

// instructions returns the size of a compiled pattern: the number of steps that each byte of a text
// may take. It is zero for an invalid pattern.
func instructions(pattern string) int {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return len(program.Inst)
}

// Admits reports whether a value is small enough to check against the schema. In the worst case,
// each value meets each part of the schema, each byte of a text each step of a pattern, and each
// item of a list every other.
func (s Schema) Admits(value any) bool {
	work := 0.0
	var measure func(v any)
	measure = func(v any) {
		work += float64(s.expanded)
		switch v := v.(type) {
		case string:
			work += float64(len(v)) * float64(1+s.patterns)
		case []any:
			if s.pairs {
				work += float64(len(v)) * float64(len(v))
			}
			for i := 0; i < len(v) && work <= maxSchemaWork; i++ {
				measure(v[i])
			}
		case map[string]any:
			for name, inner := range v {
				work += float64(len(name)) * float64(1+s.patterns)
				if measure(inner); work > maxSchemaWork {
					return
				}
			}
		}
	}
	measure(value)
	return work <= maxSchemaWork
}

// checks limits the checks that continue after their calls ended.
var checks = make(chan struct{}, maxChecks)

// Await runs check, which validates a value against a schema, and waits for it until the context
// ends: validation itself cannot be stopped.
func Await[T any](ctx context.Context, check func() (T, error)) (result T, err error) {
	type outcome struct {
		result T
		err    error
	}
	select {
	case checks <- struct{}{}:
	case <-ctx.Done():
		return result, ctx.Err()
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() { <-checks }()
		result, err := check()
		done <- outcome{result, err}
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		return result, ctx.Err()
	}
}
