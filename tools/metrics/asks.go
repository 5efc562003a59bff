package metrics

// Requests that people make of the actions, in the words of many trades.
var (
	recordAsks = []string{
		"record a measurement",
		"log the temperature of the cold store",
		"save a data point for the metric visitors",
		"the scale shows 412 kilos, register it",
		"report the current stock level as a value",
		"enter today's turnover as a figure",
		"track a number over time",
		"write down a reading of the rain gauge",
		"add a sample to a histogram",
		"submit the value of a gauge",
		"note the blood pressure measured at noon",
		"store how many megabytes the backup had",
		"put a new point into a time series",
		"the queue at the gate has 30 people, keep the figure",
		"document the fuel level as a measurement",
	}

	incrementAsks = []string{
		"add one to a counter",
		"count another visitor",
		"increase the number of sold tickets",
		"bump the counter for complaints",
		"one more parcel was delivered",
		"tally a goal",
		"increment errors by three",
		"raise a count",
		"another customer has called, count it",
		"lower a gauge by two",
		"add five to the number of bottles filled",
		"tick up the count of exams passed",
		"mark one more occurrence",
		"plus one for rejected claims",
		"the fifth lorry just left, count it",
	}

	queryAsks = []string{
		"what was the average temperature last week",
		"show the measurements of the cold store",
		"sum of tickets sold since January",
		"the 95th percentile of response times",
		"maximum water level of the past month",
		"how did the stock level develop over time",
		"history of a metric",
		"minimum and maximum of the readings",
		"how many visitors did we count today",
		"at which rate do complaints come in",
		"values of a time series between two dates",
		"the latest value of the rain gauge",
		"total number of parcels delivered",
		"mean waiting time of callers",
		"trend of the turnover",
		"compute a figure from the recorded points",
	}

	listAsks = []string{
		"which metrics are recorded",
		"list all measurements by name",
		"what numbers do we track",
		"show every counter and gauge with its newest value",
		"overview of the key figures",
		"names of the time series",
		"which series begin with shop",
		"what is being measured here",
		"all indicators on file",
		"current readings of everything that is measured",
		"enumerate the counters",
		"which statistics have been collected",
		"what figures can I query",
		"catalogue of gauges",
		"what do we keep score of",
		"a table of all gauges with their present reading",
	}
)
