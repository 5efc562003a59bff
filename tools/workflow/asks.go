package workflow

// Requests that people make of the actions, in the words of many trades.
var (
	runAsks = []string{
		"run the onboarding workflow",
		"start the release procedure",
		"carry out the routine for closing the till",
		"go through the standard process with this input",
		"perform the checklist workflow for a new patient",
		"launch an automation",
		"trigger the monthly billing process",
		"do the usual steps for an incoming complaint",
		"play the recipe with these parameters",
		"process this application by the book",
		"put the standard operating procedure into action",
		"kick off the pipeline for new footage",
		"start the automated routine now",
		"work off the protocol for a safety drill",
	}

	listAsks = []string{
		"which workflows are there",
		"list the defined processes",
		"show all automations",
		"what procedures can be run",
		"names of the standard routines",
		"which workflow files are broken",
		"overview of pipelines",
		"what recipes of steps do we have",
		"all active workflows",
		"is there a procedure for complaints",
		"which processes are drafts",
		"catalogue of automated sequences",
		"browse the step-by-step routines",
		"what protocols have been defined",
		"which established routines could I start",
		"show the procedures that are retired",
	}

	describeAsks = []string{
		"show the steps of a workflow",
		"what does the onboarding process do",
		"which input does a workflow need",
		"explain the release procedure",
		"read the definition of an automation",
		"what happens in the billing process, step by step",
		"details of one workflow",
		"view how the routine for complaints is built",
		"what parameters does this pipeline take",
		"describe a procedure before I run it",
		"in which order are the steps carried out",
		"look at the recipe without running it",
		"what is in the protocol for the safety drill",
		"outline of a defined process",
		"what would happen if I started the billing process",
		"read me the routine before the shift",
	}
)
