package timer

// Requests that people make of the actions, in the words of many trades.
var (
	startAsks = []string{
		"time the cooking of the jam",
		"start the clock for the exam",
		"begin timing the assembly",
		"set the stopwatch going",
		"clock in for the night shift",
		"measure the duration of the rehearsal from now on",
		"track the time spent on this client",
		"the race begins, take the time",
		"start recording working hours",
		"how long will this take, start measuring",
		"note the start of the surgery",
		"begin a time measurement for the loading of the ship",
		"from this moment on, count the minutes",
		"I am starting on the claim, keep track of the time",
	}

	listAsks = []string{
		"which timers are running",
		"what is being timed at the moment",
		"show the active stopwatches",
		"list open time measurements",
		"is a clock still ticking",
		"how long has each timer been running",
		"am I clocked in anywhere",
		"which durations are being measured",
		"all timers that have not been stopped",
		"current time tracking",
		"did I forget to stop a timer",
		"overview of running clocks",
		"elapsed time of what is being measured",
		"who is on the clock",
		"whose stopwatch is still going",
		"what am I being clocked for",
	}

	stopAsks = []string{
		"how long did it take, end the measurement",
		"halt the stopwatch",
		"clock out",
		"the surgery is over, stop the time",
		"finish timing and record the duration",
		"end of the exam, stop the clock",
		"stop measuring the assembly",
		"I am done with this client, end the time tracking",
		"the runner has crossed the line, take the time",
		"close the running time measurement",
		"the jam is ready, how many minutes was that",
		"terminate the timer with this id",
		"end my working hours for today",
		"how many minutes was I at it, I am finished",
		"freeze the clock, the drill is over",
	}
)
