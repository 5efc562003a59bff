package tools

import "context"

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
