package memory

import "context"

// WithFiles returns an action as clients call it.
func WithFiles[In, Out any](s *Service, do func(*Service, context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) { return withFiles(do)(s, ctx, in) }
}
