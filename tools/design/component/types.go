package component

import (
	"fmt"
	"strings"

	"github.com/toolfold/toolfold/tools/design/text"
)

// shape is the kind of a type in every language.
type shape int

const (
	anything shape = iota
	callback       // a function of anything
	texts
	integer
	number
	boolean
	moment // a date or a time
	bytes
	list
	set
	dict
	booleanDict // a dict by booleans, for languages with another syntax
	maybe       // an optional type
	named       // a type named by the caller
)

// typ is the type of an input or output.
type typ struct {
	shape shape
	of    []typ    // type parameters: the element of lists, sets and optionals; key and value of dicts
	words []string // of a named type
}

// maxTypeDepth limits the nesting of types.
const maxTypeDepth = 8

// bases are the names of predefined types in various languages.
var bases = byName(map[shape]string{
	anything: "any unknown object json mixed",
	callback: "function callback func fn lambda closure",
	texts:    "string str text char varchar uuid email url uri",
	integer:  "int integer long short byte int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 i8 i16 i32 i64 u8 u16 u32 u64 usize bigint",
	number:   "number float double decimal float32 float64 f32 f64",
	boolean:  "bool boolean",
	moment:   "date datetime timestamp time instant",
	bytes:    "bytes binary buffer blob",
})

// generics are the names of types with type parameters.
var generics = byName(map[shape]string{
	list:  "list array vec slice sequence iterable",
	set:   "set hashset",
	dict:  "map record dict dictionary hashmap",
	maybe: "optional option maybe nullable",
})

func byName(names map[shape]string) map[string]shape {
	shapes := map[string]shape{}
	for shape, words := range names {
		for name := range strings.FieldsSeq(words) {
			shapes[name] = shape
		}
	}
	return shapes
}

// parseType reads a type as people write it: a known name or one of the caller's, list<T>, map<K,
// V>, set<T>, T[], []T, T?, T | null. A promise of a type is that type.
func parseType(s string) (typ, error) {
	p := typeParser{rest: s}
	t, err := p.parse(0)
	if err == nil && strings.TrimSpace(p.rest) != "" {
		err = fmt.Errorf("%q is left over", strings.TrimSpace(p.rest))
	}
	return t, err
}

type typeParser struct {
	rest string
}

// take removes a token from the front, and reports whether it was there.
func (p *typeParser) take(token string) bool {
	trimmed := strings.TrimLeft(p.rest, " ")
	rest, found := strings.CutPrefix(trimmed, token)
	if found {
		p.rest = rest
	}
	return found
}

func (p *typeParser) parse(depth int) (typ, error) {
	if depth > maxTypeDepth {
		return typ{}, fmt.Errorf("it is more than %d deep", maxTypeDepth)
	}
	var t typ
	var err error
	if p.take("[]") {
		var item typ
		item, err = p.parse(depth + 1)
		t = typ{shape: list, of: []typ{item}}
	} else {
		t, err = p.parseNamed(depth)
	}
	for wraps := depth; err == nil; wraps++ {
		if wraps > maxTypeDepth {
			return typ{}, fmt.Errorf("it is more than %d deep", maxTypeDepth)
		}
		switch {
		case p.take("[]"):
			t = typ{shape: list, of: []typ{t}}
		case p.take("?"):
			t = orNothing(t)
		case p.take("|"):
			if !p.take("null") && !p.take("undefined") && !p.take("None") {
				return typ{}, fmt.Errorf("of alternatives only null is known")
			}
			t = orNothing(t)
		default:
			return t, nil
		}
	}
	return t, err
}

// orNothing returns the optional type; an optional type stays as it is.
func orNothing(t typ) typ {
	if t.shape == maybe {
		return t
	}
	return typ{shape: maybe, of: []typ{t}}
}

func (p *typeParser) parseNamed(depth int) (typ, error) {
	p.rest = strings.TrimLeft(p.rest, " ")
	n := 0
	for n < len(p.rest) && (p.rest[n] == '_' || p.rest[n] >= '0' && p.rest[n] <= '9' || p.rest[n] >= 'a' && p.rest[n] <= 'z' ||
		p.rest[n] >= 'A' && p.rest[n] <= 'Z') {
		n++
	}
	name := p.rest[:n]
	p.rest = p.rest[n:]
	words := text.Words(name)
	if words == nil {
		return typ{}, fmt.Errorf("a name is missing")
	}
	var of []typ
	closing := ""
	if p.take("<") {
		closing = ">"
	} else if !strings.HasPrefix(strings.TrimLeft(p.rest, " "), "[]") && p.take("[") {
		closing = "]"
	}
	for closing != "" {
		inner, err := p.parse(depth + 1)
		if err != nil {
			return typ{}, err
		}
		of = append(of, inner)
		if p.take(closing) {
			break
		}
		if !p.take(",") {
			return typ{}, fmt.Errorf("%s is missing", closing)
		}
	}
	return compose(strings.ToLower(name), words, of)
}

// compose returns a type by its name and type parameters.
func compose(name string, words []string, of []typ) (typ, error) {
	any := typ{shape: anything}
	switch generic, isGeneric := generics[name]; {
	case isGeneric && len(of) == 0:
		of = []typ{any}
		fallthrough
	case isGeneric && (len(of) == 1 || generic == dict && len(of) == 2):
		if generic == dict && len(of) == 1 {
			of = []typ{{shape: texts}, of[0]}
		}
		if (generic == dict || generic == set) && of[0].shape != texts && of[0].shape != integer && of[0].shape != boolean {
			return typ{}, fmt.Errorf("only texts, integers and booleans can be keys or in sets")
		}
		if generic == maybe {
			return orNothing(of[0]), nil
		}
		return typ{shape: generic, of: of}, nil
	case len(of) == 1 && (name == "promise" || name == "future" || name == "awaitable"):
		return of[0], nil
	case len(of) > 0:
		return typ{}, fmt.Errorf("a container is list, map, set or optional")
	case name == "void" || name == "none" || name == "null" || name == "undefined" || name == "unit" || name == "never":
		return typ{}, fmt.Errorf("it is nothing: leave the field out")
	}
	if base, known := bases[name]; known {
		return typ{shape: base}, nil
	}
	return typ{shape: named, words: words}, nil
}
