package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/toolfold/toolfold/internal/text/jsonx"
)

// ForeignSchema is a compiled schema from elsewhere.
type ForeignSchema struct {
	Schema *jsonschema.Schema
	Doc    any // the schema as JSON, to look up the values of keywords

	// Set by [CompileTool]. Formats returns the schema with formats asserted; nil if it has no
	// formats. Patterns lists the patterns that are not enforced.
	Formats  func() *jsonschema.Schema
	Patterns []string
}

// Compile compiles a schema of objects; errors mention name. Without $schema it is a 2020-12
// schema, as in MCP, unless it uses the keywords of draft-07. It rejects references to other
// documents, and schemas that no object can be checked against.
func Compile(name string, schema json.RawMessage) (*ForeignSchema, error) {
	doc, err := decode(name, schema)
	if err != nil {
		return nil, err
	}
	s, err := compile(name, doc)
	if err != nil {
		return nil, err
	}
	return &ForeignSchema{Schema: s, Doc: doc}, nil
}

// decode decodes a schema.
func decode(name string, schema json.RawMessage) (doc any, err error) {
	if err := jsonx.Decode(schema, &doc); err != nil {
		return nil, fmt.Errorf("reading schema of %s: %w", name, err)
	}
	return doc, nil
}

// compile compiles a schema with formats asserted.
func compile(name string, doc any) (*jsonschema.Schema, error) {
	return compileAs(name, doc, draftOf(doc))
}

// compileAs compiles a schema for a draft, unless it has $schema.
func compileAs(name string, doc any, draft *jsonschema.Draft) (*jsonschema.Schema, error) {
	address := "mem://toolfold/" + url.PathEscape(name)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiler.DefaultDraft(draft)
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(address, doc); err != nil {
		return nil, fmt.Errorf("reading schema of %s: %w", name, err)
	}
	s, err := compiler.Compile(address)
	if err != nil {
		return nil, fmt.Errorf("compiling schema of %s: %s", name, fault(err, address))
	}
	if why := unfit(s, address); why != "" {
		return nil, fmt.Errorf("compiling schema of %s: %s", name, why)
	}
	return s, nil
}

// fault returns one line about an error in the schema at an address, without that internal address.
// For an invalid schema it names the innermost place.
func fault(err error, address string) string {
	var invalid *jsonschema.SchemaValidationError
	var found *jsonschema.ValidationError
	if !errors.As(err, &invalid) || !errors.As(invalid.Err, &found) {
		return strings.ReplaceAll(err.Error(), address, "")
	}
	for len(found.Causes) > 0 {
		found = found.Causes[0]
	}
	return fmt.Sprintf("/%s: %s", strings.Join(found.InstanceLocation, "/"),
		found.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
}

// draftOf returns the draft of a schema without $schema. Arrays as items and an $id that is an
// anchor are invalid in 2020-12, so they mean draft-07. Other keywords of draft-07 have no effect
// or another meaning in 2020-12, such as keywords next to a $ref. They mean draft-07 only if there
// is no keyword of a later draft.
func draftOf(schema any) *jsonschema.Draft {
	var only7, old, later bool
	eachSchema(schema, func(s map[string]any) {
		for word, value := range s {
			switch word {
			case "items":
				_, tuple := value.([]any)
				only7 = only7 || tuple
			case "$id":
				id, _ := value.(string)
				only7 = only7 || strings.HasPrefix(id, "#")
			case "definitions", "dependencies", "additionalItems":
				old = true
			case "$defs", "$anchor", "$dynamicAnchor", "$dynamicRef", "prefixItems", "unevaluatedItems", "unevaluatedProperties",
				"dependentRequired", "dependentSchemas", "minContains", "maxContains":
				later = true
			}
		}
	})
	if only7 || old && !later {
		return jsonschema.Draft7
	}
	return jsonschema.Draft2020
}

// noLoader rejects references to other documents: following them would read files.
type noLoader struct{}

// Load implements [jsonschema.URLLoader].
func (noLoader) Load(address string) (any, error) {
	return nil, fmt.Errorf("references to other documents are not followed: %s", address)
}
