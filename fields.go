package toolfold

import (
	"context"
	"slices"
	"strings"
)

type fieldsKey struct{}

// WithFields returns a context that carries the result fields that a call
// keeps, as include_fields names them.
func WithFields(ctx context.Context, fields []string) context.Context {
	if len(fields) == 0 {
		return ctx
	}
	return context.WithValue(ctx, fieldsKey{}, fields)
}

// WantedFields returns the result fields that the call named in
// include_fields, nil where it named none. Actions need it only for members
// that are left out unless they are asked for.
func WantedFields(ctx context.Context) []string {
	fields, _ := ctx.Value(fieldsKey{}).([]string)
	return fields
}

// Wants reports whether the call named a result field, or something in it.
func Wants(ctx context.Context, field string) bool {
	return slices.ContainsFunc(WantedFields(ctx), func(named string) bool {
		path, _ := PlainField(named)
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
	return Cut(text, briefLength)
}
