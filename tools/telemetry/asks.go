package telemetry

// Requests that people make of the actions, in the words of many trades.
var (
	summaryAsks = []string{
		"summary of all recorded metrics",
		"how is the server doing overall",
		"key figures at a glance",
		"give me a dashboard of the numbers",
		"overall statistics by category",
		"telemetry overview",
		"health report of the workbench",
		"how many calls were there in total",
		"sum up the measurements of the last day",
		"usage figures of agents, workflows and tools",
		"how much has been used so far",
		"condense the telemetry",
		"big picture of activity and errors",
		"report on the system's performance",
		"what do the numbers look like across the board",
		"one page with all key indicators",
		"how busy was the system this week",
		"a digest of what was measured",
		"report the figures of every area together",
	}
)
