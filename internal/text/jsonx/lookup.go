package jsonx

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Lookup follows a JSON pointer into a decoded value; nil if it leads to nothing.
func Lookup(v any, path string) any {
	if path == "" {
		return v
	}
	for step := range strings.SplitSeq(path[1:], "/") {
		step = UnescapePointer(step)
		switch holder := v.(type) {
		case map[string]any:
			v = holder[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(holder) {
				return nil
			}
			v = holder[i]
		default:
			return nil
		}
	}
	return v
}

// TypeName returns the JSON type of a decoded value.
func TypeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number, float64, int, int64, uint64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}
