package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/trace"
)

// newestTraces is how many traces are read.
const newestTraces = 1000

// tracedCalls returns the calls of clients in the newest traces of the store. It does not create a
// missing store.
func tracedCalls(ctx context.Context, o *settings.Options) (calls []doctor.Call, err error) {
	if !storage.MayHold(o.Store) {
		return nil, nil
	}
	store := storage.Lazy(o.Store, o.StoreOptions()...)
	defer store.Close()
	db, err := store.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	traces := db.Trace()
	var after *toolfold.Position
	for seen := 0; seen < newestTraces; {
		page, err := traces.List(ctx, trace.Query{Limit: 100, After: after})
		if err != nil {
			return nil, fmt.Errorf("listing traces: %w", err)
		}
		for _, t := range page.Traces {
			spans, _, err := traces.Spans(ctx, t.ID)
			if err != nil {
				return nil, fmt.Errorf("reading trace %s: %w", t.ID, err)
			}
			for _, span := range spans {
				if span.Root && span.Kind == trace.Call && !span.End.IsZero() {
					action, _, _ := strings.Cut(span.Label, " ") // the rest names what was run
					calls = append(calls, doctor.Call{Action: action, Arguments: span.Arguments.Tokens, Result: span.Result.Tokens})
				}
			}
		}
		if seen += len(page.Traces); len(page.Traces) < 100 {
			break
		}
		last := page.Traces[len(page.Traces)-1]
		after = &toolfold.Position{CreatedAt: last.Start, ID: last.ID}
	}
	return calls, nil
}
