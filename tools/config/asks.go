package config

// Requests that people make of the actions, in the words of many trades.
var (
	getAsks = []string{
		"what is the setting log.level",
		"read one configuration value",
		"which model is configured by default",
		"show the value of a single option",
		"how is the listing set",
		"what does the preference for the store say",
		"look up the configured port",
		"get a setting by its path",
		"is read-only mode turned on in the settings",
		"what address is the server configured to listen on",
		"tell me the current value of one preference",
		"which database is set in the options",
		"what have I set as provider",
		"value of an option in the workspace's file",
		"to what have we set the time zone option",
		"check one entry of the settings",
	}

	setAsks = []string{
		"set the default model",
		"turn read-only mode on in the configuration",
		"configure the server to use another database",
		"write a preference for this workspace",
		"adjust the log level",
		"enable an option permanently",
		"switch the listing to full",
		"modify one configuration value",
		"let the server start with fewer tools by default",
		"save my choice of provider in the settings",
		"make this option the default for all my projects",
		"override a preference",
		"store an API key name in the user's settings",
		"alter the port the server listens on",
	}

	showAsks = []string{
		"print the whole configuration",
		"which options are in effect",
		"what has been configured, and in which file",
		"dump the user's preferences",
		"list every setting of this workspace",
		"overview of the configuration",
		"how is this server set up",
		"all options and their values",
		"what are my preferences",
		"display the merged configuration",
		"give me the complete settings file",
		"which defaults have been changed",
		"read the global options",
		"lay open all the knobs and their positions",
		"how are all the switches set",
	}

	unsetAsks = []string{
		"remove a setting",
		"reset one option to its default",
		"delete the configured model",
		"take my override out of the settings file",
		"undo a preference",
		"clear the configured port",
		"go back to the standard value of an option",
		"drop a value from the workspace's configuration",
		"stop overriding the log level",
		"I no longer want that preference, remove it",
		"erase one line of the configuration",
		"revert an option to factory state",
		"withdraw a setting",
		"unconfigure the provider",
		"forget my choice for this option",
		"let the default apply again",
	}

	testAsks = []string{
		"test the connection to the model provider",
		"does my API key work",
		"check whether the language model answers",
		"ping the AI provider",
		"how quickly does the model respond",
		"verify the credentials of the provider",
		"try out the configured model",
		"is the LLM reachable",
		"why do calls to the model fail",
		"health check of the provider",
		"make sure that the model settings are right",
		"see if the connection to the AI service is alive",
		"latency of the model",
		"validate the provider's key",
		"probe the chat model",
	}
)
