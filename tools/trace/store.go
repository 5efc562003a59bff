package trace

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolfold/toolfold"
)

// The states of a trace and of a span.
const (
	Success = "success"
	Failure = "failure"
	Running = "running"
)

// The kinds of span.
const (
	Call     = "call"     // of an action
	Agent    = "agent"    // a run of an agent
	Workflow = "workflow" // a run of a workflow
	Step     = "step"     // of a run, all of its attempts
	Model    = "model"    // a request to a model
	Task     = "task"     // a run of a task
	Other    = "other"
)

// Attributes of a call that tell what it was called with.
const (
	ArgumentsAttribute     = "toolfold.arguments"       // JSON without secrets, shortened; where arguments are kept
	ArgumentNamesAttribute = "toolfold.arguments.names" // JSON list of declared names; of a call that failed
)

// Interrupted is the code of a span whose process ended before it did.
const Interrupted = "INTERRUPTED"

// InterruptedMessage is the message of such a span.
const InterruptedMessage = "the server ended before it did"

// Silence is the time that the process of a running span may stay unheard before
// the span counts as interrupted. Processes report every quarter of it.
const Silence = 2 * time.Minute

// MaxSpans bounds how many spans of one trace are read, the first that began.
const MaxSpans = 25_000

// Span is one operation, with times in UTC and whole microseconds.
type Span struct {
	TraceID string // 32 hexadecimal digits
	ID      string // 16 hexadecimal digits
	Parent  string // ID of the span around it; empty = none, or none that is known

	// Root says that nothing in this server is around the span. A trace has
	// several roots when a caller makes several calls within one trace.
	Root bool

	// Begun says that the span was stored before, as running.
	Begun bool

	Label     string // such as "workflow.run release"; of a step, its stepId
	Kind      string
	Status    string
	Code      string // of a failure
	Message   string // of a failure
	Tolerated bool   // it failed, and the run around it goes on
	Start     time.Time
	End       time.Time // zero while running
	Arguments Size      // of a call
	Result    Size      // of a call
	Attempts  int       // of a step or a task; zero is one

	Caller    string   // client that called; of a root, empty if it is unknown
	Workspace string   // of the process; of a root, empty if it is unknown
	Sessions  []string // that the span is part of, or that its call names; not read back
	Task      string   // ID of the task that the span is the run of; not read back

	// Attributes are the others that the span has.
	Attributes map[string]string

	// Answer is the result of a run that a caller asked for, nil for all other
	// spans. [Store.Spans] leaves it out and sets AnswerBytes.
	Answer      json.RawMessage
	AnswerBytes int
}

// Size is the size of a JSON text.
type Size struct {
	Bytes  int `json:"bytes" doc:"Bytes."`
	Tokens int `json:"tokens" doc:"Tokens, estimated."`
}

// Duration returns how long the span took, up to now while it is running.
func (s Span) Duration(now time.Time) time.Duration {
	if s.End.IsZero() {
		return max(0, now.Sub(s.Start))
	}
	return s.End.Sub(s.Start)
}

// Trace is an entry of the list of traces.
type Trace struct {
	ID, Label string // the label is that of the first root
	Status    string
	Start     time.Time
	End       time.Time // of the last span that ended; zero = none has
	Spans     int

	Caller, Workspace string // of the first root
}

// Query picks traces. What is empty or zero does not filter.
type Query struct {
	Status            string
	Label             string // beginning of the label or of a word in it
	Caller, Workspace string // exactly
	Session, Task     string // IDs in lower case
	Error             string // part of the code or message of a failed span, whatever its case
	MinDuration       time.Duration
	Since, Until      time.Time // of the start: from Since to before Until

	Now       time.Time // at which running traces are measured
	HeardFrom time.Time // processes that reported before have ended
	Limit     int
	After     *toolfold.Position // nil = from the newest
}

// Page is a part of the list.
type Page struct {
	Traces []Trace
	Total  int // of all that the query picks, After and Limit aside
}

// Keep says what is kept of old traces. Zero is no bound.
type Keep struct {
	Since time.Time // older traces go
	Bytes int64     // beyond it the oldest traces go
}

// Store keeps traces. Methods are safe for concurrent use, also by several
// processes.
type Store interface {
	// Put keeps spans. One that was running is replaced by its end.
	Put(ctx context.Context, spans []Span, now time.Time) error

	// Hear notes that the process of running traces is alive.
	Hear(ctx context.Context, traceIDs []string, now time.Time) error

	// List lists traces, newest first.
	List(ctx context.Context, q Query) (Page, error)

	// Spans returns up to [MaxSpans] spans of a trace in the order they began,
	// and the time at which its process was last heard of.
	Spans(ctx context.Context, traceID string) (spans []Span, heard time.Time, err error)

	// Answers returns the answers of spans of a trace, by span.
	Answers(ctx context.Context, traceID string, spanIDs []string) (map[string]json.RawMessage, error)

	// Usual returns the newest traces, up to 100, that have the label,
	// succeeded and began before a time, with their id, Start and End.
	Usual(ctx context.Context, label string, before time.Time) ([]Trace, error)

	// Trim deletes old traces until ctx ends, and returns how many.
	Trim(ctx context.Context, keep Keep) (int, error)
}
