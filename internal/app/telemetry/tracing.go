// Package telemetry records a span for every call, run, step and task. It stores them, and also
// exports them if the environment names an OTLP endpoint. It is the only importer of the
// OpenTelemetry SDK.
//
// Callers never wait for the recording. Ended spans are stored in batches about a second later, at
// a rate that costs a few hundredths of a processor. If more arrive for longer, spans are dropped
// and counted: first those of successful calls, which are frequent and tell least. Long spans are
// stored as running, and their process reports while they run: spans of a killed process count as
// interrupted. Calls alone do not open a store; their spans wait for it.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/audit"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/system/clock"
	"github.com/toolfold/toolfold/internal/text/redact"
	"github.com/toolfold/toolfold/tools/trace"
)

const (
	flushAfter   = time.Second            // between a span's end and storing it
	flushEach    = 250 * time.Millisecond // between full batches
	maxBatch     = 1024                   // spans
	maxPending   = 8192                   // ended spans that are not stored
	maxCalls     = maxPending / 2         // above it, successful calls that run nothing are dropped
	maxOpen      = 8192                   // tracked running spans
	maxAnswers   = 16 << 20               // bytes of answers that are not stored
	maxAnswer    = 1 << 20                // bytes of one answer
	trimEach     = time.Minute
	tellEach     = time.Minute // between log messages about dropped spans
	trimAt       = 50_000      // spans stored since the last trim
	storeWithin  = 20 * time.Second
	exportWithin = time.Second // on Close
)

// scopeName is the instrumentation scope of call spans. It stays the same if the package moves.
const scopeName = "github.com/toolfold/toolfold/internal/telemetry"

// Options configure tracing.
type Options struct {
	// Open opens the store. Calls alone do not open it: their spans wait until Opened is closed, or
	// a run opens it. If too many wait, the oldest are dropped.
	Open   func(context.Context) (trace.Store, error)
	Opened <-chan struct{}

	// Arguments records the arguments and results of calls, shortened and redacted, as attributes.
	Arguments bool

	// RunsOnly records only runs and the calls that they make.
	RunsOnly bool

	Days      int // how long traces are kept; zero = forever
	Megabytes int // how much is kept; zero = unlimited

	Workspace string // the process's workspace; empty if unknown

	Version string       // of the service, for OTLP
	Log     *slog.Logger // for spans that could not be stored
	Now     func() time.Time
}

// Tracing records spans. It is safe for concurrent use.
type Tracing struct {
	o        Options
	now      func() time.Time
	provider *sdk.TracerProvider
	tracer   oteltrace.Tracer
	sends    bool // spans are exported to an OTLP endpoint, too

	mu      sync.Mutex
	timer   *time.Timer // for the next batch
	armed   bool        // timer is running
	open    map[spanKey]*trackedSpan
	spans   []*trackedSpan
	answers int  // bytes in ended
	ran     bool // a run was recorded, so the store may be opened
	dropped int64
	failing bool // the last batch could not be stored

	loggedDrops int64     // value of dropped at the last log message
	loggedAt    time.Time // time of the last log message

	storing    sync.Mutex // held while a batch is stored
	reportedAt time.Time  // when running traces were last reported
	trimmed    time.Time
	stored     int // spans since trimmed
}

type spanKey struct {
	trace oteltrace.TraceID
	span  oteltrace.SpanID
}

// A span is an SDK span or a [plainCall].
type span interface {
	SpanContext() oteltrace.SpanContext
	StartTime() time.Time
}

// trackedSpan is a running or ended span.
type trackedSpan struct {
	span
	answer []byte // stored with the span when it ends

	caller   string   // client of the call that it belongs to
	sessions []string // sessions that it belongs to, or that its call names
	isStored bool     // stored as running
}

// New returns a Tracing, with OTLP export as configured by the environment. An invalid
// configuration is an error.
func New(o Options) (*Tracing, error) {
	t := &Tracing{o: o, now: clock.Micros(o.Now), open: map[spanKey]*trackedSpan{}}
	t.timer = time.AfterFunc(time.Hour, t.storeBatch)
	t.timer.Stop()
	service, err := resource.New(context.Background(), resource.WithAttributes(serviceName, attribute.String("service.version", o.Version),
		replicaKey.String(audit.Server())), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("reading OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	// The store gets every span, regardless of a caller's trace context or a sampler in the
	// environment.
	options := []sdk.TracerProviderOption{sdk.WithResource(service), sdk.WithSampler(sdk.AlwaysSample()), sdk.WithIDGenerator(ids{}),
		sdk.WithSpanProcessor(t)}
	exporter, err := otlp()
	if err != nil {
		return nil, err
	}
	t.sends = exporter != nil
	if t.sends {
		options = append(options, sdk.WithBatcher(exporter))
		if o.Log != nil {
			otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { o.Log.Warn("sending spans", "err", redact.Text(err.Error())) }))
		}
	}
	t.provider = sdk.NewTracerProvider(options...)
	t.tracer = t.provider.Tracer(scopeName)
	return t, nil
}

// Provider returns a provider whose spans are recorded.
func (t *Tracing) Provider() oteltrace.TracerProvider { return t.provider }

// Dropped returns how many spans were not stored, because there were too many or the store failed.
func (t *Tracing) Dropped() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dropped
}

// OnStart implements [sdk.SpanProcessor].
func (t *Tracing) OnStart(ctx context.Context, s sdk.ReadWriteSpan) {
	s.SetAttributes(callerAttributes(ctx)...)
	t.start(ctx, s, s.InstrumentationScope().Name != scopeName)
}

// OnEnd implements [sdk.SpanProcessor].
func (t *Tracing) OnEnd(s sdk.ReadOnlySpan) { t.end(s) }

// start records a new span, and whether it belongs to a run.
func (t *Tracing) start(ctx context.Context, s span, ofRun bool) {
	began := &trackedSpan{span: s, caller: toolfold.OriginOf(ctx).Client, sessions: work.Sessions(ctx)}
	if named := callctx.Of[namedSession](ctx); named != "" && !slices.Contains(began.sessions, string(named)) {
		began.sessions = append(slices.Clip(began.sessions), string(named))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.open) < maxOpen {
		t.open[keyOf(s)] = began
	}
	t.ran = t.ran || ofRun
	t.arm()
}

// callerAttributes returns who a span belongs to: nothing without a token and a name.
func callerAttributes(ctx context.Context) []attribute.KeyValue {
	from := toolfold.OriginOf(ctx)
	name := audit.NameOf(audit.CallerOf(ctx, from))
	if name == "" {
		return nil
	}
	list := []attribute.KeyValue{callerKey.String(name), replicaKey.String(audit.Server())}
	if from.Session != "" {
		list = append(list, sessionKey.String(from.Session))
	}
	return list
}

// end records an ended span.
func (t *Tracing) end(s span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(s)
}

// add adds an ended span. The caller holds mu.
func (t *Tracing) add(s span) {
	key := keyOf(s)
	span := t.open[key]
	delete(t.open, key)
	if n := len(t.spans); n >= maxPending || n >= maxCalls && isPlainSuccess(s) {
		t.dropped++
		return
	}
	if span == nil {
		span = &trackedSpan{}
	}
	span.span = s
	if t.answers+len(span.answer) > maxAnswers {
		span.answer = omission(len(span.answer), "too many answers came at a time")
	}
	t.answers += len(span.answer)
	t.spans = append(t.spans, span)
	if len(t.spans) == maxBatch && t.armed {
		t.timer.Reset(flushEach)
		return
	}
	t.arm()
}

// isPlainSuccess reports whether a span is a successful call that ran nothing.
func isPlainSuccess(s span) bool {
	call, ok := s.(*plainCall)
	return ok && call.failure == nil
}

// arm starts the timer for the next batch. The caller holds mu.
func (t *Tracing) arm() {
	if t.armed {
		return
	}
	t.armed = true
	if len(t.spans) >= maxBatch {
		t.timer.Reset(flushEach)
	} else {
		t.timer.Reset(flushAfter)
	}
}

// keep stores the answer of a run with its span, because its caller may have stopped waiting.
func (t *Tracing) keep(span oteltrace.SpanContext, answer []byte) {
	if len(answer) > maxAnswer {
		answer = omission(len(answer), fmt.Sprintf("the answer has more than %d bytes", maxAnswer))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if open := t.open[spanKey{span.TraceID(), span.SpanID()}]; open != nil {
		open.answer = answer
	}
}

// omission replaces an answer that is not stored.
func omission(size int, why string) []byte {
	return fmt.Appendf(nil, `{"omitted":%q,"bytes":%d}`, why, size)
}

func keyOf(s span) spanKey {
	in := s.SpanContext()
	return spanKey{in.TraceID(), in.SpanID()}
}

// storeBatch stores a batch when it is due, and logs losses.
func (t *Tracing) storeBatch() {
	ctx, done := context.WithTimeout(context.Background(), storeWithin)
	defer done()
	_, err := t.store(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.o.Log == nil:
	case err != nil:
		if !t.failing {
			t.o.Log.Warn("storing traces; they are lost until it works again", "err", err)
		}
		t.loggedDrops = t.dropped
	case t.dropped > t.loggedDrops && time.Since(t.loggedAt) >= tellEach:
		t.o.Log.Warn("traces were dropped: more came than are stored in a second", "spans", t.dropped-t.loggedDrops)
		t.loggedDrops, t.loggedAt = t.dropped, time.Now()
	}
	t.failing = err != nil
	t.armed = false
	if len(t.open) > 0 || len(t.spans) > 0 && t.isOpened() {
		t.arm()
	}
}

func (t *Tracing) isOpened() bool {
	select {
	case <-t.o.Opened:
		return true
	default:
		return false
	}
}

// Flush stores all spans recorded so far, including running ones that are long or around an ended
// span. It does so even if ctx is done, because the spans do not only belong to the caller.
func (t *Tracing) Flush(ctx context.Context) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), storeWithin)
	defer done()
	return t.flush(ctx)
}

func (t *Tracing) flush(ctx context.Context) (failed error) {
	for more := true; more; {
		var err error
		if more, err = t.store(ctx); failed == nil {
			failed = err
		}
	}
	return failed
}

// store stores a batch. more reports whether spans for another one are waiting.
func (t *Tracing) store(ctx context.Context) (more bool, err error) {
	t.storing.Lock()
	defer t.storing.Unlock()
	spans, running := t.take()
	if len(spans) == 0 && len(running) == 0 {
		return false, nil
	}
	list := convertBatch(spans, t.o.Workspace)
	store, err := t.o.Open(ctx)
	if err == nil && len(list) > 0 { // one transaction: under load each waits for many others
		err = store.Put(ctx, list, t.now())
	}
	if err != nil {
		t.giveUp(spans, list)
		return len(spans) >= maxBatch, err
	}
	now := t.now()
	if now.Sub(t.reportedAt) >= trace.Silence/4 {
		t.reportedAt = now
		err = store.Hear(ctx, running, now)
	}
	if t.stored += len(spans); t.stored >= trimAt || now.Sub(t.trimmed) >= trimEach {
		t.trimmed, t.stored = now, 0
		keep := trace.Keep{Bytes: int64(t.o.Megabytes) << 20}
		if t.o.Days > 0 {
			keep.Since = now.AddDate(0, 0, -t.o.Days)
		}
		_, trimErr := store.Trim(ctx, keep)
		err = errors.Join(err, trimErr)
	}
	return len(spans) >= maxBatch, err
}

// giveUp counts the spans that could not be stored. Running spans do not count, because they are
// stored again later.
func (t *Tracing) giveUp(spans []batchSpan, converted []trace.Span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range converted {
		if s.Status != trace.Running {
			t.dropped++
		}
	}
	for _, s := range spans {
		if s.runs {
			s.from.isStored = false
		}
	}
}

// batchSpan is a span that is about to be stored.
type batchSpan struct {
	span // as it was when taken
	from *trackedSpan
	runs bool
}

// take takes the next spans to store, and the traces of spans already stored as running. While the
// store is closed and no run was recorded, it takes none.
func (t *Tracing) take() (spans []batchSpan, running []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isOpened() && !t.ran {
		if extra := len(t.spans) - maxBatch; extra > 0 {
			t.dropped, t.loggedDrops = t.dropped+int64(extra), t.loggedDrops+int64(extra)
			t.spans = slices.Delete(t.spans, 0, extra)
		}
		return nil, nil
	}
	n := min(len(t.spans), maxBatch)
	around := map[oteltrace.TraceID]bool{} // traces with an ended span
	for _, s := range t.spans[:n] {
		spans = append(spans, batchSpan{span: s.span, from: s})
		t.answers -= len(s.answer)
		if len(t.open) > 0 {
			around[s.SpanContext().TraceID()] = true
		}
	}
	t.spans = slices.Delete(t.spans, 0, n)
	t.ran = len(t.open) > 0 || len(t.spans) > 0
	began := t.now().Add(-flushAfter)
	for key, open := range t.open {
		switch {
		case open.isStored:
			running = append(running, key.trace.String())
		case around[key.trace] || open.StartTime().Before(began):
			open.isStored = true
			now := open.span
			if plain, ok := now.(*plainCall); ok { // a copy, because it may end meanwhile
				copied := *plain
				now = &copied
			}
			spans = append(spans, batchSpan{now, open, true})
		}
	}
	return spans, running
}

// convertBatch returns spans in the store's form, without skipped ones.
func convertBatch(spans []batchSpan, workspace string) []trace.Span {
	list := make([]trace.Span, 0, len(spans))
	for _, s := range spans {
		span := convert(s.span)
		if span.Sessions = s.from.sessions; span.Root {
			span.Caller, span.Workspace = s.from.caller, workspace
		}
		if s.runs {
			span.Status, span.End = trace.Running, time.Time{}
		} else {
			span.Begun, span.Answer = s.from.isStored, s.from.answer
		}
		if !skipped(span) {
			list = append(list, span)
		}
	}
	return list
}

// Close stores and exports the remaining spans, for at most exportWithin.
func (t *Tracing) Close() {
	ctx, done := context.WithTimeout(context.Background(), exportWithin)
	defer done()
	if err := errors.Join(t.flush(ctx), t.provider.Shutdown(ctx)); err != nil && t.o.Log != nil {
		t.o.Log.Warn("storing the last traces", "err", err)
	}
}

// Shutdown implements [sdk.SpanProcessor].
func (t *Tracing) Shutdown(context.Context) error { return nil }

// ForceFlush implements [sdk.SpanProcessor].
func (t *Tracing) ForceFlush(ctx context.Context) error { return t.Flush(ctx) }
