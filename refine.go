package toolfold

// Refinement changes what one action says of a field: its default, its
// bounds, a subset of its values. The meaning stays the field's.
type Refinement func(*Param)

func refine(p Param, refinements []Refinement) Field {
	for _, r := range refinements {
		r(&p)
	}
	return p
}

// With returns the parameter refined further.
func (p Param) With(r ...Refinement) Field { return refine(p, r) }

// Default is the value the server puts in when the parameter is absent.
func Default(value any) Refinement {
	return func(p *Param) { p.Default = value }
}

// Min is the least allowed number.
func Min(n float64) Refinement {
	return func(p *Param) { p.Min = new(n) }
}

// Max is the greatest allowed number.
func Max(n float64) Refinement {
	return func(p *Param) { p.Max = new(n) }
}

// MinLen is the least number of characters.
func MinLen(n int) Refinement {
	return func(p *Param) { p.MinLen = n }
}

// MaxLen is the greatest number of characters.
func MaxLen(n int) Refinement {
	return func(p *Param) { p.MaxLen = n }
}

// MaxItems is the greatest number of items of a list, or of members of a [Map].
func MaxItems(n int) Refinement {
	return func(p *Param) { p.MaxItems = n }
}

// OneOf narrows the allowed values.
func OneOf(values ...string) Refinement {
	return func(p *Param) { p.Enum = values }
}

// Many lets the action take several values of the field: it becomes an array
// of what it was. A single value is taken as a list of one.
func Many() Refinement {
	return func(p *Param) {
		item := *p
		*p = Param{Name: p.Name, Doc: p.Doc, Kind: KindArray, Unclear: p.Unclear, Items: &item}
	}
}

// AtMost is the greatest number of items of a list that had no bound in the
// legacy tool: its listing does not show it.
func AtMost(items int) Refinement {
	return func(p *Param) { p.MaxItems, p.Unlisted = items, true }
}

// InsteadOf makes the refusal of a parameter of sibling actions name this one.
func InsteadOf(sibling string) Refinement {
	return func(p *Param) { p.InsteadOf = sibling }
}

// Added marks a parameter that the legacy tool did not have.
func Added() Refinement {
	return func(p *Param) { p.Added = true }
}
