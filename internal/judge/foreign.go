package judge

import (
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolfold/toolfold/internal/jsonx"
)

// Foreign is a compiled schema that was written elsewhere.
type Foreign struct {
	Schema *jsonschema.Schema
	Doc    any // the schema as JSON, to look up what a keyword demands
}

// Compile compiles a schema under a name that errors mention. References to
// other documents are refused.
func Compile(name string, schema json.RawMessage) (*Foreign, error) {
	var f Foreign
	if err := jsonx.Decode(schema, &f.Doc); err != nil {
		return nil, fmt.Errorf("reading schema of %s: %w", name, err)
	}
	address := "mem://toolfold/" + url.PathEscape(name)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiler.UseLoader(noLoader{})
	err := compiler.AddResource(address, f.Doc)
	if err != nil {
		return nil, fmt.Errorf("reading schema of %s: %w", name, err)
	}
	if f.Schema, err = compiler.Compile(address); err != nil {
		return nil, fmt.Errorf("compiling schema of %s: %w", name, err)
	}
	return &f, nil
}

// noLoader refuses references to other documents: following them would read
// files.
type noLoader struct{}

// Load implements [jsonschema.URLLoader].
func (noLoader) Load(address string) (any, error) {
	return nil, fmt.Errorf("references to other documents are not followed: %s", address)
}
