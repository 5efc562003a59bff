package jsonx

import "reflect"

// Equal reports whether two texts hold the same JSON value.
func Equal(a, b []byte) bool {
	var x, y any
	return Decode(a, &x) == nil && Decode(b, &y) == nil && reflect.DeepEqual(x, y)
}

// IsEdit reports whether the object after is the object before with this value at a path of keys, and
// nothing else changed. Missing objects on the way are added. A nil value means that the member is removed.
func IsEdit(before, after, value []byte, path []string) bool {
	var want, got map[string]any
	var leaf any
	if Decode(before, &want) != nil || Decode(after, &got) != nil || value != nil && Decode(value, &leaf) != nil || want == nil {
		return false
	}
	object := want
	for _, key := range path[:len(path)-1] {
		inner, _ := object[key].(map[string]any)
		if inner == nil {
			inner = map[string]any{}
			object[key] = inner
		}
		object = inner
	}
	if delete(object, path[len(path)-1]); value != nil {
		object[path[len(path)-1]] = leaf
	}
	return reflect.DeepEqual(want, got)
}
