// Package fields selects the fields of results, as callers name them in
// include_fields.
package fields

import (
	"context"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/carried"
	"github.com/toolfold/toolfold/internal/shorten"
)

// wanted are the fields that a call names.
type wanted []string

// With returns a context that carries the result fields that a call keeps, as
// include_fields names them; none are all.
func With(ctx context.Context, fields []string) context.Context {
	if len(fields) == 0 {
		return ctx
	}
	return carried.With(ctx, wanted(fields))
}

// Wanted returns the result fields that the call named in include_fields, nil
// where it named none. Actions need it only for members that are left out unless
// they are asked for.
func Wanted(ctx context.Context) []string { return carried.Of[wanted](ctx) }

// Wants reports whether the call named a result field, or something in it.
func Wants(ctx context.Context, field string) bool {
	return slices.ContainsFunc(Wanted(ctx), func(named string) bool {
		path, _ := Plain(named)
		return path == field || strings.HasPrefix(path, field+".")
	})
}

// briefLength is the most characters of a long text in a list.
const briefLength = 160

// Brief returns the beginning of a text for a list, marked where it is cut, or
// the whole text where the call named its field.
func Brief(ctx context.Context, field, text string) string {
	if Wants(ctx, field) {
		return text
	}
	return shorten.To(text, briefLength)
}

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

// Declares reports whether a dotted path leads to a result field, or into an
// object whose members are not declared.
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
