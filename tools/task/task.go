// Package task declares the task tool: work that runs later, in any process that serves the queue,
// and survives the process that submitted it.
//
// It is not a stable API: see docs/stability.md.
package task

import (
	_ "embed"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/work"
)

var (
	taskID      = toolfold.UUID("taskId", "Task ID.")
	name        = toolfold.String{Name: "name", Doc: "Title.", MaxLen: 200}
	description = toolfold.String{Name: "description", Doc: "Details.", MaxLen: 2000}
	agentID     = toolfold.String{Name: "agentId", Doc: "Agent that runs it."}
	workflowID  = toolfold.String{Name: "workflowId", Doc: "Workflow that it runs."}
	input       = toolfold.Object{Name: "input", Doc: "For the agent or workflow, or {tool, arguments} to run an action.", Unclear: true}
	priority    = toolfold.String{Name: "priority", Doc: "How urgent.", Enum: work.Priorities()}
	queueID     = toolfold.String{Name: "queueId", Doc: "ID or name of a queue."}
	depends     = toolfold.Strings("dependencies", "Tasks to complete first.").With(toolfold.MaxItems(50))
	tags        = toolfold.Strings("tags", "Labels.")
	kind        = toolfold.String{Name: "type", Doc: "Execution mode.", Enum: kinds, OldEnum: oldKinds}
	key         = toolfold.String{Name: "key", Doc: "Idempotency key among open tasks.", MaxLen: 200}
	schedule    = toolfold.String{Name: "schedule", Doc: "[CRON_TZ=Zone] minute hour day month weekday, or @every 90m.", MaxLen: 200}
	scheduleID  = toolfold.UUID("scheduleId", "Task whose schedule they belong to.")
	delay       = toolfold.Int{Name: "delayMs", Doc: "Starts later.", Min: 1, Max: 366 * 86_400_000}
	paused      = toolfold.Bool{Name: "paused", Doc: "Makes no tasks for now."}
	scheduledAt = toolfold.Time("scheduledAt", "Earliest start time.")
	timeout     = toolfold.Int{Name: "timeoutMs", Doc: "Limit of one attempt, or of the wait.", Min: 1, Max: 86_400_000}
	maxAttempts = toolfold.Int{Name: "maxAttempts", Doc: "Tries before it fails.", Min: 1, Max: 20}
	status      = toolfold.String{Name: "status", Doc: "State of the task.", Enum: States()}
	limit       = toolfold.Int{Name: "limit", Doc: "Most tasks to return.", Min: 1, Max: 100}
	force       = toolfold.Bool{Name: "force", Doc: "Do not wait for it to stop."}
	dryRun      = toolfold.Bool{Name: "dryRun", Doc: "Only count them."}
	reason      = toolfold.String{Name: "reason", Doc: "Why.", MaxLen: 500}
	reset       = toolfold.Bool{Name: "resetAttempts", Doc: "Count attempts from 1 again."}
	current     = toolfold.Bool{Name: "current", Doc: "Run it as defined now."}
)

// maxWait limits the wait for a task, in milliseconds: many clients cancel a call after a minute.
const maxWait = 50_000

//go:embed asks.txt
var asksText string

// Family declares the task tool.
var Family = toolfold.Family{
	Name: "task", Summary: "Run work later, durably", Category: "tasks", Tier: toolfold.Core,
	Doc: "Tasks run in a process that serves the workspace they were submitted in, with their agent or workflow as of then. " +
		"A task whose process dies goes on after its finished steps; a step under way runs again if its action is idempotent or it sets " +
		"idempotent: true, else the task fails.",
	Asks: asksText,
	Actions: []*toolfold.Action{{
		Name:    "submit",
		Legacy:  toolfold.Was("task_submit"),
		Summary: "Have an agent, workflow or action run later, durably.",
		Words:   "background, defer, kick off, overnight, later, ticket, batch",
		Doc: "With schedule, a task is made of it at each time (UTC without zone), unless the last still runs. " +
			"{{ tasks.NAME.output }} in input: a dependency's. type retry tries 3 times; wait only waits.",
		Changed: "Tasks are run. Needs agentId, workflowId, input.tool or type wait, and checks the input. Dependencies are checked and " +
			"waited for. Without priority, the queue's counts. Types had no effect: retry, timeout and wait have one now, parallel, " +
			"conditional, loop and callback do not exist any more; under the old name they are ignored.",
		Required: toolfold.Fields{name},
		Optional: toolfold.Fields{
			description, agentID, workflowID.With(toolfold.Added()), input, priority, queueID, depends, tags.With(toolfold.MaxItems(20)),
			kind.With(toolfold.Default(Sequential)), scheduledAt, timeout.With(toolfold.Added()), maxAttempts.With(toolfold.Added()),
			key.With(toolfold.Added()), schedule.With(toolfold.Added()),
			delay.With(toolfold.Added()),
		},
		Either: toolfold.Fields{agentID, workflowID, input}, Together: true,
		Instead: toolfold.Fields{kind},
		Effect:  toolfold.Runs, // later, any action
		Example: `{"name": "Nightly note", "input": {"tool": "memory.store", "arguments": {"key": "nightly", "value": {}}}}`,
		Related: []string{"task.status"},
		Run:     toolfold.Method((*Service).Submit),
	}, {
		Name:     "status",
		Legacy:   toolfold.Was("task_status"),
		Summary:  "Show a task, with its output or error.",
		Words:    "job, progress, ticket, batch",
		Doc:      "input only comes when include_fields names it.",
		Changed:  "input is left out unless include_fields names it.",
		Required: toolfold.Fields{taskID},
		Effect:   toolfold.Reads,
		Example:  `{"taskId": "00000000-0000-4000-8000-000000000001"}`,
		Run:      toolfold.Method((*Service).Status),
	}, {
		Name:    "list",
		Legacy:  toolfold.Was("task_list"),
		Summary: "List tasks, newest first.",
		Words:   "jobs, pending, waiting, failed, history, backlog, tickets, batches",
		Doc: "Filters combine; of several values any will do. Empty and default members, sizes, start, end, input and output only come " +
			"when include_fields names them (tasks.completedAt); long texts are cut unless it does.",
		Changed: "Pages: total counts all that match, hasMore is exact, nextCursor leads on. Empty and default members of a task, sizes, " +
			"start, end, input and output are left out unless asked for.",
		Optional: toolfold.Fields{
			queueID, agentID, scheduleID.With(toolfold.Added()), status.With(toolfold.Many()), priority.With(toolfold.Many()), tags,
			limit.With(toolfold.Default(50)), toolfold.Cursor.With(toolfold.Added()),
		},
		Effect:  toolfold.Reads,
		Example: `{"status": ["queued", "running"], "limit": 10}`,
		Related: []string{"task.status"},
		Run:     toolfold.Method((*Service).List),
	}, {
		Name:     "update",
		Summary:  "Change or pause a schedule; other fields stay.",
		Words:    "reschedule, suspend, resume, edit, other time, modify",
		Doc:      "It runs with no more rights than all have who changed it.",
		Required: toolfold.Fields{taskID},
		Optional: toolfold.Fields{schedule, paused, name, description, input, priority, timeout, maxAttempts},
		Effect:   toolfold.Runs, // later, the given action
		Example:  `{"taskId": "22222222-2222-4222-8222-222222222222", "schedule": "0 7 * * 1-5"}`,
		Related:  []string{"task.list", "task.cancel"},
		Run:      toolfold.Method((*Service).Update),
	}, {
		Name:     "trigger",
		Summary:  "Run a schedule, or a task due later, now.",
		Words:    "ahead of time, off schedule, out of turn",
		Doc:      "While a task of the schedule is open, that one is answered.",
		Required: toolfold.Fields{taskID},
		Effect:   toolfold.Runs,
		Example:  `{"taskId": "22222222-2222-4222-8222-222222222222"}`,
		Related:  []string{"task.wait"},
		Run:      toolfold.Method((*Service).Trigger),
	}, {
		Name:    "cancel",
		Legacy:  toolfold.OldNames{{Name: "task_cancel", Required: toolfold.Fields{taskID}}},
		Summary: "Stop a task that has not ended, or all that match.",
		Words:   "abort, kill, never mind, call off, ticket, batch",
		Doc:     "Waits up to 20 s for it to stop. Tasks that depend on it fail. Filters combine and pick tasks of this workspace, no schedules.",
		Changed: "Stops a running task without force, too. Tasks that timed out are refused like all that have ended.",
		Optional: toolfold.Fields{
			taskID, queueID.With(toolfold.Added()), scheduleID.With(toolfold.Added()), tags.With(toolfold.Added()),
			status.With(toolfold.Many(), toolfold.Added()), dryRun.With(toolfold.Added()), force.With(toolfold.Default(false)), reason,
		},
		Either:  toolfold.Fields{taskID, queueID, scheduleID, tags, status},
		Effect:  toolfold.Sets,
		Example: `{"taskId": "00000000-0000-4000-8000-000000000001", "reason": "No longer needed."}`,
		Related: []string{"task.retry"},
		Run:     toolfold.Method((*Service).Cancel),
	}, {
		Name:       "wait",
		Summary:    "Wait for a task to end, then show it like status does.",
		Words:      "",
		Doc:        "When the time is up it shows the task as it is: wait again. A schedule is shown at once.",
		Required:   toolfold.Fields{taskID},
		Optional:   toolfold.Fields{timeout.With(toolfold.Default(30_000), toolfold.Max(maxWait))},
		Effect:     toolfold.Reads,
		Example:    `{"taskId": "22222222-2222-4222-8222-222222222222", "timeoutMs": 20000}`,
		Related:    []string{"task.status"},
		AwaitsTask: true,
		Run:        toolfold.Method((*Service).Wait),
	}, {
		Name:     "retry",
		Legacy:   toolfold.Was("task_retry"),
		Summary:  "Run a failed, cancelled or timed-out task again.",
		Words:    "rerun, restart, another go, redo, ticket, batch, crashed",
		Doc:      "Goes on after finished steps.",
		Required: toolfold.Fields{taskID},
		Optional: toolfold.Fields{reset.With(toolfold.Default(false)), current.With(toolfold.Default(false), toolfold.Added())},
		Effect:   toolfold.Runs,
		Example:  `{"taskId": "00000000-0000-4000-8000-000000000001"}`,
		Related:  []string{"task.status"},
		Run:      toolfold.Method((*Service).Retry),
	}},
}
