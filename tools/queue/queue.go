// Package queue declares the queue tool: the lines in which tasks wait.
//
// It is not a stable API: see docs/stability.md.
package queue

import (
	_ "embed"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/work"
)

var (
	queueID     = toolfold.String{Name: "queueId", Doc: "ID or name of the queue.", MinLen: 1, MaxLen: 100}
	name        = toolfold.String{Name: "name", Doc: "Name of the queue.", MaxLen: 100}
	description = toolfold.String{Name: "description", Doc: "The queue's purpose.", MaxLen: 1000}
	concurrency = toolfold.Int{Name: "maxConcurrency", Doc: "Tasks at once, in each workspace.", Min: 1, Max: 100}
	rate        = toolfold.Int{Name: "ratePerMinute", Doc: "Most starts in any minute, over all workspaces; 0 = no limit.", Max: 100_000}
	priority    = toolfold.String{Name: "defaultPriority", Doc: "For tasks without priority.", Enum: work.Priorities()}
	perProcess  = toolfold.Bool{Name: "perProcess", Doc: "Count maxConcurrency in each process, not over all."}
	limit       = toolfold.Int{Name: "limit", Doc: "Most queues to return.", Min: 1, Max: 100}
)

//go:embed asks.txt
var asksText string

// Family declares the queue tool.
var Family = toolfold.Family{
	Name: "queue", Summary: "Limit and pause tasks", Category: "tasks", Tier: toolfold.Standard,
	Doc:  "Every task is in a queue; without another it is in the one called default.",
	Asks: asksText,
	Actions: []*toolfold.Action{{
		Name:     "create",
		Legacy:   toolfold.Was("queue_create"),
		Summary:  "Make a queue with a limit of tasks at once.",
		Words:    "new, separate line, concurrency, open, lane",
		Changed:  "The limit holds, in each workspace, over all processes, and the default priority counts.",
		Required: toolfold.Fields{name},
		Optional: toolfold.Fields{
			description, concurrency.With(toolfold.Default(work.DefaultConcurrency)), priority.With(toolfold.Default(work.Medium)),
			perProcess.With(toolfold.Added()), rate.With(toolfold.Min(0), toolfold.Added()),
		},
		Effect:  toolfold.Adds,
		Once:    true, // an existing queue is an error
		Example: `{"name": "deploys", "maxConcurrency": 1}`,
		Related: []string{"task.submit", "queue.list"},
		Run:     toolfold.Method((*Service).Create),
	}, {
		Name:     "list",
		Legacy:   toolfold.Was("queue_list"),
		Summary:  "List queues with their tasks counted by state.",
		Words:    "how long, waiting jobs, lanes, congested, backlog, load",
		Changed:  "Counts all states. Pages: hasMore, and nextCursor for the next one.",
		Optional: toolfold.Fields{limit.With(toolfold.Default(20)), toolfold.Cursor.With(toolfold.Added())},
		Effect:   toolfold.Reads,
		Example:  `{"limit": 5}`,
		Run:      toolfold.Method((*Service).List),
	}, {
		Name:     "update",
		Summary:  "Change a queue; other fields stay.",
		Words:    "modify, edit concurrency",
		Doc:      "Tasks that run go on, also above a new limit.",
		Required: toolfold.Fields{queueID},
		Optional: toolfold.Fields{description, concurrency, priority, perProcess, rate.With(toolfold.Min(0))},
		Effect:   toolfold.Sets,
		Example:  `{"queueId": "deploys", "maxConcurrency": 2}`,
		Related:  []string{"queue.list"},
		Run:      toolfold.Method((*Service).Update),
	}, {
		Name:     "pause",
		Summary:  "Hold back the tasks of a queue.",
		Words:    "suspend, freeze, halt, lane",
		Doc:      "Tasks that run go on; those that wait are shown as paused.",
		Required: toolfold.Fields{queueID},
		Effect:   toolfold.Sets,
		Example:  `{"queueId": "deploys"}`,
		Related:  []string{"queue.resume"},
		Run:      toolfold.Method((*Service).Pause),
	}, {
		Name:     "resume",
		Summary:  "Let the tasks of a paused queue run again.",
		Words:    "continue, unpause, held-back jobs, unfreeze, lane, go on",
		Required: toolfold.Fields{queueID},
		Effect:   toolfold.Sets,
		Example:  `{"queueId": "deploys"}`,
		Related:  []string{"queue.pause"},
		Run:      toolfold.Method((*Service).Resume),
	}, {
		Name:     "remove",
		Summary:  "Remove a queue whose tasks have all ended.",
		Words:    "delete, drop, tear down, lane, unused",
		Doc:      "Its ended tasks stay; retried, they run in the default queue.",
		Required: toolfold.Fields{queueID},
		Effect:   toolfold.Deletes,
		Example:  `{"queueId": "deploys"}`,
		Related:  []string{"queue.list"},
		Run:      toolfold.Method((*Service).Remove),
	}},
}
