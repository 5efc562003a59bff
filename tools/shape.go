package tools

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	timeType = reflect.TypeFor[time.Time]()

	forwardType = reflect.TypeFor[Forward]()
)

// compareStruct reports where a declared object and the Go struct behind it
// differ, in either direction.
func compareStruct(found *faults, where string, t reflect.Type, declared []Param) {
	if t.Kind() != reflect.Struct {
		found.add(where, "%s is not a struct", t)
		return
	}
	fields := jsonFields(t)
	for _, p := range declared {
		field, ok := fields[p.Name]
		if !ok {
			found.add(where, "%q is declared, but %s has no such member", p.Name, t)
			continue
		}
		delete(fields, p.Name)
		compareType(found, where+" "+p.Name, field, p)
	}
	for name := range fields {
		found.add(where, "%s has a member %q that is not declared", t, name)
	}
}

// jsonFields maps JSON names to the types of a struct's exported fields,
// embedded structs included.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		tag := strings.Split(f.Tag.Get("json"), ",")[0]
		if !f.IsExported() || tag == "-" || f.Anonymous && tag == "" {
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		fields[tag] = f.Type
	}
	return fields
}

func compareType(found *faults, where string, t reflect.Type, p Param) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch p.Kind {
	case KindArray:
		if t.Kind() != reflect.Slice {
			found.add(where, "an array is declared, %s is behind it", t)
			return
		}
		compareType(found, where, t.Elem(), *p.Items)
	case KindObject:
		compareObject(found, where, t, p)
	default:
		found.check(fits(t, p), where, "%s is declared, %s is behind it", p.Kind, t)
	}
}

func compareObject(found *faults, where string, t reflect.Type, p Param) {
	members := Inside(p)
	if len(members) > 0 && t.Kind() == reflect.Struct {
		compareStruct(found, where, t, members)
		return
	}
	open := t == rawType || t.Kind() == reflect.Map
	found.check(open && (len(members) == 0 || p.Loose), where, "an object is declared, %s is behind it", t)
}

func fits(t reflect.Type, p Param) bool {
	switch p.Kind {
	case KindString:
		return t.Kind() == reflect.String || t == timeType && p.Format == "date-time"
	case KindInteger:
		return t.Kind() == reflect.Int || t.Kind() == reflect.Int64
	case KindNumber:
		return t.Kind() == reflect.Float64
	case KindBoolean:
		return t.Kind() == reflect.Bool
	case KindAny:
		return t == rawType || t.Kind() == reflect.Interface
	}
	return false
}
