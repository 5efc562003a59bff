package call

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// tree selects parts of a value; nil selects all of it. Names select members of an object, and
// apply to every item of a list. Parts select, by position, items of a list, members of an object
// or characters of a text.
type tree struct {
	names map[string]*tree
	parts []part
}

type part struct {
	extent
	inside *tree
}

// Project returns a result with only the given fields: dotted paths through objects and lists, with
// ranges in brackets. Without fields it returns the whole result. The result is compact JSON, which
// is copied in one pass and not decoded.
func Project(result json.RawMessage, fields []string) json.RawMessage {
	if len(fields) == 0 {
		return result
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(result), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	out, err := treeOf(fields).keep(make([]byte, 0, len(result)/2), dec)
	if err != nil {
		panic("call: projecting a result that is not JSON: " + err.Error()) // we encoded it ourselves
	}
	return out
}

// treeOf returns the union of the fields; nil without fields.
func treeOf(named []string) *tree {
	if len(named) == 0 {
		return nil
	}
	root := &tree{}
	for _, field := range named {
		steps, ok := parseField(field)
		if !ok {
			continue // normalising has rejected it
		}
		path := (*tree)(nil)
		for i := len(steps) - 1; i >= 0; i-- {
			if steps[i].part != nil {
				path = &tree{parts: []part{{*steps[i].part, path}}}
			} else {
				path = &tree{names: map[string]*tree{steps[i].name: path}}
			}
		}
		root = union(root, path)
	}
	return root
}

// union selects everything that a or b selects. It may change a.
func union(a, b *tree) *tree {
	if a == nil || b == nil {
		return nil
	}
	for name, inside := range b.names {
		if a.names == nil {
			a.names = map[string]*tree{}
		}
		if before, ok := a.names[name]; ok {
			inside = union(before, inside)
		}
		a.names[name] = inside
	}
	a.parts = append(a.parts, b.parts...)
	return a
}

// child returns the selection of t in the member called name, or in the item at position i if name
// is empty. selected is false if it selects nothing there.
func (t *tree) child(name string, isItem bool, i int) (inside *tree, selected bool) {
	if t == nil {
		return nil, true
	}
	switch named, ok := t.names[name]; {
	case isItem && len(t.parts) == 0:
		return t, true
	case isItem && len(t.names) > 0:
		inside, selected = &tree{names: t.names}, true
	case !isItem && ok:
		inside, selected = named, true
	}
	for _, p := range t.parts {
		if !p.has(i) {
			continue
		}
		if selected {
			inside = union(inside.clone(), p.inside.clone())
		} else {
			inside, selected = p.inside, true
		}
	}
	return inside, selected
}

// clone returns a copy that [union] may change.
func (t *tree) clone() *tree {
	if t == nil {
		return nil
	}
	copied := &tree{parts: t.parts[:len(t.parts):len(t.parts)]}
	for name, inside := range t.names {
		if copied.names == nil {
			copied.names = map[string]*tree{}
		}
		copied.names[name] = inside.clone()
	}
	return copied
}

// origin returns the original position of the i-th selected item, member or character.
func (t *tree) origin(i int) int {
	if t == nil || len(t.parts) == 0 || len(t.names) > 0 {
		return i
	}
	if len(t.parts) == 1 {
		return t.parts[0].from + i
	}
	for at := 0; ; at++ {
		if _, selected := t.child("", true, at); selected {
			if i == 0 {
				return at
			}
			i--
		}
	}
}

// keep appends the selected parts of the next value to out.
func (t *tree) keep(out []byte, dec *jsontext.Decoder) ([]byte, error) {
	kind := dec.PeekKind()
	switch {
	case t != nil && kind == '"' && len(t.parts) > 0:
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return nil, err
		}
		return jsontext.AppendQuote(out, t.parts[0].of(string(text)))
	case t == nil || kind != '{' && kind != '[':
		value, err := dec.ReadValue()
		return append(out, value...), err
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	out = append(out, byte(kind))
	end := jsontext.Kind(']')
	if kind == '{' {
		end = '}'
	}
	empty := true
	for i := 0; dec.PeekKind() != end; i++ {
		var name []byte
		if kind == '{' {
			quoted, err := dec.ReadValue()
			if err != nil {
				return nil, err
			}
			name = bytes.Clone(quoted)
		}
		unquoted, err := unquote(name)
		if err != nil {
			return nil, err
		}
		inside, selected := t.child(unquoted, kind == '[', i)
		if !selected {
			if err := dec.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		if !empty {
			out = append(out, ',')
		}
		empty = false
		if name != nil {
			out = append(append(out, name...), ':')
		}
		if out, err = inside.keep(out, dec); err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken()
	return append(out, byte(end)), err
}

// unquote returns the text of a JSON string; empty for nil.
func unquote(quoted []byte) (string, error) {
	if quoted == nil {
		return "", nil
	}
	name, err := jsontext.AppendUnquote(nil, quoted)
	return string(name), err
}

// withSelection adds the fields and the filter of a call to the call that it is forwarded to,
// unless that has its own.
func withSelection(f callctx.Forward, input *checkResult) *callctx.Forward {
	var args ordered.Map
	if len(input.fields) == 0 && input.filter == "" || len(f.Arguments) > 0 && json.Unmarshal(f.Arguments, &args) != nil {
		return &f
	}
	if _, own := args.Get(callctx.ArgFields); !own && len(input.fields) > 0 {
		args.Set(callctx.ArgFields, input.fields)
	}
	if _, own := args.Get(callctx.ArgJQ); !own && input.filter != "" {
		args.Set(callctx.ArgJQ, input.filter)
	}
	f.Arguments = ordered.MustJSON(args)
	return &f
}
