// Package callctx has the values that accompany a call in its context, such as its client and the
// limit of its answer. It also has the names of the arguments that all calls accept, and the result
// that forwards to another call.
package callctx

import "context"

type key[T any] struct{}

// With returns a context with v, in place of the T in ctx.
func With[T any](ctx context.Context, v T) context.Context {
	return context.WithValue(ctx, key[T]{}, v)
}

// Of returns the T in ctx, or the zero T.
func Of[T any](ctx context.Context) T {
	v, _ := ctx.Value(key[T]{}).(T)
	return v
}
