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
	Call     = "call"     // a call of an action
	Agent    = "agent"    // a run of an agent
	Workflow = "workflow" // a run of a workflow
	Step     = "step"     // a step of a run, with all attempts
	Model    = "model"    // a request to a model
	Task     = "task"     // a run of a task
	Other    = "other"
)

// Attributes for the arguments of a call.
const (
	ArgumentsAttribute     = "toolfold.arguments"       // JSON without secrets, shortened; only if arguments are recorded
	ArgumentNamesAttribute = "toolfold.arguments.names" // JSON list of declared names; only if the call failed
)

// CallerAttribute is the attribute for the name of a span's caller; absent without a token and a name.
const CallerAttribute = "enduser.id"

// Interrupted is the code of a span whose process ended before the span did.
const Interrupted = "INTERRUPTED"

// InterruptedMessage is the message of an interrupted span.
const InterruptedMessage = "the server ended before it did"

// Silence is how long the process of a running span may be silent before the span counts as
// interrupted. Processes report every quarter of it.
const Silence = 2 * time.Minute

// MaxSpans bounds the spans of a trace that are read; the earliest are read.
const MaxSpans = 25_000

// Span is one operation, with times in UTC and whole microseconds.
type Span struct {
	TraceID string // 32 hexadecimal digits
	ID      string // 16 hexadecimal digits
	Parent  string // ID of the span around it; empty = a root, or unknown

	// Root means that no span of this server is around it. A trace has several roots if a caller
	// makes several calls within it.
	Root bool

	// Begun means that the span was stored before, as running.
	Begun bool

	Label     string // such as "workflow.run release"; for a step, its stepId
	Kind      string
	Status    string
	Code      string // of a failure
	Message   string // of a failure
	Tolerated bool   // the run around it continued after the failure
	Start     time.Time
	End       time.Time // zero while running
	Arguments Size      // of a call
	Result    Size      // of a call
	Attempts  int       // of a step or a task; zero means one

	Caller    string   // client that called; only for a root, empty if unknown
	Workspace string   // of the process; only for a root, empty if unknown
	Sessions  []string // that the span belongs to, or that its call names; write-only
	Task      string   // ID of the task that the span runs; write-only

	// Attributes holds all other attributes.
	Attributes map[string]string

	// Answer is the result of a run that a caller requested, nil for other spans. [Store.Spans]
	// omits it and sets AnswerBytes.
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
	ID, Label string // the label of the first root
	Status    string
	Start     time.Time
	End       time.Time // latest end of a span; zero = no span has ended
	Spans     int

	Caller, Workspace string // of the first root
}

// Query selects traces. Empty and zero fields match all.
type Query struct {
	Status        string
	Label         string // prefix of the label or of a word in it
	Caller        string // name of a span's caller, or the client of the first root; exact
	Workspace     string // exact
	Session, Task string // IDs in lower case
	Error         string // part of the code or message of a failed span, ignoring case
	MinDuration   time.Duration
	Since, Until  time.Time // range of the start, without Until

	Now       time.Time // for the duration of running traces
	HeardFrom time.Time // processes that last reported before it have ended
	Limit     int
	After     *toolfold.Position // nil = from the newest
	Uncounted bool               // Page.Total is not needed: counting reads every matching trace
}

// Page is a part of the list.
type Page struct {
	Traces []Trace
	Total  int // number of matching traces, ignoring After and Limit; 0 if they are not counted
}

// Keep limits the stored traces. Zero means unlimited.
type Keep struct {
	Since time.Time // older traces are deleted
	Bytes int64     // beyond it, the oldest traces are deleted
}

// Store stores traces. It is safe for concurrent use, also by several processes.
type Store interface {
	// Put stores spans. A finished span replaces its running one.
	Put(ctx context.Context, spans []Span, now time.Time) error

	// Hear records that the process of running traces is alive.
	Hear(ctx context.Context, traceIDs []string, now time.Time) error

	// List lists traces, newest first.
	List(ctx context.Context, q Query) (Page, error)

	// Spans returns up to [MaxSpans] spans of a trace in order of their start, and when its process
	// last reported.
	Spans(ctx context.Context, traceID string) (spans []Span, lastReport time.Time, err error)

	// Answers returns the answers of a trace's spans, by span.
	Answers(ctx context.Context, traceID string, spanIDs []string) (map[string]json.RawMessage, error)

	// Usual returns the newest successful traces with the label that began before a time, up to
	// 100. It sets their ID, Start and End.
	Usual(ctx context.Context, label string, before time.Time) ([]Trace, error)

	// Trim deletes old traces until ctx ends. It returns how many.
	Trim(ctx context.Context, keep Keep) (int, error)
}
