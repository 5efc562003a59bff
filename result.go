package toolfold

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolfold/toolfold/internal/call/callctx"
)

var (
	rawType     = reflect.TypeFor[json.RawMessage]()
	timeType    = reflect.TypeFor[time.Time]()
	forwardType = reflect.TypeFor[callctx.Forward]()
)

// Results lists the members of the action's result object. For an action declared here they are
// read from the result struct of its method: the tag json has the name, the tag doc the text.
// Optional tags are enum (comma-separated values), format (a JSON Schema format) and type (the JSON
// type of a [json.RawMessage] or of list items).
func (a *Action) Results() []Param {
	if a.Run.out == nil || a.Forwards() {
		return a.Returns.Params()
	}
	return results(a.Run.out)
}

var resultCache sync.Map // of []Param by reflect.Type

func results(t reflect.Type) []Param {
	if cached, ok := resultCache.Load(t); ok {
		return cached.([]Param)
	}
	params := members(t, nil)
	resultCache.Store(t, params)
	return params
}

// members reads the exported fields of a struct, with those of embedded structs in place. Fields of
// an embedded pointer may be absent. open has the types that are being read: a struct within itself
// is an object with any members.
func members(t reflect.Type, open []reflect.Type) []Param {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || slices.Contains(open, t) {
		return nil
	}
	open = append(open[:len(open):len(open)], t)
	var params []Param
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			for _, p := range members(f.Type, open) {
				p.Omitted = p.Omitted || f.Type.Kind() == reflect.Pointer
				params = append(params, p)
			}
			continue
		case !f.IsExported() || name == "-":
			continue
		case name == "":
			name = f.Name
		}
		p := valueOf(f.Type, open)
		p.Name, p.Doc, p.Omitted = name, f.Tag.Get("doc"), strings.HasPrefix(options, "omit")
		p.Nullable = f.Type.Kind() == reflect.Pointer && !p.Omitted
		if values := f.Tag.Get("enum"); values != "" {
			p.Enum = strings.Split(values, ",")
		}
		if format := f.Tag.Get("format"); format != "" {
			p.Format = format
		}
		switch kind := Kind(f.Tag.Get("type")); {
		case kind == "":
		case p.Kind == KindArray:
			p.Items.Kind = kind
		default:
			p.Kind = kind
		}
		params = append(params, p)
	}
	return params
}

// valueOf describes the JSON encoding of a Go type.
func valueOf(t reflect.Type, open []reflect.Type) Param {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == timeType:
		return Param{Kind: KindString, Format: "date-time"}
	case t == rawType:
		return Param{Kind: KindAny}
	}
	switch t.Kind() {
	case reflect.String:
		return Param{Kind: KindString}
	case reflect.Bool:
		return Param{Kind: KindBoolean}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return Param{Kind: KindInteger}
	case reflect.Float64:
		return Param{Kind: KindNumber}
	case reflect.Slice, reflect.Array:
		return Param{Kind: KindArray, Items: new(valueOf(t.Elem(), open))}
	case reflect.Map:
		return Param{Kind: KindObject, Values: new(valueOf(t.Elem(), open))}
	case reflect.Struct:
		return Param{Kind: KindObject, Optional: members(t, open)}
	}
	return Param{Kind: KindAny}
}

// Members lists the declared members of an object or of a list of objects,
// required ones first.
func (p Param) Members() []Param {
	if p.Kind == KindArray {
		return p.Items.Members()
	}
	return slices.Concat(p.Required, p.Optional)
}

// find returns the parameter called name.
func find(params []Param, name string) (Param, bool) {
	for _, p := range params {
		if p.Name == name {
			return p, true
		}
	}
	return Param{}, false
}

// compareArguments reports the differences between declared parameters and the Go struct for them,
// in both directions.
func compareArguments(found *faults, where string, t reflect.Type, declared []Param) {
	if t.Kind() != reflect.Struct {
		found.add(where, "%s is not a struct", t)
		return
	}
	inGo := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		inGo[name] = f.Type
	}
	for _, p := range declared {
		goType, ok := inGo[p.Name]
		if !ok {
			found.add(where, "%q is declared, but %s has no such member", p.Name, t)
			continue
		}
		delete(inGo, p.Name)
		compareArgument(found, where+" "+p.Name, goType, p)
	}
	for name := range inGo {
		found.add(where, "%s has a member %q that is not declared", t, name)
	}
}

// compareSome is compareArguments for a struct with only some of the parameters.
func compareSome(found *faults, where string, t reflect.Type, declared []Param) {
	var had []Param
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if p, ok := find(declared, name); ok {
			had = append(had, p)
		}
	}
	compareArguments(found, where, t, had)
}

func compareArgument(found *faults, where string, t reflect.Type, p Param) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	fits := false
	switch p.Kind {
	case KindArray:
		if fits = t.Kind() == reflect.Slice; fits {
			compareArgument(found, where, t.Elem(), *p.Items)
		}
	case KindObject:
		if len(p.Members()) > 0 && t.Kind() == reflect.Struct {
			compareArguments(found, where, t, p.Members())
			return
		}
		fits = (t == rawType || t.Kind() == reflect.Map) && (len(p.Members()) == 0 || p.Loose)
	case KindString:
		fits = t.Kind() == reflect.String || t == timeType && p.Format == "date-time"
	case KindInteger:
		fits = t.Kind() == reflect.Int || t.Kind() == reflect.Int64
	case KindNumber:
		fits = t.Kind() == reflect.Float64
	case KindBoolean:
		fits = t.Kind() == reflect.Bool
	case KindAny:
		fits = t == rawType || t.Kind() == reflect.Interface
	}
	found.check(fits, where, "%s is declared, %s is behind it", p.Kind, t)
}

// validateResults requires a valid name and a text for every result field.
func validateResults(found *faults, where string, params []Param) {
	seen := map[string]bool{}
	for _, p := range params {
		name := fmt.Sprintf("%s result %s", where, p.Name)
		found.check(!seen[p.Name], name, "is declared twice")
		seen[p.Name] = true
		found.check(fieldName().MatchString(p.Name), name, "the name is not a plain identifier")
		found.check(p.Doc != "", name, "has no text: give the struct field a tag doc")
		validateResults(found, name, p.Members())
	}
}
