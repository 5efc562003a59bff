package jsonx

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Lookup follows a JSON pointer into a decoded value.
func Lookup(v any, path string) (value any, ok bool) {
	if path == "" {
		return v, true
	}
	for step := range strings.SplitSeq(path[1:], "/") {
		step = UnescapePointer(step)
		switch holder := v.(type) {
		case map[string]any:
			v, ok = holder[step]
		case []any:
			i, err := strconv.Atoi(step)
			if ok = err == nil && i >= 0 && i < len(holder); ok {
				v = holder[i]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return v, true
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
