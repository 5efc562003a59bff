package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// CheckSchema lists what is wrong with a value that should satisfy a JSON
// Schema written elsewhere. Paths of the problems are JSON pointers below at.
// An error says what is wrong with the schema itself, which may refer to
// nothing outside of it. It compiles the schema each time it is called.
func CheckSchema(schema json.RawMessage, value map[string]any, at string) ([]Problem, error) {
	var doc any
	if err := decode(schema, &doc); err != nil {
		return nil, fmt.Errorf("reading schema: %w", err)
	}
	if err := closedSchema(doc); err != nil {
		return nil, err
	}
	check, err := compileSchema("value", schema)
	if err != nil {
		return nil, errors.New(firstLine(err.Error()))
	}
	problems := check.problems(value)
	for i := range problems {
		problems[i].Path = at + problems[i].Path
	}
	return problems, nil
}

// closedSchema refuses references out of a schema: they would be read from
// files.
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

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
