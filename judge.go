package toolfold

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// Check lists the problems of an object that should have only the members of p, sorted by path, at
// most 20. Paths are JSON pointers into the object. Numbers may be [json.Number].
func (p Param) Check(object map[string]any) []Problem {
	return inOrder(append(judgeMembers(p.Required, p.Optional, object), unknown("", names(p.Members()), object)...))
}

// CheckMembers is Check without unknown names, for an object whose names were checked before.
func (p Param) CheckMembers(object map[string]any) []Problem {
	return inOrder(judgeMembers(p.Required, p.Optional, object))
}

func inOrder(found []Problem) []Problem {
	found = found[:min(len(found), judge.MaxProblems)]
	slices.SortStableFunc(found, func(a, b Problem) int { return cmp.Compare(a.Path, b.Path) })
	return found
}

// judgeMembers lists the problems of the declared members of an object. Paths are relative to the
// object.
func judgeMembers(required, optional []Param, object map[string]any) (found []Problem) {
	for _, p := range required {
		if _, ok := object[p.Name]; !ok {
			found = append(found, Problem{Path: jsonx.Pointer("", p.Name), Kind: ProblemMissing})
		}
	}
	for _, params := range [][]Param{required, optional} {
		for _, p := range params {
			if value, ok := object[p.Name]; ok {
				found = append(found, below(jsonx.Pointer("", p.Name), judgeValue(p, value))...)
			}
		}
	}
	return found
}

// below prefixes the paths of problems.
func below(path string, found []Problem) []Problem {
	for i := range found {
		found[i].Path = path + found[i].Path
	}
	return found
}

// judgeValue lists the problems of a value of a parameter. Paths are relative to the value.
func judgeValue(p Param, value any) (found []Problem) {
	if !p.Loose && !holds(p.Kind, value) {
		if judge.Formats[p.Format] != nil {
			return []Problem{{Kind: ProblemFormat, Want: judge.WantedFormat(p.Format, ""), Got: jsonx.TypeName(value)}}
		}
		return []Problem{{Kind: ProblemType, Want: string(p.Kind), Got: jsonx.TypeName(value), Allowed: p.Enum, Min: p.Min, Max: p.Max}}
	}
	if text, isText := value.(string); len(p.Enum) > 0 && !(isText && slices.Contains(p.Enum, text)) {
		near := suggest.Value(fmt.Sprint(value), p.Enum)
		found = append(found, Problem{Kind: ProblemEnum, Allowed: p.Enum, Got: judge.Got(value), Suggest: near})
	}
	switch value := value.(type) {
	case string:
		if known := judge.Formats[p.Format]; known != nil && !known(value) {
			found = append(found, Problem{Kind: ProblemFormat, Want: judge.WantedFormat(p.Format, value), Got: judge.Got(value)})
		}
		found = append(found, judgeLength(utf8.RuneCountInString(value), p.MinLen, p.MaxLen)...)
	case []any:
		found = append(found, judgeLength(len(value), p.MinItems, p.MaxItems)...)
		for i := 0; p.Items != nil && i < len(value) && len(found) < judge.MaxProblems; i++ {
			found = append(found, below(jsonx.Index("", i), judgeValue(*p.Items, value[i]))...)
		}
	case map[string]any:
		found = append(found, judgeLength(len(value), p.MinItems, p.MaxItems)...)
		found = append(found, judgeObject(p, value)...)
	default:
		n, ok := judge.Float(value)
		if ok && (p.Min != nil && n < *p.Min || p.Max != nil && n > *p.Max) {
			found = append(found, Problem{Kind: ProblemRange, Min: p.Min, Max: p.Max, Got: judge.Got(value)})
		}
	}
	return found
}

// judgeObject lists the problems of an object's members, declared in Values or by name. It accepts
// all members if neither is declared.
func judgeObject(p Param, object map[string]any) (found []Problem) {
	if p.Values != nil {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if len(found) < judge.MaxProblems {
				found = append(found, below(jsonx.Pointer("", name), judgeValue(*p.Values, object[name]))...)
			}
		}
		return found
	}
	if p.Kind != KindObject || p.Loose || len(p.Members()) == 0 {
		return nil
	}
	return append(judgeMembers(p.Required, p.Optional, object), unknown("", names(p.Members()), object)...)
}

// judgeLength compares a length with its limits; 0 = no limit.
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
		exact, ok := new(big.Rat).SetString(n.String()) // fails for exponents beyond a million
		return ok && exact.IsInt()
	}
	n, ok := judge.Float(value)
	return ok && n == math.Trunc(n)
}

// unknown lists the members of an object that are not known.
func unknown(path string, known []string, object map[string]any) (list []Problem) {
	for name, near := range suggest.Unknown(known, object) {
		if len(list) < judge.MaxProblems {
			list = append(list, Problem{Path: jsonx.Pointer(path, name), Kind: ProblemUnknown, Suggest: near})
		}
	}
	return list
}

// names lists the names of params.
func names(params []Param) []string {
	list := make([]string, len(params))
	for i, p := range params {
		list[i] = p.Name
	}
	return list
}
