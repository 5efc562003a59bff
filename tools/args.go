package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/toolfold/toolfold/internal/ordered"
)

// Args are the arguments of a call. Numbers are [json.Number], so that what a
// caller stores comes back digit by digit.
type Args map[string]any

// ParseArgs reads arguments. Nothing and null are no arguments; anything else
// that is not an object is an error.
func ParseArgs(raw json.RawMessage) (Args, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return Args{}, nil
	}
	var v any
	if err := decode(raw, &v); err != nil {
		return nil, &Error{Code: InvalidInput, Message: "arguments are not valid JSON: " + err.Error()}
	}
	switch args := v.(type) {
	case nil:
		return Args{}, nil
	case map[string]any:
		return args, nil
	}
	return nil, Errorf(InvalidInput, "arguments must be a JSON object, got %s", typeName(v)).
		WithHint(`send an object such as {"action":"list"}`)
}

// decode reads exactly one JSON value, with numbers kept as written.
func decode(raw []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("more than one JSON value")
	}
	return nil
}

// members reads a JSON object in the order it was written.
func members(raw json.RawMessage) (ordered.Map, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	open, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('{') {
		return nil, fmt.Errorf("not a JSON object")
	}
	list := ordered.Map{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		list = append(list, ordered.Member{Key: key.(string), Value: value})
	}
	return list, nil
}

// typeName is the JSON type of a decoded value.
func typeName(v any) string {
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
