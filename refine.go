package toolfold

// Refinement changes a field for one action: its default, its bounds, a subset of its values. The
// meaning of the field stays the same.
type Refinement func(*Param)

func refine(p Param, refinements []Refinement) Field {
	for _, r := range refinements {
		r(&p)
	}
	return p
}

// With returns the parameter refined further.
func (p Param) With(r ...Refinement) Field { return refine(p, r) }

// Default is the value that the server uses if the parameter is absent.
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

// Many lets the action take several values of the field: it becomes an array. A single value is
// accepted as a list of one.
func Many() Refinement {
	return func(p *Param) {
		item := *p
		*p = Param{Name: p.Name, Doc: p.Doc, Kind: KindArray, Unclear: p.Unclear, Items: &item}
	}
}

// AtMost is the greatest number of items of a list that had no limit in the legacy tool. The legacy
// listing does not show it.
func AtMost(items int) Refinement {
	return func(p *Param) { p.MaxItems, p.Unlisted = items, true }
}

// InsteadOf lets the error about a sibling action's parameter suggest this one.
func InsteadOf(sibling string) Refinement {
	return func(p *Param) { p.InsteadOf = sibling }
}

// Added marks a parameter that the legacy tool did not have.
func Added() Refinement {
	return func(p *Param) { p.Added = true }
}
