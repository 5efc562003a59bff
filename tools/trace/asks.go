package trace

// Requests that people make of the actions, in the words of many trades.
var (
	listAsks = []string{
		"which calls were made recently",
		"list the traces",
		"show the latest runs",
		"history of what agents did",
		"log of calls, newest first",
		"which runs failed today",
		"what has happened on this server",
		"recorded executions of a workflow",
		"audit trail of actions",
		"who called what",
		"find the trace of a slow run",
		"recent activity",
		"show past requests and how they ended",
		"what did the assistant do this morning",
		"protocol of all recorded calls",
	}

	getAsks = []string{
		"show a trace as a tree",
		"what happened step by step in this run",
		"details of one recorded call",
		"which steps did the agent take",
		"spans of an execution",
		"open the record of that run",
		"view the course of events of a workflow run",
		"what did each step answer",
		"look into one particular run",
		"replay how this result came about",
		"show the timeline of a request",
		"read the log of a single run",
		"how did the agent arrive at its answer",
		"drill down into one trace",
		"take me through the run from beginning to end",
		"what exactly did the clerk do in that run",
	}

	analyzeAsks = []string{
		"why was this run so slow",
		"find the bottleneck",
		"which step failed and why",
		"root cause of a failed run",
		"what took the most time",
		"diagnose an execution",
		"analyse where the time was lost",
		"explain why the workflow broke down",
		"which step is to blame for the error",
		"performance analysis of a run",
		"what went wrong in that call",
		"find the slowest part of a request",
		"post-mortem of a run",
		"where does the agent waste time",
		"investigate the failure of a run",
	}
)
