package trace_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/toolfold/toolfold/tools/trace"
)

// queryStore is a store that keeps the last query.
type queryStore struct {
	trace.Store
	query trace.Query
}

// List implements [trace.Store].
func (a *queryStore) List(_ context.Context, q trace.Query) (trace.Page, error) {
	a.query = q
	return trace.Page{}, nil
}

// A duration that is longer than any picks no trace, instead of all.
func TestLongestDuration(t *testing.T) {
	t.Parallel()
	store := &queryStore{}
	service := trace.New(store, nil, time.Now)
	for given, want := range map[int]time.Duration{
		5: 5 * time.Millisecond, 10_000_000_000_000: math.MaxInt64 / time.Millisecond * time.Millisecond,
		math.MaxInt: math.MaxInt64 / time.Millisecond * time.Millisecond,
	} {
		if _, err := service.List(t.Context(), trace.ListIn{MinDurationMs: given}); err != nil || store.query.MinDuration != want {
			t.Errorf("%d ms ask for %v, want %v: %v", given, store.query.MinDuration, want, err)
		}
	}
}
