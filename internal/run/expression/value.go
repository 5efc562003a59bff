package expression

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Decode decodes JSON for expressions. Integers of up to 64 bits become int. Longer ones stay
// [json.Number]: expressions can pass them on and compare them for equality, but not compute with
// them. Other numbers become float64. Empty raw is nil.
func Decode(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var v any
	if err := jsonx.Decode(raw, &v); err != nil {
		return nil, fmt.Errorf("decoding value: %w", err)
	}
	return Value(v), nil
}

// Value converts the numbers of a decoded JSON value as [Decode] does. It changes lists and objects
// in place.
func Value(v any) any {
	switch v := v.(type) {
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			return int(whole)
		}
		if float, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return float
		}
		return v
	case []any:
		for i := range v {
			v[i] = Value(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = Value(v[name])
		}
	}
	return v
}

// Text returns a value as text: a string unchanged, and any other value as JSON.
func Text(value any) (string, error) {
	if s, ok := value.(string); ok {
		return s, nil
	}
	raw, err := ordered.JSON(value)
	if err != nil {
		return "", errors.New("the value cannot be written as JSON")
	}
	return string(raw), nil
}

// KindOf returns the name of a value's kind for errors.
func KindOf(value any) string {
	switch value.(type) {
	case nil:
		return "nil"
	case string:
		return "a text"
	case bool:
		return "true or false"
	case int, int64, float64, json.Number:
		return "a number"
	case []any, []int, []string, []float64:
		return "a list"
	}
	return "an object"
}
