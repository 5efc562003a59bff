// Package queue declares the queue tool: the lines in which tasks wait.
package queue

import (
	"github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/tools"
)

var (
	queueID     = tools.String{Name: "queueId", Doc: "ID or name of the queue."}
	name        = tools.String{Name: "name", Doc: "Its own name.", MaxLen: 100}
	description = tools.String{Name: "description", Doc: "What the queue is for.", MaxLen: 1000}
	concurrency = tools.Int{Name: "maxConcurrency", Doc: "Tasks at once, per worker process.", Min: 1, Max: 100}
	priority    = tools.String{Name: "defaultPriority", Doc: "For tasks without priority.", Enum: queue.Priorities()}
	limit       = tools.Int{Name: "limit", Doc: "Most queues to return.", Min: 1, Max: 100}
	cursor      = tools.String{Name: "cursor", Doc: "nextCursor of the page before."}

	isPaused   = tools.Bool{Name: "isPaused", Doc: "Whether its tasks are held back."}
	createdAt  = tools.Time("createdAt", "When it was made.")
	total      = tools.Int{Name: "total", Doc: "Queues there are, on all pages."}
	hasMore    = tools.Bool{Name: "hasMore", Doc: "Whether more follow."}
	nextCursor = tools.String{Name: "nextCursor", Doc: "Pass as cursor for the next page; absent on the last."}

	stats = tools.Object{Name: "stats", Doc: "Tasks in each state.", Required: counts(queue.States())}
	one   = tools.Fields{queueID, name, description, concurrency, priority, isPaused, createdAt}
	list  = tools.List{Name: "queues", Doc: "In the order of their making.", Of: tools.Object{
		Required: tools.Fields{queueID, name, concurrency, priority, isPaused, createdAt, stats},
		Optional: tools.Fields{description},
	}}
)

func counts(states []string) tools.Fields {
	var fields tools.Fields
	for _, state := range states {
		fields = append(fields, tools.Int{Name: state, Doc: "Tasks in this state."})
	}
	return fields
}

// Family declares the queue tool.
var Family = tools.Family[*Service]{
	Name: "queue", Summary: "Lines of tasks", Category: tools.Tasks, Tier: tools.Standard,
	Doc: "Every task is in a queue; without another it is in the one called default.",
	Actions: []tools.Action[*Service]{{
		Name:     "create",
		Legacy:   tools.Was("queue_create"),
		Summary:  "Make a queue that runs a limited number of tasks at once.",
		Words:    "new, limit how many jobs run, separate line, concurrency",
		Changed:  "The limit holds, in each process that works, and the default priority counts.",
		Required: tools.Fields{name},
		Optional: tools.Fields{
			description, concurrency.With(tools.Default(queue.DefaultConcurrency)), priority.With(tools.Default(queue.Medium)),
		},
		Returns: one,
		Effect:  tools.Adds,
		Example: `{"name": "deploys", "maxConcurrency": 1}`,
		Related: []string{"task.submit", "queue.list"},
		Run:     tools.Method((*Service).Create),
	}, {
		Name:     "list",
		Legacy:   tools.Was("queue_list"),
		Summary:  "List queues with their tasks counted by state.",
		Words:    "which queues exist, how long, waiting jobs",
		Changed:  "Counts all states. Pages: hasMore, and nextCursor for the next one.",
		Optional: tools.Fields{limit.With(tools.Default(20)), cursor.With(tools.Added())},
		Returns:  tools.Fields{list, total, hasMore, nextCursor},
		Effect:   tools.Reads,
		Example:  `{"limit": 5}`,
		Run:      tools.Method((*Service).List),
	}, {
		Name:     "pause",
		Summary:  "Hold back the tasks of a queue.",
		Words:    "suspend, stop taking new jobs",
		Doc:      "Tasks that run go on; those that wait are shown as paused.",
		Required: tools.Fields{queueID},
		Returns:  one,
		Effect:   tools.Sets,
		Example:  `{"queueId": "deploys"}`,
		Related:  []string{"queue.resume"},
		Run:      tools.Method((*Service).Pause),
	}, {
		Name:     "resume",
		Summary:  "Let the tasks of a paused queue run again.",
		Words:    "continue, unpause, held-back jobs",
		Required: tools.Fields{queueID},
		Returns:  one,
		Effect:   tools.Sets,
		Example:  `{"queueId": "deploys"}`,
		Related:  []string{"queue.pause"},
		Run:      tools.Method((*Service).Resume),
	}},
}
