// Package trace declares the trace tool: what calls, runs, steps and tasks did
// and how long they took. It reads what package telemetry records, and knows
// nothing of how that is done.
package trace

import "github.com/toolfold/toolfold/tools"

var (
	traceID = tools.String{Name: "traceId", Doc: "Trace ID.", MinLen: 1, MaxLen: 100}
	status  = tools.String{Name: "status", Doc: "Outcome.", Enum: []string{Success, Failure, Running}}
	limit   = tools.Int{Name: "limit", Doc: "Most entries to return.", Min: 1}
)

// Family declares the trace tool.
var Family = tools.Family{
	Name: "trace", Summary: "What calls and runs did, and how long", Category: "telemetry", Tier: tools.Standard,
	Words: "history of runs, spans, observability, debugging, profiling, activity log, replay, audit trail",
	Doc: "Every call, and every run of an agent, workflow or task with its steps, is recorded, without arguments and results. " +
		"Calls of this tool are not. What was recorded in the last second may be lost when the server is killed.",
	Actions: []*tools.Action{{
		Name:    "list",
		Legacy:  tools.Was("trace_list"),
		Summary: "List recorded calls and runs, newest first.",
		Words:   "recent executions, what ran, which runs failed, execution history, still in progress, log of calls, activity, log of the last hour, what happened",
		Changed: "Lists what ran instead of samples: traces, and total. Pages: hasMore, and nextCursor for the next one.",
		Optional: tools.Fields{
			status, limit.With(tools.Default(10), tools.Max(100)), tools.Cursor.With(tools.Added()),
		},
		Effect:  tools.Reads,
		Example: `{"status": "failure"}`,
		Related: []string{"trace.get", "trace.analyze"},
		Run:     tools.Method((*Service).List),
	}, {
		Name:    "get",
		Legacy:  tools.Was("trace_get"),
		Summary: "Show a trace as a tree of spans, and what runs answered.",
		Words:   "details of an execution, every step with its timing, lost answer, result after a timeout, span tree, replay, span by span",
		Doc: "Spans come in the order of the tree. The answer of a run that a caller asked for is kept: " +
			`include_fields ["spans.answer"] shows it.`,
		Changed:  "Shows the spans instead of two sample events; answers of runs with include_fields.",
		Required: tools.Fields{traceID},
		Optional: tools.Fields{
			limit.With(tools.Default(100), tools.Max(1000), tools.Added()), tools.Cursor.With(tools.Added()),
		},
		Effect:  tools.Reads,
		Example: `{"traceId": "4bf92f3577b34da6a3ce929d0e0e4736"}`,
		Related: []string{"trace.list", "trace.analyze"},
		Run:     tools.Method((*Service).Get),
	}, {
		Name:     "analyze",
		Legacy:   tools.Was("trace_analyze"),
		Summary:  "Find why a run failed or was slow.",
		Words:    "bottleneck, slowest step, root cause of an error, performance of a run, critical path, retries, diagnose",
		Doc:      "A step's own time leaves out the steps within it; shares are of the whole time.",
		Changed:  "Analyses the trace itself: every figure and recommendation follows from its spans.",
		Required: tools.Fields{traceID},
		Effect:   tools.Reads,
		Example:  `{"traceId": "4bf92f3577b34da6a3ce929d0e0e4736"}`,
		Related:  []string{"trace.get", "trace.list"},
		Run:      tools.Method((*Service).Analyze),
	}},
}
