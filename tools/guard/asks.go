package guard

// Requests that people make of the actions, in the words of many trades.
var (
	checkAsks = []string{
		"check my changes against the rules",
		"do these edited files violate a policy",
		"may this change go in",
		"verify the modified files before the commit",
		"is the change too large",
		"did I touch files I was not supposed to",
		"gate the uncommitted changes",
		"has somebody put a secret or password into the changed files",
		"validate a patch against the bugfix policy",
		"are the new imports permitted",
		"does my edit stay within the permitted folders",
		"run the contract tests for what was changed",
		"compliance check of the modified documents",
		"review whether the changes respect the boundaries",
		"pass or fail for my working copy",
		"is what I changed acceptable",
	}

	listAsks = []string{
		"which policies are there",
		"list the rules for changes",
		"show all guard policies",
		"what restrictions exist for edits",
		"which policy files are broken",
		"overview of the change rules",
		"what compliance policies can I choose from",
		"enumerate the available gates and policies",
		"names of the rulebooks",
		"which boundaries have been defined for file changes",
		"what limits on modifications do we have",
		"see the built-in policies",
		"what regulations govern edits here",
		"browse the guard rules",
		"what is forbidden when files are edited",
		"which sets of rules could I hold the team to",
	}

	applyAsks = []string{
		"hold this session to a policy",
		"restrict which files an agent may write",
		"put the session under the bugfix rules",
		"enforce a policy on the team's work",
		"limit a session to certain folders",
		"from now on only changes in docs are permitted",
		"bind the agents of this session to a rulebook",
		"lock down what may be edited",
		"make the collaboration obey the change policy",
		"protect the rest of the project while they work",
		"impose boundaries on a session",
		"guard a session",
		"confine the assistants' edits to one directory",
		"activate a restriction for this joint work",
		"set the rules that the run has to follow",
		"nothing outside the annex may be changed by this team",
	}
)
