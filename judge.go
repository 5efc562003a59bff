package toolfold

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold/internal/jsonx"
	"github.com/toolfold/toolfold/internal/suggest"
)

// MaxProblems is the greatest number of problems that validation reports.
const MaxProblems = 20

// Checker validates objects of one shape. It is safe for concurrent use.
type Checker struct {
	problems func(object map[string]any) []Problem
}

// Problems lists what is wrong with an object, in the order of paths, at most
// [MaxProblems]. Its numbers may be [json.Number].
func (c *Checker) Problems(object map[string]any) []Problem {
	found := c.problems(object)
	found = found[:min(len(found), MaxProblems)]
	slices.SortStableFunc(found, func(a, b Problem) int { return cmp.Compare(a.Path, b.Path) })
	return found
}

// Checker returns what the arguments of a call of this entry must satisfy, the
// action argument left out. Which names a call may have is judged before: the
// checker takes others. A schema written elsewhere is compiled.
func (e *Entry) Checker() (*Checker, error) {
	if e.Action.Input != nil {
		return CompileSchema(e.Title(), e.Action.Input)
	}
	return &Checker{func(object map[string]any) []Problem { return judgeMembers(e.Required, e.Optional, object) }}, nil
}

// CheckFields lists what is wrong with an object that should have the given
// members and no others. All of them are optional; what is inside them is
// checked as declared. Paths are JSON pointers into the object.
func CheckFields(params []Param, object map[string]any) []Problem {
	return CheckObject(Param{Kind: KindObject, Optional: params}, object)
}

// CheckObject lists what is wrong with an object that is declared by p: its
// members, and names that are none of them.
func CheckObject(p Param, object map[string]any) []Problem {
	check := Checker{func(object map[string]any) []Problem {
		return append(judgeMembers(p.Required, p.Optional, object), unknown("", names(Inside(p)), object)...)
	}}
	return check.Problems(object)
}

// judgeMembers lists what is wrong with the declared members of an object.
// Paths are below the object.
func judgeMembers(required, optional []Param, object map[string]any) (found []Problem) {
	for _, p := range required {
		if _, ok := object[p.Name]; !ok {
			found = append(found, Problem{Path: jsonx.Pointer("", p.Name), Kind: ProblemMissing})
		}
	}
	for _, params := range [][]Param{required, optional} {
		for _, p := range params {
			if value, ok := object[p.Name]; ok {
				found = append(found, below(jsonx.Pointer("", p.Name), judge(p, value))...)
			}
		}
	}
	return found
}

// below moves problems to a place.
func below(path string, found []Problem) []Problem {
	for i := range found {
		found[i].Path = path + found[i].Path
	}
	return found
}

// judge lists what is wrong with a value of a parameter. Paths are below the
// value.
func judge(p Param, value any) (found []Problem) {
	if !p.Loose && !holds(p.Kind, value) {
		return []Problem{{Kind: ProblemType, Want: string(p.Kind), Got: jsonx.TypeName(value)}}
	}
	if text, isText := value.(string); len(p.Enum) > 0 && !(isText && slices.Contains(p.Enum, text)) {
		found = append(found, Problem{Kind: ProblemEnum, Allowed: p.Enum, Got: got(value), Suggest: suggest.Nearest(fmt.Sprint(value), p.Enum)})
	}
	switch value := value.(type) {
	case string:
		if known := formats[p.Format]; known != nil && !known(value) {
			found = append(found, Problem{Kind: ProblemFormat, Want: wantedFormat(p.Format, value), Got: got(value)})
		}
		found = append(found, judgeLength(utf8.RuneCountInString(value), p.MinLen, p.MaxLen)...)
	case []any:
		found = append(found, judgeLength(len(value), p.MinItems, p.MaxItems)...)
		for i := 0; p.Items != nil && i < len(value) && len(found) < MaxProblems; i++ {
			found = append(found, below(jsonx.Index("", i), judge(*p.Items, value[i]))...)
		}
	case map[string]any:
		found = append(found, judgeLength(len(value), p.MinItems, p.MaxItems)...)
		found = append(found, judgeObject(p, value)...)
	default:
		n, ok := float(value)
		if ok && (p.Min != nil && n < *p.Min || p.Max != nil && n > *p.Max) {
			found = append(found, Problem{Kind: ProblemRange, Min: p.Min, Max: p.Max, Got: got(value)})
		}
	}
	return found
}

// judgeObject judges what is in an object: alike members, declared ones, or
// none where the object is free.
func judgeObject(p Param, object map[string]any) (found []Problem) {
	if p.Values != nil {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if len(found) < MaxProblems {
				found = append(found, below(jsonx.Pointer("", name), judge(*p.Values, object[name]))...)
			}
		}
		return found
	}
	if p.Kind != KindObject || p.Loose || len(Inside(p)) == 0 {
		return nil
	}
	return append(judgeMembers(p.Required, p.Optional, object), unknown("", names(Inside(p)), object)...)
}

// judgeLength holds a length to bounds, of which zero is none.
func judgeLength(n, least, limit int) []Problem {
	if n >= least && (limit == 0 || n <= limit) {
		return nil
	}
	return []Problem{{Kind: ProblemLength, Min: bound(least), Max: bound(limit), Got: n}}
}

// holds reports whether a decoded value is of a kind.
func holds(kind Kind, value any) bool {
	switch kind {
	case KindString, KindBoolean, KindObject, KindArray, KindNumber:
		return jsonx.TypeName(value) == string(kind)
	case KindInteger:
		return isWhole(value)
	}
	return true
}

// isWhole reports whether a decoded value is a whole number, such as 3, 3.0 and
// 3e2.
func isWhole(value any) bool {
	if n, ok := value.(json.Number); ok && strings.ContainsAny(n.String(), ".eE") {
		exact, ok := new(big.Rat).SetString(n.String()) // refuses exponents beyond a million
		return ok && exact.IsInt()
	}
	n, ok := float(value)
	return ok && n == math.Trunc(n)
}

// unknown lists the members of an object that are none of the known ones.
func unknown(path string, known []string, object map[string]any) []Problem {
	free := slices.DeleteFunc(slices.Sorted(slices.Values(known)), func(name string) bool { // that could have been meant
		_, taken := object[name]
		return taken
	})
	var list []Problem
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(known, name) && len(list) < MaxProblems {
			list = append(list, Problem{Path: jsonx.Pointer(path, name), Kind: ProblemUnknown, Suggest: suggest.Nearest(name, free)})
		}
	}
	return list
}

// formats check the formats that a field can declare.
var formats = map[string]func(string) bool{
	"date":      func(text string) bool { _, err := time.Parse(time.DateOnly, text); return err == nil },
	"date-time": func(text string) bool { _, err := time.Parse(time.RFC3339, text); return err == nil },
	"email":     func(text string) bool { a, err := mail.ParseAddress(text); return err == nil && a.Address == text },
	"ipv4":      func(text string) bool { a, err := netip.ParseAddr(text); return err == nil && a.Is4() },
	"ipv6": func(text string) bool {
		a, err := netip.ParseAddr(text)
		return err == nil && a.Is6() && a.Zone() == ""
	},
	"uri":  func(text string) bool { u, err := url.Parse(text); return err == nil && u.IsAbs() },
	"uuid": func(text string) bool { return len(text) == 36 && uuid.Validate(text) == nil },
}

// wantedFormat says what is wanted in place of a text that is not of a format.
func wantedFormat(format, text string) string {
	if format != "date-time" {
		return format
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return "date-time with its zone, such as " + t.Format(time.RFC3339)
		}
	}
	return "date-time such as 2026-01-31T12:00:00Z"
}

// float returns a number of a decoded value; ok is false where it is none.
func float(value any) (n float64, ok bool) {
	switch value := value.(type) {
	case json.Number:
		n, _ = value.Float64() // infinite beyond the range
		return n, true
	case float64:
		return value, true
	case int:
		return float64(value), true
	case int64:
		return float64(value), true
	case uint64:
		return float64(value), true
	}
	return 0, false
}
