package call

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/tools"
)

// tree names what to keep of an object; nil keeps all of it.
type tree map[string]tree

// Project keeps only the named fields of a result: dotted paths, through
// objects and lists. No fields keep everything. The result is compact JSON; it
// is read once and copied, never decoded.
func Project(result json.RawMessage, fields []string) json.RawMessage {
	if len(fields) == 0 {
		return result
	}
	root := tree{}
	for _, field := range fields {
		root.add(strings.Split(field, "."))
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(result), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	out, err := root.keep(make([]byte, 0, len(result)/2), dec)
	if err != nil {
		panic("call: projecting a result that is not JSON: " + err.Error()) // we encoded it ourselves
	}
	return out
}

func (t tree) add(path []string) {
	branch, seen := t[path[0]]
	switch {
	case len(path) == 1:
		t[path[0]] = nil
	case seen && branch == nil: // all of it is kept already
	default:
		if !seen {
			branch = tree{}
			t[path[0]] = branch
		}
		branch.add(path[1:])
	}
}

// keep appends to out what t keeps of the next value.
func (t tree) keep(out []byte, dec *jsontext.Decoder) ([]byte, error) {
	kind := dec.PeekKind()
	if t == nil || kind != '{' && kind != '[' {
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
	for empty := true; dec.PeekKind() != end; {
		branch := t
		if kind == '{' {
			name, err := dec.ReadValue()
			if err != nil {
				return nil, err
			}
			written := len(out)
			if !empty {
				out = append(out, ',')
			}
			out = append(append(out, name...), ':')
			unquoted, err := jsontext.AppendUnquote(nil, name)
			if err != nil {
				return nil, err
			}
			wanted := false
			if branch, wanted = t[string(unquoted)]; !wanted {
				out = out[:written]
				if err := dec.SkipValue(); err != nil {
					return nil, err
				}
				continue
			}
		} else if !empty {
			out = append(out, ',')
		}
		empty = false
		var err error
		if out, err = branch.keep(out, dec); err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken()
	return append(out, byte(end)), err
}

// keeping adds the wanted result fields to the call to which another is
// forwarded, unless that has its own.
func keeping(f tools.Forward, fields []string) *tools.Forward {
	var args ordered.Map
	if len(fields) == 0 || len(f.Arguments) > 0 && json.Unmarshal(f.Arguments, &args) != nil {
		return &f
	}
	if _, own := args.Get(tools.IncludeFields); !own {
		args.Set(tools.IncludeFields, fields)
		f.Arguments = ordered.MustJSON(args)
	}
	return &f
}
