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

// Foreign is a compiled schema that was written elsewhere.
type Foreign struct {
	Schema *jsonschema.Schema
	Doc    any // the schema as JSON, to look up what a keyword demands

	// Of [CompileTool]: Formats returns the schema with formats asserted, or nil if it has none;
	// Patterns lists the patterns that are not enforced.
	Formats  func() *jsonschema.Schema
	Patterns []string
}

// Compile compiles a schema of objects under a name that errors mention. Without $schema it is
// one of 2020-12, as MCP has it, unless it is written as those of draft-07 are. References to
// other documents are refused, and schemas that no object can be held to.
func Compile(name string, schema json.RawMessage) (*Foreign, error) {
	doc, err := decoded(name, schema)
	if err != nil {
		return nil, err
	}
	s, err := compile(name, doc)
	if err != nil {
		return nil, err
	}
	return &Foreign{Schema: s, Doc: doc}, nil
}

// decoded returns a schema as JSON.
func decoded(name string, schema json.RawMessage) (doc any, err error) {
	if err := jsonx.Decode(schema, &doc); err != nil {
		return nil, fmt.Errorf("reading schema of %s: %w", name, err)
	}
	return doc, nil
}

// compile compiles a schema, whose formats are asserted.
func compile(name string, doc any) (*jsonschema.Schema, error) {
	return compileAs(name, doc, draftOf(doc))
}

// compileAs compiles a schema that is one of a draft unless it says so.
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

// fault says in a line what is wrong with the schema at an address, without that address, which only
// this package knows: of what is no schema it names the innermost place.
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

// draftOf returns what a schema that does not say so is one of. An array of items and an $id
// that is an anchor are no words of 2020-12, and such a schema would be refused whole. Others of
// draft-07 mean nothing there, or, as what stands beside a $ref, something else: they decide
// where no word is of a later draft.
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

// noLoader refuses references to other documents: following them would read
// files.
type noLoader struct{}

// Load implements [jsonschema.URLLoader].
func (noLoader) Load(address string) (any, error) {
	return nil, fmt.Errorf("references to other documents are not followed: %s", address)
}
