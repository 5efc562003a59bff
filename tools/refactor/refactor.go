// Package refactor declares the refactor tool: analysers and rules find possible improvements in
// files of the workspace, and safe changes are applied. It asks no model.
//
// It is not a stable API: see docs/stability.md.
package refactor

import (
	_ "embed"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/code/git"
	"github.com/toolfold/toolfold/internal/code/scan"
)

// The parameters.
var (
	types          = toolfold.List{Name: "types", Doc: "Only these.", Of: toolfold.String{Enum: scan.Kinds[scan.Refactorings]}}
	minConfidence  = toolfold.Number{Name: "minConfidence", Doc: "Least confidence, 0 to 1."}
	maxImpact      = toolfold.String{Name: "maxImpact", Doc: "Most impact.", Enum: scan.Levels[scan.Refactorings]}
	opportunityID  = toolfold.UUID("opportunityId", "The finding.")
	opportunityIDs = toolfold.List{Name: "opportunityIds", Doc: "Instead: several.", MinItems: 1, MaxItems: scan.MaxAtOnce,
		Of: toolfold.String{MaxLen: 36}}
	autoApply = toolfold.Bool{Name: "autoApply", Doc: "Write, with dryRun false."}
	kind      = toolfold.String{Name: "type", Doc: "Only this."}
	impact    = toolfold.String{Name: "impact", Doc: "Only this.", Enum: scan.Levels[scan.Refactorings]}
)

//go:embed asks.txt
var asksText string

// Family declares the refactor tool.
var Family = toolfold.Family{
	Name: "refactor", Summary: "Improve code", Category: "code", Tier: toolfold.Extended,
	Words: "clean up, simplify, modernize, restructure, technical debt, code smell, quality, tidy up, polish, ugly code",
	Doc: "Go with modernize and staticcheck; JavaScript, TypeScript and Python with a few rules of its own; and with " +
		"the linters that the project uses, such as eslint, ruff and golangci-lint. " +
		"A finding keeps its opportunityId while its line stays the same.",
	Asks: asksText,
	Actions: []*toolfold.Action{{
		Name:    "scan",
		Legacy:  toolfold.OldNames{{Name: "refactor_scan", Required: toolfold.Fields{scan.Paths}}},
		Summary: "Look for code to improve in changes since a commit, or in files.",
		Covers:  func() []string { return scan.Covers(scan.Refactorings) },
		Words: "simplify, modernize, rename, extract, remove, clean up, code smell, duplication, long functions, unused imports, " +
			"analyse, analyze, improve, getting messy",
		Doc: "since: uncommitted looks at an edit's changes. Shows the five of highest impact; refactor.list has all. Long " +
			"functions and repeated code are found only by types: extract-function, remove-duplication.",
		Changed: "Go and Python are scanned too, with analysers. excludePatterns and types act. Files that cannot be analysed are in skipped. " +
			"maxFiles is 1,000 unless given, and may be up to 10,000. byImpact takes the place of bySeverity. The rest of the findings " +
			"is in refactor.list instead of an artifact.",
		Optional: toolfold.Fields{
			git.Ref.With(toolfold.Added()), scan.Paths, types,
			minConfidence.With(toolfold.Default(0.7), toolfold.Min(0), toolfold.Max(1)), maxImpact,
			scan.Exclude,
			scan.MaxFiles.With(toolfold.Default(1000)),
		},
		Effect:      toolfold.Adds,
		Example:     `{"paths": ["src"], "types": ["modernize-syntax"]}`,
		Related:     []string{"refactor.list", "refactor.apply"},
		BecomesTask: true,
		Restrains:   true,
		Run:         toolfold.Method((*Service).Scan),
	}, {
		Name:    "apply",
		Legacy:  toolfold.OldNames{{Name: "refactor_apply", Required: toolfold.Fields{opportunityID}}},
		Summary: "Show one or many improvements as a diff, or write them, tested.",
		Words:   "refactor, rewrite, change, do it, make, patch, clean up, carry out, proposed, tidy-up",
		Doc: "Takes opportunityId, opportunityIds, or a rule or file: all in the newest scan with a safe change, in one go. A " +
			"file is written only if nothing else changed it since the scan; other findings stay valid if their lines did not change.",
		Changed: "Changes are shown as a diff, and written with autoApply: true and dryRun: false. createBackup and runTests act.",
		Optional: toolfold.Fields{
			opportunityID, opportunityIDs.With(toolfold.Added()), scan.Rule.With(toolfold.Added()), scan.File.With(toolfold.Added()),
			scan.DryRun.With(toolfold.Default(true)), autoApply.With(toolfold.Default(false)), scan.Backup.With(toolfold.Default(true)),
			scan.RunTests.With(toolfold.Default(false)),
		},
		Either:  toolfold.Fields{opportunityID, opportunityIDs, scan.Rule, scan.File},
		Effect:  toolfold.Runs,
		Example: `{"opportunityId": "` + exampleID + `"}`,
		Related: []string{"refactor.scan", "refactor.list"},
		Run:     toolfold.Method((*Service).Apply),
		Writes:  toolfold.Files((*Service).Writes),
	}, {
		Name:     "list",
		Legacy:   toolfold.Was("refactor_list"),
		Summary:  "List the improvements that a scan found, highest impact first.",
		Words:    "findings, results, opportunities, suggestions, show all, overview, proposals, came out",
		Changed:  "Pages: hasMore, and nextCursor for the next one. Without scanId the newest scan is listed. An unknown type is refused.",
		Optional: toolfold.Fields{scan.ScanID, kind, impact, scan.Limit.With(toolfold.Default(50)), toolfold.Cursor.With(toolfold.Added())},
		Effect:   toolfold.Reads,
		Example:  `{"impact": "trivial", "limit": 5}`,
		Related:  []string{"refactor.apply"},
		Run:      toolfold.Method((*Service).List),
	}},
}

// exampleID is the id of the finding in the example of scan.
const exampleID = "2fc905bd-fc63-83d0-981e-17c83885d8f8"
