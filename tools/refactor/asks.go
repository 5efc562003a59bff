package refactor

// Requests that people make of the actions, in the words of many trades.
var (
	scanAsks = []string{
		"find code that could be simplified",
		"look for duplicated code",
		"which functions are too long or too complex",
		"search for dead code that can be removed",
		"where can the code be modernised",
		"scan for code smells",
		"what could be refactored in these files",
		"suggest improvements to the structure of the code",
		"find unused variables and imports",
		"which names are misleading and should be changed",
		"how can we make this program easier to maintain",
		"look for outdated idioms",
		"is there something to clean up in the sources",
		"spot nested conditions that could be flattened",
		"opportunities to extract a function",
		"review the code quality of the tariff module",
		"technical debt in this folder",
	}

	applyAsks = []string{
		"apply the proposed refactoring",
		"simplify the function as suggested",
		"extract the duplicated lines into a function",
		"remove the dead code that was found",
		"rename the variable throughout",
		"modernise this piece of code",
		"carry out an improvement and run the tests",
		"show the refactoring as a diff",
		"do the clean-up you proposed",
		"rewrite the condition the shorter way",
		"restructure the file according to the finding",
		"preview a code improvement",
		"put the suggested simplification into the file",
		"make the change to the code that the scan recommended",
		"tidy this function up",
	}

	listAsks = []string{
		"which improvements did the scan suggest",
		"show the opportunities with the biggest impact",
		"what code smells are on the list",
		"results of the refactoring scan",
		"all proposed simplifications",
		"which clean-ups are still open",
		"how many duplicates were found",
		"findings about code quality, weightiest first",
		"what could be improved according to the last scan",
		"suggested renames",
		"list of the technical debt that was detected",
		"read the report on what should be restructured",
		"filter the improvements by kind",
		"rank the proposed clean-ups by their weight",
		"show what the quality check came up with",
	}
)
