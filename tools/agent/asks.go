package agent

// Requests that people make of the actions, in the words of many trades.
var (
	registerAsks = []string{
		"add a new agent",
		"create an assistant that checks claims",
		"define a bot with its own prompt and steps",
		"set up a specialist for tax questions",
		"register a helper who summarises court files",
		"hire a virtual editor",
		"make a persona for customer support",
		"introduce a reviewer agent to the team",
		"configure an agent that uses these tools",
		"build a worker that answers guests' letters",
		"I want a new assistant for the pharmacy desk",
		"enlist a researcher agent",
		"declare an agent with a model and instructions",
		"put together a bot that grades essays",
		"establish a digital clerk for permits",
	}

	updateAsks = []string{
		"change the prompt of an agent",
		"give the tax specialist another model",
		"edit the steps of an assistant",
		"modify what the reviewer agent does",
		"switch an agent off for the time being",
		"enable that bot again",
		"rename the description of an agent",
		"adjust the temperature of the editor",
		"let the clerk use more tools",
		"move an assistant to another team",
		"revise the instructions of the support persona",
		"alter a registered agent",
		"extend the duties of the grading bot",
		"reconfigure the researcher",
		"swap the model that the claims checker runs on",
	}

	listAsks = []string{
		"list all assistants",
		"show the bots of the legal team",
		"who is available to work",
		"overview of registered agents",
		"what specialists do we have",
		"names of the personas",
		"which helpers are disabled",
		"staff list of the virtual team",
		"enumerate the agents, also those in files",
		"is there a bot for permits",
		"show everyone who can be given work",
		"what assistants have been set up",
		"roster of the agents",
		"how many bots are enabled",
	}

	runAsks = []string{
		"run the agent on this input",
		"let the tax specialist answer the question",
		"have the editor go over my column",
		"ask the claims checker to look at this case",
		"start an assistant and wait for its result",
		"execute the steps of an agent",
		"get the grading bot to mark this essay",
		"delegate this to the researcher",
		"put the reviewer to work on the contract",
		"what would the support persona reply to this guest",
		"send the court file to the summariser",
		"call on the clerk to process this permit",
		"pass my text through the translator agent",
		"use the pharmacy assistant for this prescription",
		"have an agent do this for me now",
	}

	getAsks = []string{
		"show the definition of an agent",
		"what prompt does the editor have",
		"read the configuration of the tax specialist",
		"which model does that bot use",
		"what are the steps of the claims checker",
		"display one assistant in detail",
		"look at how the grading bot is set up",
		"tell me about a particular agent",
		"view an agent's instructions and tools",
		"what is the reviewer allowed to do",
		"open the profile of the researcher",
		"inspect the clerk's setup",
		"details of the support persona",
		"how is this assistant configured",
		"how was the assistant on the night desk defined",
		"let me read a bot's prompt",
	}

	removeAsks = []string{
		"dismiss the tax specialist",
		"remove the bot that grades essays",
		"unregister an assistant",
		"we don't need the editor any longer, take it out",
		"fire the claims checker",
		"throw out the researcher",
		"erase an agent's definition",
		"get rid of the support bot",
		"let one of the assistants go",
		"discard the digital clerk",
		"drop that helper from the roster",
		"decommission an agent for good",
		"an assistant leaves the team for ever",
		"take a bot off the books",
	}
)
