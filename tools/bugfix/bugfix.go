// Package bugfix declares the bugfix tool: analysers and rules find faults in files of the
// workspace, and safe fixes are applied. It asks no model.
//
// It is not a stable API: see docs/stability.md.
package bugfix

import (
	_ "embed"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/code/git"
	"github.com/toolfold/toolfold/internal/code/scan"
)

// The parameters.
var (
	categories  = toolfold.List{Name: "categories", Doc: "Only these.", Of: toolfold.String{Enum: scan.Kinds[scan.Bugs]}}
	minSeverity = toolfold.String{Name: "minSeverity", Doc: "Least severity.", Enum: scan.Levels[scan.Bugs]}
	useAST      = toolfold.Bool{Name: "useAst", Doc: "False runs only the built-in rules, no analysers."}
	bugID       = toolfold.UUID("bugId", "The finding.")
	bugIDs      = toolfold.List{Name: "bugIds", Doc: "Instead: several.", MinItems: 1, MaxItems: scan.MaxAtOnce,
		Of: toolfold.String{MaxLen: 36}}
	autoApply = toolfold.Bool{Name: "autoApply", Doc: "Write, with dryRun false."}
	severity  = toolfold.String{Name: "severity", Doc: "Only this.", Enum: scan.Levels[scan.Bugs]}
	category  = toolfold.String{Name: "category", Doc: "Only this.", Enum: scan.Kinds[scan.Bugs]}
)

//go:embed asks.txt
var asksText string

// Family declares the bugfix tool.
var Family = toolfold.Family{
	Name: "bugfix", Summary: "Find and fix bugs", Category: "code", Tier: toolfold.Extended,
	Words: "bug, lint, linter, static analysis, vulnerability, defect, error, issue, problem, leak, crash, weakness",
	Doc: "Go with go vet, staticcheck and sqlclosecheck; JavaScript, TypeScript and Python " +
		"with a few rules of its own that need no types; and with the linters and type checkers that the project uses, such as eslint, " +
		"tsc, ruff, mypy and golangci-lint. " +
		"A finding keeps its bugId while its line stays the same.",
	Asks: asksText,
	Actions: []*toolfold.Action{{
		Name:    "scan",
		Legacy:  toolfold.OldNames{{Name: "bugfix_scan", Required: toolfold.Fields{scan.Paths}}},
		Summary: "Look for faults in changes since a commit, or in files.",
		Covers:  func() []string { return scan.Covers(scan.Bugs) },
		Words:   "lint, check, analyse, analyze, inspect, audit, review, vet, detect, vulnerabilities, sniff out",
		Doc: "since: uncommitted finds faults of an edit. Looks for leaks, nil, types, logic, concurrency, security. Shows the five " +
			"worst; bugfix.list has all.",
		Changed: "Go and Python are scanned too, with analysers. excludePatterns, categories and useAst act. Files that cannot be " +
			"analysed are in skipped. maxFiles is 1,000 unless given, and may be up to 10,000, and minSeverity is medium. " +
			"The rest of the findings is in bugfix.list instead of an artifact.",
		Optional: toolfold.Fields{git.Ref.With(toolfold.Added()), scan.Paths, categories,
			minSeverity.With(toolfold.Default("medium")), scan.Exclude, scan.MaxFiles.With(toolfold.Default(1000)),
			useAST.With(toolfold.Default(true))},
		Effect:      toolfold.Adds,
		Example:     `{"paths": ["src"], "minSeverity": "low"}`,
		Related:     []string{"bugfix.list", "bugfix.run"},
		BecomesTask: true,
		Restrains:   true,
		Run:         toolfold.Method((*Service).Scan),
	}, {
		Name:    "run",
		Legacy:  toolfold.OldNames{{Name: "bugfix_run", Required: toolfold.Fields{bugID}}},
		Means:   "fix",
		Summary: "Show fixes of one or many faults as a diff, or write them.",
		Words:   "fix, repair, mend, patch, correct, apply, solve, heal, null dereference",
		Doc: "Takes bugId, bugIds, or a rule or file: all in the newest scan with a safe fix, in one go. A file is written " +
			"only if nothing else changed it since the scan; other findings stay valid if their lines did not change.",
		Changed: "Fixes are shown as a diff, and written with autoApply: true and dryRun: false. createBackup keeps a copy.",
		Optional: toolfold.Fields{bugID, bugIDs.With(toolfold.Added()), scan.Rule.With(toolfold.Added()), scan.File.With(toolfold.Added()),
			scan.DryRun.With(toolfold.Default(true)), autoApply.With(toolfold.Default(false)), scan.Backup.With(toolfold.Default(true)),
			scan.RunTests.With(toolfold.Default(false), toolfold.Added())},
		Either:  toolfold.Fields{bugID, bugIDs, scan.Rule, scan.File},
		Effect:  toolfold.Runs,
		Example: `{"bugId": "` + exampleID + `"}`,
		Related: []string{"bugfix.scan", "bugfix.list"},
		Run:     toolfold.Method((*Service).Run),
		Writes:  toolfold.Files((*Service).Writes),
	}, {
		Name:     "list",
		Legacy:   toolfold.Was("bugfix_list"),
		Summary:  "List the faults that a scan found, the worst first.",
		Words:    "findings, results, which bugs, show all, overview, report, open findings",
		Changed:  "Pages: hasMore, and nextCursor for the next one. Without scanId the newest scan is listed.",
		Optional: toolfold.Fields{scan.ScanID, severity, category, scan.Limit.With(toolfold.Default(50)), toolfold.Cursor.With(toolfold.Added())},
		Effect:   toolfold.Reads,
		Example:  `{"severity": "high", "limit": 5}`,
		Related:  []string{"bugfix.run"},
		Run:      toolfold.Method((*Service).List),
	}},
}

// exampleID is the id of the fault in the example of scan.
const exampleID = "18c7c6ef-6f45-8fd3-b0cf-0caa82a8ca65"
