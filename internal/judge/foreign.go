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

	"github.com/toolfold/toolfold/internal/jsonx"
)

// Foreign is a compiled schema that was written elsewhere.
type Foreign struct {
	Schema *jsonschema.Schema
	Doc    any // the schema as JSON, to look up what a keyword demands
}

// Compile compiles a schema of objects under a name that errors mention. Without $schema it is
// one of 2020-12, as MCP has it, unless it is written as those of draft-07 are. References to
// other documents are refused, and schemas that no object can be held to.
func Compile(name string, schema json.RawMessage) (*Foreign, error) {
	var f Foreign
	if err := jsonx.Decode(schema, &f.Doc); err != nil {
		return nil, fmt.Errorf("reading schema of %s: %w", name, err)
	}
	address := "mem://toolfold/" + url.PathEscape(name)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiler.DefaultDraft(draftOf(f.Doc))
	compiler.UseLoader(noLoader{})
	err := compiler.AddResource(address, f.Doc)
	if err != nil {
		return nil, fmt.Errorf("reading schema of %s: %w", name, err)
	}
	if f.Schema, err = compiler.Compile(address); err != nil {
		return nil, fmt.Errorf("compiling schema of %s: %s", name, fault(err, address))
	}
	if why := unfit(f.Schema, address); why != "" {
		return nil, fmt.Errorf("compiling schema of %s: %s", name, why)
	}
	return &f, nil
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
	var used vocabulary
	used.of(schema)
	if used.only7 || used.old && !used.later {
		return jsonschema.Draft7
	}
	return jsonschema.Draft2020
}

// vocabulary says which words a schema has.
type vocabulary struct{ only7, old, later bool }

// of adds those of a schema, or of several.
func (w *vocabulary) of(schema any) {
	list, _ := schema.([]any)
	for _, entry := range list {
		w.of(entry)
	}
	object, _ := schema.(map[string]any)
	for word, value := range object {
		switch word {
		case "const", "enum", "default", "examples":
			continue
		case "items":
			_, tuple := value.([]any)
			w.only7 = w.only7 || tuple
		case "$id":
			id, _ := value.(string)
			w.only7 = w.only7 || strings.HasPrefix(id, "#")
		case "definitions", "dependencies", "additionalItems":
			w.old = true
		case "$defs", "$anchor", "$dynamicAnchor", "$dynamicRef", "prefixItems", "unevaluatedItems", "unevaluatedProperties", "dependentRequired",
			"dependentSchemas", "minContains", "maxContains":
			w.later = true
		}
		switch word {
		case "properties", "patternProperties", "definitions", "$defs", "dependencies", "dependentSchemas": // schemas by names
			named, _ := value.(map[string]any)
			for _, schema := range named {
				w.of(schema)
			}
		default:
			w.of(value)
		}
	}
}

// noLoader refuses references to other documents: following them would read
// files.
type noLoader struct{}

// Load implements [jsonschema.URLLoader].
func (noLoader) Load(address string) (any, error) {
	return nil, fmt.Errorf("references to other documents are not followed: %s", address)
}
