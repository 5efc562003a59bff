package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// Args are the arguments of a call. Numbers are [json.Number], so that what a
// caller stores comes back digit by digit.
type Args map[string]any

// ParseArgs reads arguments. Nothing and null are no arguments; anything else
// that is not an object is an error.
func ParseArgs(raw json.RawMessage) (Args, *Error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return Args{}, nil
	}
	var v any
	if err := decode(raw, &v); err != nil {
		return nil, Errorf(InvalidInput, "arguments are not valid JSON: %v", err)
	}
	switch args := v.(type) {
	case nil:
		return Args{}, nil
	case map[string]any:
		if path, ok := hugeNumber(v); ok {
			return nil, Errorf(InvalidInput, "%s is a number beyond 64-bit floating point", Shorten(path)).
				WithHint("send it as a string, or smaller")
		}
		return args, nil
	}
	return nil, Errorf(InvalidInput, "arguments must be a JSON object, got %s", TypeName(v)).
		WithHint(`send an object such as {"action":"list"}`)
}

// hugeNumber finds a number that other JSON readers could not hold.
func hugeNumber(v any) (where string, ok bool) {
	switch v := v.(type) {
	case json.Number:
		_, err := v.Float64()
		return "", err != nil
	case []any:
		for i, item := range v {
			if where, ok := hugeNumber(item); ok {
				return pointer("", strconv.Itoa(i)) + where, true
			}
		}
	case map[string]any:
		for name, member := range v {
			if where, ok := hugeNumber(member); ok {
				return pointer("", name) + where, true
			}
		}
	}
	return "", false
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

// TypeName is the JSON type of a decoded value.
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
