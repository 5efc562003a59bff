package telemetry

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"
)

// ids generates trace ids that grow with time, so that a store appends to its index instead of
// writing all over it. The last eight bytes and span ids are random.
type ids struct{}

// NewIDs implements [sdk.IDGenerator].
func (g ids) NewIDs(ctx context.Context) (id oteltrace.TraceID, span oteltrace.SpanID) {
	binary.BigEndian.PutUint64(id[:8], uint64(time.Now().UnixNano()))
	binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements [sdk.IDGenerator].
func (ids) NewSpanID(context.Context, oteltrace.TraceID) (id oteltrace.SpanID) {
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|1) // zero is not a valid id
	return id
}
