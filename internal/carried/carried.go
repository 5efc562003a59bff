// Package carried passes values along with a call, one of each type.
package carried

import "context"

type key[T any] struct{}

// With returns a context that carries v, in place of the T that ctx carries.
func With[T any](ctx context.Context, v T) context.Context {
	return context.WithValue(ctx, key[T]{}, v)
}

// Of returns the T that ctx carries; the zero T where it carries none.
func Of[T any](ctx context.Context) T {
	v, _ := ctx.Value(key[T]{}).(T)
	return v
}
