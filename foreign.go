package toolfold

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Limits for schemas that combine other schemas.
const (
	maxForms   = 24      // of a parameter
	maxMatches = 200_000 // of forms and members that are combined from two parameters
)

// reader reads schemas from elsewhere as parameters, for listings, search and describe. Arguments
// are checked against the schemas themselves.
type reader struct {
	matches int // comparisons of forms and members so far
}

// readMembers reads the members of an object schema as parameters.
func readMembers(schema ordered.Map) Param {
	var r reader
	return r.members(schema)
}

func (r *reader) members(schema ordered.Map) Param {
	object := Param{Kind: KindObject}
	needed := namesIn(raw(schema, "required"))
	properties, _ := ordered.Read(raw(schema, "properties"))
	for _, m := range properties {
		text, _ := m.Value.(json.RawMessage)
		p := r.schema(m.Key, text)
		if needed.has([]byte(m.Key)) {
			object.Required = append(object.Required, p)
		} else {
			object.Optional = append(object.Optional, p)
		}
	}
	return object
}

// schema reads the schema of a parameter: its own keywords, narrowed by allOf, anyOf and oneOf.
func (r *reader) schema(name string, text json.RawMessage) Param {
	schema, ok := ordered.Read(text)
	if !ok {
		return Param{Name: name, Kind: KindAny} // a boolean schema
	}
	p := r.own(schema)
	for _, part := range r.parts(schema, "allOf") {
		p = r.narrowed(p, part)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if parts := r.parts(schema, keyword); len(parts) > 0 {
			forms := either(parts)
			p = r.narrowed(p, forms)
			p.Nullable = p.Nullable || forms.Nullable // judge.Plain may have merged the only other form into the schema
		}
	}
	if string(raw(schema, "default")) == "null" && !onlyNull(p) {
		p.Nullable = false // a default of null only means that the parameter may be left out
	}
	p.Name = name
	get(schema, "description", &p.Doc)
	return p
}

// parts reads the schemas in the list of a keyword.
func (r *reader) parts(schema ordered.Map, keyword string) (parts []Param) {
	ordered.Items(raw(schema, keyword), func(item []byte) {
		parts = append(parts, r.schema("", item))
	})
	return parts
}

// own reads the keywords that do not combine other schemas.
func (r *reader) own(schema ordered.Map) Param {
	if values := raw(schema, "enum"); len(values) > 0 && values[0] == '[' {
		if words, ok := ordered.Texts(values); ok && len(words) > 0 {
			return Param{Kind: KindString, Enum: words}
		}
		var parts []Param
		ordered.Items(values, func(item []byte) { parts = append(parts, literal(item)) })
		if len(parts) > 0 {
			return either(parts)
		}
	}
	if value := raw(schema, "const"); value != nil {
		return literal(value)
	}
	var parts []Param
	for _, kind := range kindsOf(schema) {
		parts = append(parts, r.of(kind, schema))
	}
	p := either(parts)
	if len(p.Forms) == 0 {
		get(schema, "format", &p.Format)
	}
	return p
}

// of reads a schema as a parameter of one type.
func (r *reader) of(kind Kind, schema ordered.Map) Param {
	p := Param{Kind: kind}
	switch kind {
	case kindNull:
		p = Param{Kind: KindAny, Nullable: true}
	case KindString:
		get(schema, "format", &p.Format)
	case KindObject:
		p = r.members(schema)
		var known nameSet
		for _, m := range p.Members() {
			known.add(m.Name)
		}
		for _, name := range namesIn(raw(schema, "required")).list {
			if !known.has([]byte(name)) {
				known.add(name)
				p.Required = append(p.Required, Param{Name: name, Kind: KindAny})
			}
		}
		if values := raw(schema, "additionalProperties"); len(values) > 0 && values[0] == '{' && raw(schema, "patternProperties") == nil {
			p.Values = new(r.schema("", values))
		}
	case KindArray:
		p.Items = new(r.items(schema))
	}
	return p
}

// items reads the schema of list items. For a tuple it returns the alternatives of its items.
func (r *reader) items(schema ordered.Map) Param {
	tuple, rest := "prefixItems", "items"
	if items := raw(schema, "items"); len(items) > 0 && items[0] == '[' { // older drafts
		tuple, rest = "items", "additionalItems"
	}
	parts := r.parts(schema, tuple)
	most := string(raw(schema, "maxItems"))
	if last := string(raw(schema, rest)); last == "false" || len(parts) > 0 && most == strconv.Itoa(len(parts)) {
		return either(parts)
	}
	return either(append(parts, r.schema("", raw(schema, rest))))
}

// kindNull is the type of null, which is not the kind of a parameter.
const kindNull Kind = "null"

// kindsOf returns the types that a schema allows. Without a type it guesses from other keywords.
func kindsOf(schema ordered.Map) (kinds []Kind) {
	var one string
	var several []string
	get(schema, "type", &one)
	get(schema, "type", &several)
	for _, word := range append(several, one) {
		switch kind := Kind(word); kind {
		case KindString, KindInteger, KindNumber, KindBoolean, KindObject, KindArray, kindNull:
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		for _, m := range schema {
			switch m.Key {
			case "properties", "required", "additionalProperties":
				return []Kind{KindObject}
			case "items", "prefixItems":
				return []Kind{KindArray}
			}
		}
	}
	if string(raw(schema, "nullable")) == "true" && !slices.Contains(kinds, kindNull) && len(kinds) > 0 {
		kinds = append(kinds, kindNull)
	}
	return kinds
}

// literal reads a value as a parameter that takes only that value. Objects and lists are read as
// their type.
func literal(value json.RawMessage) Param {
	switch value[0] {
	case '"':
		text, _ := ordered.Text(value)
		return Param{Kind: KindString, Enum: []string{text}}
	case 'n':
		return Param{Kind: KindAny, Nullable: true}
	case 't', 'f':
		return Param{Kind: KindBoolean, Enum: []string{string(value)}}
	case '{':
		return Param{Kind: KindObject}
	case '[':
		return Param{Kind: KindArray, Items: &Param{Kind: KindAny}}
	}
	p := Param{Kind: KindInteger, Enum: []string{string(value)}}
	if strings.ContainsAny(p.Enum[0], ".eE") {
		p.Kind = KindNumber
	}
	return p
}

// anything reports whether a parameter takes every value, or nothing is known about it.
func anything(p Param) bool { return p.Kind == KindAny && len(p.Forms) == 0 && !p.Nullable }

// onlyNull reports whether a parameter takes only null.
func onlyNull(p Param) bool { return p.Kind == KindAny && len(p.Forms) == 0 && p.Nullable }

// formsOf returns the forms of a parameter, without null.
func formsOf(p Param) []Param {
	switch {
	case onlyNull(p):
		return nil
	case len(p.Forms) > 0:
		return p.Forms
	}
	p.Name, p.Doc, p.Nullable = "", "", false
	return []Param{p}
}

// either returns a parameter that takes the values of all parts.
func either(parts []Param) Param {
	var forms []Param
	null := false
	for _, part := range parts {
		if anything(part) {
			return Param{Kind: KindAny}
		}
		null = null || part.Nullable
		for _, form := range formsOf(part) {
			if len(forms) <= maxForms {
				forms = withForm(forms, form)
			}
		}
	}
	return formed(forms, null)
}

// formed returns a parameter with the given forms.
func formed(forms []Param, null bool) Param {
	for i := range forms {
		forms[i].Enum = once(forms[i].Enum)
	}
	p := Param{Kind: KindAny}
	switch {
	case len(forms) == 1:
		p = forms[0]
	case len(forms) > maxForms:
		p.Forms = append(slices.Clip(forms[:maxForms]), Param{Kind: KindAny})
	default:
		p.Forms = forms
	}
	p.Nullable = null
	return p
}

// withForm adds a form. Values of one type are joined into one enumeration, and a type without
// values is added once.
func withForm(forms []Param, form Param) []Param {
	for i, known := range forms {
		switch {
		case known.Kind != form.Kind || known.Kind == KindObject || known.Kind == KindArray:
		case len(known.Enum) > 0 && len(form.Enum) > 0:
			forms[i].Enum = append(known.Enum, form.Enum...)
			return forms
		case len(known.Enum) == len(form.Enum) && known.Format == form.Format:
			return forms
		}
	}
	form.Enum = slices.Clone(form.Enum) // may be appended to later
	return append(forms, form)
}

// once removes duplicate values.
func once(values []string) (list []string) {
	if len(values) < 2 {
		return values
	}
	seen := map[string]bool{}
	for _, value := range values {
		if !seen[value] {
			seen[value] = true
			list = append(list, value)
		}
	}
	return list
}

// narrowed returns a parameter that takes only values that other takes too. It returns p if they
// have nothing in common, or maxMatches is reached.
func (r *reader) narrowed(p, other Param) Param {
	if narrow, ok := r.both(p, other); ok {
		return narrow
	}
	return p
}

// both returns a parameter that takes the values that a and b both take. ok is false if no value
// fits both.
func (r *reader) both(a, b Param) (p Param, ok bool) {
	switch {
	case anything(b):
		return a, true
	case anything(a):
		return b, true
	}
	var forms []Param
	for _, x := range formsOf(a) {
		for _, y := range formsOf(b) {
			if r.matches++; r.matches > maxMatches {
				return a, true
			}
			if form, ok := r.form(x, y); ok {
				forms = withForm(forms, form)
			}
		}
	}
	null := a.Nullable && b.Nullable
	return formed(forms, null), null || len(forms) > 0
}

// form returns the intersection of two forms. ok is false if it is empty.
func (r *reader) form(a, b Param) (form Param, ok bool) {
	switch {
	case a.Kind == KindAny: // stands for omitted forms
		return b, true
	case b.Kind == KindAny:
		return a, true
	case a.Kind == KindNumber && b.Kind == KindInteger:
		a.Kind = KindInteger
	case a.Kind != b.Kind && !(a.Kind == KindInteger && b.Kind == KindNumber):
		return a, false
	}
	if a.Format == "" {
		a.Format = b.Format
	}
	switch {
	case len(a.Enum) == 0:
		a.Enum = b.Enum
	case len(b.Enum) > 0:
		a.Enum = slices.DeleteFunc(slices.Clone(a.Enum), func(value string) bool { return !slices.Contains(b.Enum, value) })
		if len(a.Enum) == 0 {
			return a, false
		}
	}
	switch a.Kind {
	case KindArray:
		a.Items = new(r.narrowed(*a.Items, *b.Items))
	case KindObject:
		return r.object(a, b)
	}
	return a, true
}

// object returns an object with the members of both. ok is false if a required member can have no
// value: such members distinguish alternatives.
func (r *reader) object(a, b Param) (object Param, ok bool) {
	required := func(name string) bool {
		named := func(m Param) bool { return m.Name == name }
		return slices.ContainsFunc(a.Required, named) || slices.ContainsFunc(b.Required, named)
	}
	object = Param{Kind: KindObject, Values: a.Values}
	if object.Values == nil {
		object.Values = b.Values
	}
	others := b.Members()
	r.matches += len(a.Members()) * len(others)
	add := func(m Param) {
		if required(m.Name) {
			object.Required = append(object.Required, m)
		} else {
			object.Optional = append(object.Optional, m)
		}
	}
	for _, m := range a.Members() {
		if i := slices.IndexFunc(others, func(o Param) bool { return o.Name == m.Name }); i >= 0 {
			one, ok := r.both(m, others[i])
			if !ok && required(m.Name) {
				return object, false
			}
			if one.Name = m.Name; ok {
				m = one
			}
			others = slices.Delete(others, i, i+1)
		}
		add(m)
	}
	for _, m := range others {
		add(m)
	}
	return object, true
}

// raw returns the value of a keyword as written; nil if it is absent.
func raw(schema ordered.Map, keyword string) json.RawMessage {
	value, _ := schema.Get(keyword)
	text, _ := value.(json.RawMessage)
	return text
}

// get reads a keyword into v. It leaves v alone if the value has another type.
func get[T string | []string](schema ordered.Map, keyword string, v *T) {
	text := raw(schema, keyword)
	switch to := any(v).(type) {
	case *string:
		if read, ok := ordered.Text(text); ok {
			*to = read
		}
	case *[]string:
		if read, ok := ordered.Texts(text); ok {
			*to = read
		}
	}
}
