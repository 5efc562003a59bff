package call

import (
	"strconv"
	"strings"
)

// extent is a range of positions in a value: items of a list, members of an object or characters of
// a text. to is exclusive; negative = the end of the value.
type extent struct{ from, to int }

// has reports whether a position is in the extent.
func (e extent) has(i int) bool { return i >= e.from && (e.to < 0 || i < e.to) }

// of returns the characters of a text in the extent.
func (e extent) of(text string) string {
	start, end, i := len(text), len(text), 0
	for at := range text {
		if i == e.from {
			start = at
		}
		if i == e.to {
			end = at
			break
		}
		i++
	}
	return text[start:max(start, end)]
}

// step is a part of a field's path: a name, or a range of the value so far.
type step struct {
	name string
	part *extent // nil for a name
}

// parseField parses a field of include_fields: a dotted path whose names may be followed by ranges,
// such as entries[0:5].value[2000:]. ok is false if a bracket is not a range.
func parseField(field string) (steps []step, ok bool) {
	for name := range strings.SplitSeq(field, ".") {
		name, brackets, ranged := strings.Cut(name, "[")
		steps = append(steps, step{name: name})
		for ranged {
			var inside string
			if inside, brackets, ok = strings.Cut(brackets, "]"); !ok {
				return nil, false
			}
			part, ok := parseRange(inside)
			if !ok {
				return nil, false
			}
			steps = append(steps, step{part: &part})
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

// parseRange parses from:to; both are optional.
func parseRange(text string) (part extent, ok bool) {
	from, to, ok := strings.Cut(text, ":")
	part.to = -1
	if !ok {
		return part, false
	}
	for _, bound := range []struct {
		text string
		at   *int
	}{{from, &part.from}, {to, &part.to}} {
		if bound.text == "" {
			continue
		}
		n, err := strconv.ParseUint(bound.text, 10, 31)
		if err != nil {
			return part, false
		}
		*bound.at = int(n)
	}
	return part, true
}

// plain returns the path of a field without its ranges.
func plain(field string) (path string, ok bool) {
	steps, ok := parseField(field)
	return namesOf(steps), ok
}

// namesOf returns the path of steps without ranges.
func namesOf(steps []step) string {
	var names []string
	for _, s := range steps {
		if s.part == nil {
			names = append(names, s.name)
		}
	}
	return strings.Join(names, ".")
}

// plainPaths returns the paths of fields without their ranges.
func plainPaths(fields []string) []string {
	paths := make([]string, len(fields))
	for i, field := range fields {
		paths[i], _ = plain(field)
	}
	return paths
}
