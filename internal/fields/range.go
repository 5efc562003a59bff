package fields

import (
	"strconv"
	"strings"
)

// Range is a part of a value by position: items of a list, members of an object
// or characters of a text, from From up to To. A negative To is the end.
type Range struct{ From, To int }

// Has reports whether a position is in the range.
func (r Range) Has(i int) bool { return i >= r.From && (r.To < 0 || i < r.To) }

// Of returns the characters of a text that are in the range.
func (r Range) Of(text string) string {
	start, end, i := len(text), len(text), 0
	for at := range text {
		if i == r.From {
			start = at
		}
		if i == r.To {
			end = at
			break
		}
		i++
	}
	return text[start:max(start, end)]
}

// Step is a part of a field's path: a name, or a range of what the steps before
// it lead to.
type Step struct {
	Name  string
	Range *Range // nil for a name
}

// Parse reads a result field as include_fields names it: a dotted path
// whose names may be followed by ranges, entries[0:5].value[2000:]. It is false
// where the brackets are not those of a range.
func Parse(field string) (steps []Step, ok bool) {
	for name := range strings.SplitSeq(field, ".") {
		name, brackets, ranged := strings.Cut(name, "[")
		steps = append(steps, Step{Name: name})
		for ranged {
			var inside string
			if inside, brackets, ok = strings.Cut(brackets, "]"); !ok {
				return nil, false
			}
			r, ok := parseRange(inside)
			if !ok {
				return nil, false
			}
			steps = append(steps, Step{Range: &r})
			if brackets == "" {
				break
			}
			if brackets, ok = strings.CutPrefix(brackets, "["); !ok {
				return nil, false
			}
		}
	}
	return steps, true
}

// parseRange reads from:to, of which either may be left out.
func parseRange(text string) (Range, bool) {
	from, to, ok := strings.Cut(text, ":")
	r := Range{To: -1}
	if !ok {
		return r, false
	}
	for _, bound := range []struct {
		text string
		at   *int
	}{{from, &r.From}, {to, &r.To}} {
		if bound.text == "" {
			continue
		}
		n, err := strconv.ParseUint(bound.text, 10, 31)
		if err != nil {
			return r, false
		}
		*bound.at = int(n)
	}
	return r, true
}

// Plain returns the path of a field without its ranges.
func Plain(field string) (path string, ok bool) {
	steps, ok := Parse(field)
	var names []string
	for _, s := range steps {
		if s.Range == nil {
			names = append(names, s.Name)
		}
	}
	return strings.Join(names, "."), ok
}
