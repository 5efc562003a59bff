// Package trace declares the trace tool, which shows calls, runs, steps and tasks with their
// results and durations. It reads records of package telemetry, but does not depend on it.
//
// It is not a stable API: see docs/stability.md.
package trace

import (
	_ "embed"

	"github.com/toolfold/toolfold"
)

var (
	traceID   = toolfold.String{Name: "traceId", Doc: "Trace ID.", MinLen: 1, MaxLen: 100}
	status    = toolfold.String{Name: "status", Doc: "Outcome.", Enum: []string{Success, Failure, Running}}
	compareTo = toolfold.String{Name: "compareTo", Doc: "Trace ID of another run.", MinLen: 1, MaxLen: 100}
	label     = toolfold.String{Name: "label", Doc: "Beginning of the label or of its target: memory., nightly.", MinLen: 1, MaxLen: 200}
	caller    = toolfold.String{Name: "caller", Doc: "Name of the token, or client as trace.get shows it.", MinLen: 1, MaxLen: 200}
	workspace = toolfold.String{Name: "workspace", Doc: "Workspace of the server that ran it.", MinLen: 1, MaxLen: 500}
	sessionID = toolfold.UUID("sessionId", "Session that a call named or was part of.")
	taskID    = toolfold.UUID("taskId", "Task that ran.")
	failure   = toolfold.String{Name: "error", Doc: "Part of the code or message of a failure.", MinLen: 1, MaxLen: 200}
	since     = toolfold.Time("since", "Began then or later.")
	until     = toolfold.Time("until", "Began before.")
	slow      = toolfold.Int{Name: "minDurationMs", Doc: "Took as long or longer.", Min: 1}
	limit     = toolfold.Int{Name: "limit", Doc: "Most entries to return.", Min: 1}
)

//go:embed asks.txt
var asksText string

// Family declares the trace tool.
var Family = toolfold.Family{
	Name: "trace", Summary: "Record of calls and runs, with times", Category: "telemetry", Tier: toolfold.Standard,
	Words: "spans, observability, debugging, profiling, activity log, replay, audit trail",
	Doc: "Every call, and every run of an agent, workflow or task with its steps, is recorded, without values of arguments and results. " +
		"Calls of this tool are not. Records of the last second may be lost when the server is killed.",
	Asks: asksText,
	Actions: []*toolfold.Action{{
		Name:    "list",
		Legacy:  toolfold.Was("trace_list"),
		Summary: "List recorded calls and runs, newest first.",
		Words:   "recent executions, what ran, execution history, activity, what happened",
		Changed: "Lists recorded traces, and total, instead of samples. Pages: hasMore, and nextCursor for the next one.",
		Optional: toolfold.Fields{
			status, label.With(toolfold.Added()), since.With(toolfold.Added()), until.With(toolfold.Added()), failure.With(toolfold.Added()),
			slow.With(toolfold.Added()), taskID.With(toolfold.Added()), sessionID.With(toolfold.Added()), caller.With(toolfold.Added()),
			workspace.With(toolfold.Added()),
			limit.With(toolfold.Default(10), toolfold.Max(100)), toolfold.Cursor.With(toolfold.Added()),
		},
		Effect:  toolfold.Reads,
		Example: `{"status": "failure"}`,
		Related: []string{"trace.get", "trace.analyze"},
		Run:     toolfold.Method((*Service).List),
	}, {
		Name:    "get",
		Legacy:  toolfold.Was("trace_get"),
		Summary: "Show a trace as a tree of spans, and answers of runs.",
		Words:   "lost answer, span tree, replay",
		Doc: "Spans come in the order of the tree. The answer of a run that a caller asked for is kept: " +
			`include_fields ["spans.answer"] shows it.`,
		Changed:  "Shows the spans instead of two sample events; answers of runs with include_fields.",
		Required: toolfold.Fields{traceID},
		Optional: toolfold.Fields{
			limit.With(toolfold.Default(100), toolfold.Max(1000), toolfold.Added()), toolfold.Cursor.With(toolfold.Added()),
		},
		Effect:  toolfold.Reads,
		Example: `{"traceId": "4bf92f3577b34da6a3ce929d0e0e4736"}`,
		Related: []string{"trace.list", "trace.analyze"},
		Run:     toolfold.Method((*Service).Get),
	}, {
		Name:    "analyze",
		Legacy:  toolfold.Was("trace_analyze"),
		Summary: "Find why a run failed or was slow; compare two runs.",
		Words:   "bottleneck, slowest step, critical path, retries, diagnose, compare, difference",
		Doc: "A step's own time leaves out the steps within it; shares are of the whole time. Compared, it names steps that are slower, " +
			"faster, new or gone.",
		Changed:  "Analyses the trace itself: every figure and recommendation follows from its spans.",
		Required: toolfold.Fields{traceID},
		Optional: toolfold.Fields{compareTo.With(toolfold.Added())},
		Effect:   toolfold.Reads,
		Example:  `{"traceId": "4bf92f3577b34da6a3ce929d0e0e4736"}`,
		Related:  []string{"trace.get", "trace.list"},
		Run:      toolfold.Method((*Service).Analyze),
	}},
}
