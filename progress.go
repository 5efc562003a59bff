package toolfold

import "context"

// Progress is the state of long work. Done grows with every report and reaches
// Total at the end; Total stays the same.
type Progress struct {
	Done    float64 // what runs counts in part
	Total   float64
	Message string // "draft: started"; may be empty
}

type progressKey struct{}

// WithProgress passes what runs under the context reports to f. Calls of f come
// one at a time; f must not block for long.
func WithProgress(ctx context.Context, f func(Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, f)
}

// Report reports progress to the client that made the call, if it asked for it.
// Reports of one call must not be sent at the same time.
func Report(ctx context.Context, p Progress) {
	if report, ok := ctx.Value(progressKey{}).(func(Progress)); ok {
		report(p)
	}
}
