package trace

import (
	"encoding/json"
	"time"

	"github.com/toolfold/toolfold"
)

// ListIn holds the arguments of trace.list.
type ListIn struct {
	Status        string    `json:"status"`
	Label         string    `json:"label"`
	Caller        string    `json:"caller"`
	Workspace     string    `json:"workspace"`
	SessionID     string    `json:"sessionId"`
	TaskID        string    `json:"taskId"`
	Error         string    `json:"error"`
	MinDurationMs int       `json:"minDurationMs"`
	Since         time.Time `json:"since"`
	Until         time.Time `json:"until"`
	toolfold.Page
}

// ListOut is the result of trace.list.
type ListOut struct {
	Traces []Item `json:"traces" doc:"Newest first."`
	Total  int    `json:"total" doc:"Traces that match, on all pages."`
	toolfold.Paged
}

// Item is a trace in trace.list.
type Item struct {
	TraceID    string    `json:"traceId" doc:"Trace ID."`
	Label      string    `json:"label" doc:"Action that ran, and its target."`
	Status     string    `json:"status" doc:"Outcome." enum:"success,failure,running"`
	StartedAt  time.Time `json:"startedAt" doc:"When it began."`
	DurationMs float64   `json:"durationMs" doc:"How long it took, so far if running."`
	SpanCount  int       `json:"spanCount" doc:"Spans recorded."`
	Caller     string    `json:"caller,omitempty" doc:"Client that called; only if include_fields names traces.caller."`
	Workspace  string    `json:"workspace,omitempty" doc:"Workspace, if another one."`
}

// GetIn holds the arguments of trace.get.
type GetIn struct {
	TraceID string `json:"traceId"`
	toolfold.Page
}

// GetOut is the result of trace.get.
type GetOut struct {
	TraceID    string     `json:"traceId" doc:"Trace ID."`
	Label      string     `json:"label" doc:"Action that ran, and its target."`
	Status     string     `json:"status" doc:"Outcome." enum:"success,failure,running"`
	StartedAt  time.Time  `json:"startedAt" doc:"When it began."`
	DurationMs float64    `json:"durationMs" doc:"How long it took, so far if running."`
	Caller     string     `json:"caller,omitempty" doc:"Client that called."`
	Workspace  string     `json:"workspace,omitempty" doc:"Workspace, if another one."`
	Spans      []SpanItem `json:"spans" doc:"In the order of the tree: each before those within it."`
	SpanCount  int        `json:"spanCount" doc:"Spans on all pages."`
	toolfold.Paged
}

// SpanItem is a span in trace.get.
type SpanItem struct {
	SpanID      string            `json:"spanId" doc:"Span ID."`
	Parent      string            `json:"parent,omitempty" doc:"Span around it."`
	Depth       int               `json:"depth" doc:"Spans around it."`
	Label       string            `json:"label" doc:"Its name."`
	Kind        string            `json:"kind" doc:"Kind of operation." enum:"call,agent,workflow,step,model,task,other"`
	Status      string            `json:"status" doc:"Outcome." enum:"success,failure,running"`
	OffsetMs    float64           `json:"offsetMs" doc:"When it began, after startedAt."`
	DurationMs  float64           `json:"durationMs" doc:"How long it took, so far if running."`
	Error       *Fault            `json:"error,omitempty" doc:"Why it failed."`
	Attempts    int               `json:"attempts,omitempty" doc:"Attempts, if more than one."`
	Arguments   *Size             `json:"arguments,omitempty" doc:"Size of a call's arguments."`
	Result      *Size             `json:"result,omitempty" doc:"Size of a call's result."`
	Attributes  map[string]string `json:"attributes,omitempty" doc:"Further data."`
	AnswerBytes int               `json:"answerBytes,omitempty" doc:"Size of the answer that is kept."`
	Answer      json.RawMessage   `json:"answer,omitempty" doc:"Answer of the run; only if include_fields names spans.answer." type:"object"`
}

// Fault describes a failure.
type Fault struct {
	Code    string `json:"code" doc:"Short name of the failure."`
	Message string `json:"message,omitempty" doc:"The failure in words."`
}

// AnalyzeIn holds the arguments of trace.analyze.
type AnalyzeIn struct {
	TraceID   string `json:"traceId"`
	CompareTo string `json:"compareTo"`
}

// AnalyzeOut is the result of trace.analyze.
type AnalyzeOut struct {
	TraceID         string      `json:"traceId" doc:"Trace ID."`
	Label           string      `json:"label" doc:"Action that ran, and its target."`
	Status          string      `json:"status" doc:"Outcome." enum:"success,failure,running"`
	DurationMs      float64     `json:"durationMs" doc:"How long it took, so far if running."`
	StepCount       int         `json:"stepCount" doc:"Steps that ran; without steps, the spans within the roots."`
	SlowestSteps    []StepTime  `json:"slowestSteps" doc:"Up to 10, by own time."`
	CriticalPath    []PathPart  `json:"criticalPath" doc:"Parts that the end waited for, in time order; the 20 longest."`
	Errors          []Cause     `json:"errors" doc:"Failures that no failure within explains, the one that ended the run first; up to 10, those alike as one."`
	ErrorCount      int         `json:"errorCount" doc:"All such failures."`
	Retries         []Retry     `json:"retries" doc:"Steps and tasks that needed several attempts; up to 10."`
	Usual           *Usual      `json:"usual,omitempty" doc:"Comparison with earlier successes under this label; absent below 3."`
	Compared        *Comparison `json:"compared,omitempty" doc:"Comparison with compareTo."`
	Recommendations []string    `json:"recommendations" doc:"Next steps; empty when nothing stands out."`
}

// StepTime is the time of a step.
type StepTime struct {
	SpanID     string  `json:"spanId" doc:"Span ID."`
	Label      string  `json:"label" doc:"Its name."`
	DurationMs float64 `json:"durationMs" doc:"How long it took."`
	OwnMs      float64 `json:"ownMs" doc:"Without the steps within it."`
	Share      float64 `json:"share" doc:"Own time as a share of the whole, 0 to 1."`
}

// PathPart is a part of the critical path.
type PathPart struct {
	SpanID string  `json:"spanId" doc:"Span ID."`
	Label  string  `json:"label" doc:"Its name."`
	Ms     float64 `json:"ms" doc:"Time on the path."`
}

// Cause is a failure that no nested failure explains.
type Cause struct {
	SpanID string `json:"spanId" doc:"Span ID; of the first, if alike."`
	Label  string `json:"label" doc:"Name of the failed span."`
	Path   string `json:"path" doc:"Labels from the root to it."`
	Step   string `json:"step,omitempty" doc:"Step that it is, or is within."`
	Input  string `json:"input,omitempty" doc:"Names of the arguments it got; with values if traceArguments keeps them."`
	Fault
	Tolerated bool `json:"tolerated,omitempty" doc:"The run went on after it: continueOnError, a retry, or a model that was told."`
	Count     int  `json:"count" doc:"How often the label failed with this code."`
}

// Retry is a step or task that needed several attempts.
type Retry struct {
	SpanID   string `json:"spanId" doc:"Span ID."`
	Label    string `json:"label" doc:"Its name."`
	Attempts int    `json:"attempts" doc:"Attempts."`
	Status   string `json:"status" doc:"Outcome." enum:"success,failure,running"`
}

// Usual compares a trace with earlier ones with its label.
type Usual struct {
	MedianMs float64 `json:"medianMs" doc:"Median duration."`
	Ratio    float64 `json:"ratio" doc:"This duration over the median."`
	Traces   int     `json:"traces" doc:"Traces compared with, at most 100."`
	TraceID  string  `json:"traceId" doc:"The one that took the median."`
}

// Comparison is the difference between two traces.
type Comparison struct {
	TraceID      string       `json:"traceId" doc:"The other trace."`
	DifferenceMs float64      `json:"differenceMs" doc:"This duration less the other's."`
	Steps        []Difference `json:"steps" doc:"Up to 20 steps, those that differ most first."`
	Alike        int          `json:"alike" doc:"Steps left out: same count, times less than 10 % or 1 ms apart."`
}

// Difference is a step that differs between two traces.
type Difference struct {
	Label        string  `json:"label" doc:"The step, after those around it."`
	Change       string  `json:"change" doc:"How it differs here; repeats: same time, other count." enum:"slower,faster,new,gone,repeats"`
	DifferenceMs float64 `json:"differenceMs" doc:"Own time here less own time there."`
	OwnMs        float64 `json:"ownMs" doc:"Own time here, all its spans."`
	Count        int     `json:"count" doc:"Spans of it here."`
	OtherCount   int     `json:"otherCount" doc:"Spans of it there."`
}
