package toolfold

import (
	"context"

	"github.com/toolfold/toolfold/internal/call/callctx"
)

// Progress is the state of long work. Done grows with every report and reaches
// Total at the end; Total stays the same.
type Progress struct {
	Done    float64 // may count running parts partially
	Total   float64 // zero = unknown
	Message string  // "draft: started"; may be empty
}

// Report reports progress to the client that made the call, if it asked for progress. Reports of
// one call must not be concurrent.
func Report(ctx context.Context, p Progress) {
	if report := callctx.Of[func(Progress)](ctx); report != nil {
		report(p)
	}
}
