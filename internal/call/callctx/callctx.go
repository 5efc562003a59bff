// Package callctx has what goes along with a call: the values in its context, among them the
// client that made it and what its answer may be, the names of the arguments that all calls
// take, and the result that stands for another call.
package callctx

import "context"

type key[T any] struct{}

// With returns a context that carries v, in place of the T that ctx carries.
func With[T any](ctx context.Context, v T) context.Context {
	return context.WithValue(ctx, key[T]{}, v)
}

// Of returns the T that ctx carries; the zero T if it carries none.
func Of[T any](ctx context.Context) T {
	v, _ := ctx.Value(key[T]{}).(T)
	return v
}
