package validate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/call/validate"
	"github.com/toolfold/toolfold/internal/text/jsonx"
)

func TestSchema(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"n":{"type":"integer","minimum":1},"of":{"$ref":"#/$defs/of"}},"required":["n"],
		"additionalProperties":false,"$defs":{"of":{"enum":["red","green"]}}}`
	for text, want := range map[string]string{
		`{"n":1,"of":"red"}`:  ``,
		`{}`:                  `/input/n missing`,
		`{"n":0,"of":"gren"}`: `/input/n range, /input/of enum`,
		`{"n":"1","m":2}`:     `/input/m unknown, /input/n type`,
	} {
		var args map[string]any
		if err := jsonx.Decode([]byte(text), &args); err != nil {
			t.Fatal(err)
		}
		problems, err := validate.Schema(json.RawMessage(schema), args, "/input")
		var got []string
		for _, p := range problems {
			got = append(got, p.Path+" "+p.Kind)
		}
		if strings.Join(got, ", ") != want || err != nil {
			t.Errorf("%s: %q, %v, want %s", text, got, err, want)
		}
	}
}

// A schema from elsewhere cannot read files.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{`:                                    "reading schema",
		`{"type":"objekt"}`:                    "compiling schema of value: /type: value must be one of",
		`{"type":7}`:                           "compiling schema of value: /type: value must be one of",
		`{"properties":{"a":{"pattern":"("}}}`: `compiling schema of value: /properties/a/pattern: '(' is not valid regex`,
		`{"$ref":"#/$defs/a"}`:                 `compiling schema of value: json-pointer in "#/$defs/a" not found`,
		`{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`: "$ref refers to another document",
		`{"allOf":[{"$dynamicRef":"http://x/y"}]}`:           "$dynamicRef refers to another document",
		`{"$id":"file:///etc/","$ref":"#/x"}`:                "$id is not supported",
		`{"$schema":"file:///etc/passwd"}`:                   "$schema is not supported",
	} {
		if _, err := validate.Schema(json.RawMessage(schema), map[string]any{}, ""); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "mem://") {
			t.Errorf("%s: %v, want %q", schema, err, want)
		}
	}
}

// The error about a time has an example: the same time if only the zone is missing.
func TestErrorsOfTimesShowOne(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"properties":{"at":{"type":"string","format":"date-time"}}}`)
	for value, want := range map[string]string{
		"2030-01-31T09:00:00":  "at must be a date-time with its zone, such as 2030-01-31T09:00:00Z",
		"2030-01-31 09:00":     "at must be a date-time with its zone, such as 2030-01-31T09:00:00Z",
		"2030-01-31":           "at must be a date-time with its zone, such as 2030-01-31T00:00:00Z",
		"2030-13-45T99:99:99Z": "at must be a date-time such as 2026-01-31T12:00:00Z",
		"tomorrow":             "at must be a date-time such as 2026-01-31T12:00:00Z",
	} {
		problems, err := validate.Schema(schema, map[string]any{"at": value}, "")
		if err != nil || len(problems) != 1 || problems[0].Text() != want {
			t.Errorf("%s: %v, %v, want %s", value, problems, err, want)
		}
	}
}
