package toolfold

import "slices"

// Kind is the JSON type of a [Param].
type Kind string

// The kinds. Any is a JSON value of whatever type, and is given as itself or as
// its JSON text.
const (
	KindString  Kind = "string"
	KindInteger Kind = "integer"
	KindNumber  Kind = "number"
	KindBoolean Kind = "boolean"
	KindObject  Kind = "object"
	KindArray   Kind = "array"
	KindAny     Kind = "any"
)

// Param is a field as plain data: what every typed literal below comes down
// to. Zero bounds and nil pointers mean that there is no such bound.
type Param struct {
	Name string
	Doc  string // one sentence for people and models
	Kind Kind

	// Forms are the alternatives of a parameter that was declared elsewhere, whose Kind is
	// any; nil for a parameter of one form. A form that is any stands for all that are left out.
	Forms []Param

	Format             string   // of a text: date, date-time, email, ipv4, ipv6, uri or uuid; empty = any
	Enum               []string // of a parameter that was declared elsewhere also numbers and booleans, as JSON
	MinLen, MaxLen     int      // characters
	Min, Max           *float64
	MinItems, MaxItems int
	Default            any // applied on the server when absent; nil = none

	Items *Param // of an array

	// Required and Optional are the known members of an object. An object
	// with neither takes any members.
	Required, Optional []Param

	// Values declares every other member of an object. Nil = anything, for an
	// object without known members.
	Values *Param

	// Loose members are listed but not enforced: the service judges them one
	// by one, so that one bad item does not refuse the good ones.
	Loose bool

	// Unclear says that the name alone does not tell what is meant, so that
	// even a terse listing carries Doc.
	Unclear bool

	// Unlisted bounds on the number of items hold under a legacy name too, but
	// its listing does not show them: the legacy tool had none.
	Unlisted bool

	// OldEnum lists the values that the legacy tool took, where these are more than
	// Enum: under a legacy name one of the others counts as none.
	OldEnum []string

	// InsteadOf is the parameter of a sibling action that callers give where
	// they mean this one: its refusal names this one. Empty for none.
	InsteadOf string

	// Omitted members of a result are left out where they are empty, and Nullable ones
	// are null there. Parameters are neither, except those declared elsewhere: a Nullable one
	// takes null as a value of its own, and only null if its Kind is any and it has no Forms.
	Omitted, Nullable bool

	// Added marks a parameter that the legacy tool did not have: the legacy
	// surface accepts it without listing it.
	Added bool
}

// Obsolete reports whether a value is one that only the legacy tool took.
func (p Param) Obsolete(value string) bool {
	return slices.Contains(p.OldEnum, value) && !slices.Contains(p.Enum, value)
}

// Field is one noun of a family's vocabulary.
type Field interface {
	// Param returns the field as data.
	Param() Param
}

// Fields is an ordered list of fields.
type Fields []Field

// Params returns the fields as data, in order.
func (fs Fields) Params() []Param {
	params := make([]Param, len(fs))
	for i, f := range fs {
		params[i] = f.Param()
	}
	return params
}

// Param implements [Field].
func (p Param) Param() Param { return p }

// String declares a text.
type String struct {
	Name, Doc      string
	MinLen, MaxLen int      // characters; zero = no bound
	Enum, OldEnum  []string // OldEnum as of [Param]
	Format         string   // date, date-time, email, ipv4, ipv6, uri or uuid, checked; empty = any
	Unclear        bool
}

// Param implements [Field].
func (f String) Param() Param {
	return Param{
		Name: f.Name, Doc: f.Doc, Kind: KindString, Unclear: f.Unclear,
		MinLen: f.MinLen, MaxLen: f.MaxLen, Enum: f.Enum, OldEnum: f.OldEnum, Format: f.Format,
	}
}

// With returns the field as one action refines it.
func (f String) With(r ...Refinement) Field { return refine(f.Param(), r) }

// UUID declares an id that the server made.
func UUID(name, doc string) String {
	return String{Name: name, Doc: doc, Format: "uuid"}
}

// Time declares a point in time, RFC 3339.
func Time(name, doc string) String {
	return String{Name: name, Doc: doc, Format: "date-time"}
}

// Int declares a whole number. A zero Min or Max is no bound; refine with
// [Min] where the bound itself is zero.
type Int struct {
	Name, Doc string
	Min, Max  int
	Unclear   bool
}

// Param implements [Field].
func (f Int) Param() Param {
	return Param{
		Name: f.Name, Doc: f.Doc, Kind: KindInteger, Unclear: f.Unclear,
		Min: bound(f.Min), Max: bound(f.Max),
	}
}

// With returns the field as one action refines it.
func (f Int) With(r ...Refinement) Field { return refine(f.Param(), r) }

func bound(n int) *float64 {
	if n == 0 {
		return nil
	}
	return new(float64(n))
}

// Number declares a number. Bounds are refinements.
type Number struct {
	Name, Doc string
	Unclear   bool
}

// Param implements [Field].
func (f Number) Param() Param {
	return Param{Name: f.Name, Doc: f.Doc, Kind: KindNumber, Unclear: f.Unclear}
}

// With returns the field as one action refines it.
func (f Number) With(r ...Refinement) Field { return refine(f.Param(), r) }

// Bool declares a yes or no.
type Bool struct {
	Name, Doc string
	Unclear   bool
}

// Param implements [Field].
func (f Bool) Param() Param {
	return Param{Name: f.Name, Doc: f.Doc, Kind: KindBoolean, Unclear: f.Unclear}
}

// With returns the field as one action refines it.
func (f Bool) With(r ...Refinement) Field { return refine(f.Param(), r) }

// Object declares a JSON object. Without Required and Optional it takes any
// members; with them, others are refused unless it is Loose.
type Object struct {
	Name, Doc          string
	Required, Optional Fields
	Loose              bool
	Unclear            bool
}

// Param implements [Field].
func (f Object) Param() Param {
	return Param{
		Name: f.Name, Doc: f.Doc, Kind: KindObject, Unclear: f.Unclear, Loose: f.Loose,
		Required: f.Required.Params(), Optional: f.Optional.Params(),
	}
}

// With returns the field as one action refines it.
func (f Object) With(r ...Refinement) Field { return refine(f.Param(), r) }

// Map declares an object whose members have names of the caller's and are all
// alike. The name and text of Of do not matter.
type Map struct {
	Name, Doc string
	Of        Field
	Unclear   bool
}

// Param implements [Field].
func (f Map) Param() Param {
	return Param{Name: f.Name, Doc: f.Doc, Kind: KindObject, Unclear: f.Unclear, Values: new(f.Of.Param())}
}

// With returns the field as one action refines it.
func (f Map) With(r ...Refinement) Field { return refine(f.Param(), r) }

// List declares an array. Of declares its items; the name and text of Of are not
// used.
type List struct {
	Name, Doc          string
	Of                 Field
	MinItems, MaxItems int // zero = no bound
	Unclear            bool
}

// Param implements [Field].
func (f List) Param() Param {
	return Param{
		Name: f.Name, Doc: f.Doc, Kind: KindArray, Unclear: f.Unclear,
		Items: new(f.Of.Param()), MinItems: f.MinItems, MaxItems: f.MaxItems,
	}
}

// With returns the field as one action refines it.
func (f List) With(r ...Refinement) Field { return refine(f.Param(), r) }

// Strings declares an array of texts.
func Strings(name, doc string) List {
	return List{Name: name, Doc: doc, Of: String{}}
}

// Any declares a JSON value of whatever type.
type Any struct {
	Name, Doc string
	Unclear   bool
}

// Param implements [Field].
func (f Any) Param() Param {
	return Param{Name: f.Name, Doc: f.Doc, Kind: KindAny, Unclear: f.Unclear}
}

// With returns the field as one action refines it.
func (f Any) With(r ...Refinement) Field { return refine(f.Param(), r) }
