package toolfold

import "slices"

// Kind is the JSON type of a [Param].
type Kind string

// The kinds. KindAny is any JSON value, given as itself or as its JSON text.
const (
	KindString  Kind = "string"
	KindInteger Kind = "integer"
	KindNumber  Kind = "number"
	KindBoolean Kind = "boolean"
	KindObject  Kind = "object"
	KindArray   Kind = "array"
	KindAny     Kind = "any"
)

// Param is a field as plain data: every typed literal below converts to it. Zero and nil bounds
// mean no bound.
type Param struct {
	Name string
	Doc  string // one sentence for people and models
	Kind Kind

	// Forms are the alternatives of a parameter that was declared elsewhere, whose Kind is any; nil
	// if there are no alternatives. A form of Kind any stands for omitted forms.
	Forms []Param

	Format             string   // of a text: date, date-time, email, ipv4, ipv6, uri or uuid; empty = any
	Enum               []string // for parameters declared elsewhere also numbers and booleans, as JSON
	MinLen, MaxLen     int      // characters
	Min, Max           *float64
	MinItems, MaxItems int
	Default            any // set on the server if the parameter is absent; nil = no default

	Items *Param // of an array

	// Required and Optional are the known members of an object. Without either, it takes any
	// members.
	Required, Optional []Param

	// Values declares all other members of an object. Nil = any values, for an object without known
	// members.
	Values *Param

	// Loose members are listed but not enforced: the service checks them one by one, so that one
	// bad item does not reject the good ones.
	Loose bool

	// Unclear reports that the name alone is ambiguous, so that even a terse listing has Doc.
	Unclear bool

	// Unlisted limits on the number of items apply also under a legacy name, whose listing omits
	// them: the legacy tool had no limit.
	Unlisted bool

	// OldEnum lists the values of the legacy tool, if it had more than Enum. Under a legacy name,
	// values that are only in OldEnum count as absent.
	OldEnum []string

	// InsteadOf is a parameter of a sibling action that callers use by mistake for this one. The
	// error about it suggests this one. Empty = no such parameter.
	InsteadOf string

	// Also lists other names under which calls may give the parameter. Lists do not show them, descriptions do.
	Also []string

	// OfText is the object that a text stands for in place of this one: the text is its member that is nil
	// here. Nil for an object that no text stands for.
	OfText map[string]any

	// Omitted members of a result are absent if empty, and Nullable members are null if empty. Of
	// parameters, only those declared elsewhere may be Nullable: they take null as a value, and
	// only null if Kind is any and there are no Forms.
	Omitted, Nullable bool

	// Added marks a parameter that the legacy tool did not have: the legacy
	// surface accepts it without listing it.
	Added bool
}

// Obsolete reports whether only the legacy tool took a value.
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
	Enum, OldEnum  []string // OldEnum as in [Param]
	Format         string   // date, date-time, email, ipv4, ipv6, uri or uuid, checked; empty = any
	Unclear        bool
	Also           []string // as of [Param]
}

// Param implements [Field].
func (f String) Param() Param {
	return Param{
		Name: f.Name, Doc: f.Doc, Kind: KindString, Unclear: f.Unclear,
		MinLen: f.MinLen, MaxLen: f.MaxLen, Enum: f.Enum, OldEnum: f.OldEnum, Format: f.Format, Also: f.Also,
	}
}

// With returns the field refined for one action.
func (f String) With(r ...Refinement) Field { return refine(f.Param(), r) }

// UUID declares an id made by the server.
func UUID(name, doc string) String {
	return String{Name: name, Doc: doc, Format: "uuid"}
}

// Time declares a point in time, RFC 3339.
func Time(name, doc string) String {
	return String{Name: name, Doc: doc, Format: "date-time"}
}

// Int declares a whole number. A zero Min or Max is no bound; for a bound of zero refine with
// [Min].
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

// With returns the field refined for one action.
func (f Int) With(r ...Refinement) Field { return refine(f.Param(), r) }

func bound(n int) *float64 {
	if n == 0 {
		return nil
	}
	return new(float64(n))
}

// Number declares a number. Set bounds by refinements.
type Number struct {
	Name, Doc string
	Unclear   bool
}

// Param implements [Field].
func (f Number) Param() Param {
	return Param{Name: f.Name, Doc: f.Doc, Kind: KindNumber, Unclear: f.Unclear}
}

// With returns the field refined for one action.
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

// With returns the field refined for one action.
func (f Bool) With(r ...Refinement) Field { return refine(f.Param(), r) }

// Object declares a JSON object. Without Required and Optional it takes any members. With them,
// other members are rejected unless it is Loose.
type Object struct {
	Name, Doc          string
	Required, Optional Fields
	Loose              bool
	Unclear            bool
	OfText             map[string]any // as of [Param]
}

// Param implements [Field].
func (f Object) Param() Param {
	return Param{
		Name: f.Name, Doc: f.Doc, Kind: KindObject, Unclear: f.Unclear, Loose: f.Loose,
		Required: f.Required.Params(), Optional: f.Optional.Params(), OfText: f.OfText,
	}
}

// With returns the field refined for one action.
func (f Object) With(r ...Refinement) Field { return refine(f.Param(), r) }

// Map declares an object whose members have names chosen by the caller and values of one kind. The
// name and text of Of are not used.
type Map struct {
	Name, Doc string
	Of        Field
	Unclear   bool
}

// Param implements [Field].
func (f Map) Param() Param {
	return Param{Name: f.Name, Doc: f.Doc, Kind: KindObject, Unclear: f.Unclear, Values: new(f.Of.Param())}
}

// With returns the field refined for one action.
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

// With returns the field refined for one action.
func (f List) With(r ...Refinement) Field { return refine(f.Param(), r) }

// Strings declares an array of texts.
func Strings(name, doc string) List {
	return List{Name: name, Doc: doc, Of: String{}}
}

// Any declares any JSON value.
type Any struct {
	Name, Doc string
	Unclear   bool
}

// Param implements [Field].
func (f Any) Param() Param {
	return Param{Name: f.Name, Doc: f.Doc, Kind: KindAny, Unclear: f.Unclear}
}

// With returns the field refined for one action.
func (f Any) With(r ...Refinement) Field { return refine(f.Param(), r) }
