package queue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/tools/task"
)

// Every run of a task is a span of its own trace, around its calls.
func TestSpans(t *testing.T) {
	t.Parallel()
	e := newEnv(t, "memory:", &calls{})
	spans := tracetest.NewInMemoryExporter()
	var runs atomic.Int32
	var within [2]trace.SpanContext
	e.on("stubborn", func(ctx context.Context, _ json.RawMessage) toolfold.Answer {
		n := runs.Add(1)
		within[n-1] = trace.SpanContextFromContext(ctx)
		if n == 1 {
			return toolfold.Errorf("BROKEN", "not yet").Answer()
		}
		return answer(`{}`)
	})
	stop := e.work(queue.Options{Tracer: sdk.NewTracerProvider(sdk.WithSyncer(spans))})
	id := e.submit("stubborn", task.SubmitIn{Type: task.Retry})
	e.await(id, task.Completed)
	stop()
	var got []string
	for i, s := range spans.GetSpans() {
		if s.Parent.IsValid() || !s.SpanContext.Equal(within[i]) {
			t.Errorf("span %d is %v within %v, its call is within %v", i, s.SpanContext, s.Parent, within[i])
		}
		line := s.Name + " " + s.Status.Code.String() + " " + s.Status.Description
		for _, kv := range s.Attributes {
			line += fmt.Sprintf(" %s=%s", kv.Key, kv.Value.String())
		}
		got = append(got, line)
	}
	want := []string{
		"task stubborn Error not yet toolfold.task.id=" + id + " error.type=BROKEN",
		"task stubborn Unset  toolfold.task.id=" + id + " toolfold.attempts=2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
