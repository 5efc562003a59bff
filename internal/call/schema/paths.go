package schema

import (
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
)

// Paths lists the dotted paths of result fields that include_fields
// accepts, each field before its members.
func Paths(results []toolfold.Param) []string {
	var paths []string
	for _, p := range results {
		paths = append(paths, p.Name)
		for _, inner := range Paths(p.Members()) {
			paths = append(paths, p.Name+"."+inner)
		}
	}
	return paths
}

// Declares reports whether a dotted path names a result field, or a member of an object without
// declared members.
func Declares(results []toolfold.Param, path string) bool {
	name, rest, deeper := strings.Cut(path, ".")
	i := slices.IndexFunc(results, func(p toolfold.Param) bool { return p.Name == name })
	if i < 0 {
		return false
	}
	p := results[i]
	for p.Kind == toolfold.KindArray {
		p = *p.Items
	}
	anything := p.Kind == toolfold.KindAny || p.Kind == toolfold.KindObject && len(p.Members()) == 0
	return !deeper || anything || Declares(p.Members(), rest)
}
