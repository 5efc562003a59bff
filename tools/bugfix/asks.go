package bugfix

// Requests that people make of the actions, in the words of many trades.
var (
	scanAsks = []string{
		"look for bugs in these files",
		"check the source for security holes",
		"scan the code for memory leaks and race conditions",
		"find nil dereferences",
		"are there any hard-coded passwords or secrets in the code",
		"which faults does this program have",
		"review the script for logic errors",
		"inspect the sources for SQL injection",
		"is this code safe",
		"search for unchecked errors",
		"run a static analysis",
		"detect resource leaks such as files that are never closed",
		"why might this program crash, look for mistakes",
		"vulnerability check of the booking site's code",
		"go over the payroll code for type errors",
		"find deadlocks and unguarded shared variables",
		"lint the project for defects",
		"audit our billing code for weaknesses",
		"hunt for problems in the source of the ticket machine",
	}

	runAsks = []string{
		"fix a bug that the scan found",
		"apply the proposed patch",
		"repair the fault automatically",
		"show me the fix as a diff",
		"correct the mistake in the code",
		"write the correction to the file",
		"mend the leak that was reported",
		"preview how a defect would be fixed",
		"patch the security hole",
		"make the suggested correction, with a backup",
		"resolve this finding",
		"dry run of a repair",
		"cure the crash in the payroll code",
		"undo the unsafe comparison by the suggested change",
		"eliminate a reported fault",
	}

	listAsks = []string{
		"list the faults that were found",
		"show the worst bugs first",
		"which security problems did the last scan report",
		"what defects are still on the list",
		"findings of the bug scan",
		"how many critical faults are there",
		"all reported leaks",
		"results of the code inspection",
		"show me every finding with high severity",
		"which errors were detected in the payroll code",
		"read the bug report of a scan",
		"filter the faults by category",
		"what came out of the vulnerability check",
		"open defects, most serious on top",
		"rank the reported mistakes by severity",
		"show what the code check has against us",
	}
)
