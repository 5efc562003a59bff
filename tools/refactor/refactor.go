// Package refactor declares the refactor tool: places in the files of the
// workspace where code can be better, found by analysers and rules, and changed
// where a change is safe. No model is asked.
package refactor

import (
	"github.com/toolfold/toolfold/internal/scan"
	"github.com/toolfold/toolfold/tools"
)

// The parameters.
var (
	paths         = tools.List{Name: "paths", Doc: "Files and folders in the workspace.", MinItems: 1, MaxItems: 100, Of: tools.String{MinLen: 1, MaxLen: 1000}}
	types         = tools.List{Name: "types", Doc: "Only these.", Of: tools.String{Enum: scan.Kinds[scan.Refactorings]}}
	minConfidence = tools.Number{Name: "minConfidence", Doc: "Least confidence, 0 to 1."}
	maxImpact     = tools.String{Name: "maxImpact", Doc: "Most impact.", Enum: scan.Levels[scan.Refactorings]}
	exclude       = tools.List{Name: "excludePatterns", Doc: "Globs such as **/gen/** or *.min.js. .gitignore holds too.", Of: tools.String{MinLen: 1, MaxLen: 500}, MaxItems: 50}
	maxFiles      = tools.Int{Name: "maxFiles", Doc: "Most files to scan.", Min: 1, Max: 10_000}
	opportunityID = tools.UUID("opportunityId", "The finding.")
	dryRun        = tools.Bool{Name: "dryRun", Doc: "Only show the diff."}
	autoApply     = tools.Bool{Name: "autoApply", Doc: "Write the change, with dryRun false."}
	backup        = tools.Bool{Name: "createBackup", Doc: "Keep a copy of the file."}
	runTests      = tools.Bool{Name: "runTests", Doc: "Run the setting testCommand, and take the change back if it fails."}
	scanID        = tools.UUID("scanId", "The scan; absent = the newest.")
	kind          = tools.String{Name: "type", Doc: "Only this."}
	impact        = tools.String{Name: "impact", Doc: "Only this.", Enum: scan.Levels[scan.Refactorings]}
	limit         = tools.Int{Name: "limit", Doc: "Most findings to return.", Min: 1, Max: 500}
)

// Family declares the refactor tool.
var Family = tools.Family{
	Name: "refactor", Summary: "Improve code", Category: "code", Tier: tools.Extended,
	Words: "clean up, simplify, modernize, restructure, technical debt, code smell, quality, tidy up, polish, ugly code",
	Doc: "Go with modernize and staticcheck; JavaScript, TypeScript and Python with rules over tokens, and in trusted workspaces with eslint and ruff " +
		"where they are installed. A finding keeps its opportunityId while its line stays the same.",
	Actions: []*tools.Action{{
		Name:    "scan",
		Legacy:  tools.Was("refactor_scan"),
		Summary: "Look for code to simplify, modernize, rename, extract or remove.",
		Words:   "clean up, code smell, duplication, long functions, unused imports, dead code, analyse, analyze, improve, where is it ugly, getting messy",
		Doc:     "Shows the five weightiest; refactor.list has all. skipped says what could not be analysed.",
		Changed: "Go and Python are scanned too, with analysers. excludePatterns and types act. What cannot be analysed is in skipped. " +
			"maxFiles may be up to 10,000. byImpact takes the place of bySeverity. The rest of the findings is in refactor.list instead of an artifact.",
		Required: tools.Fields{paths},
		Optional: tools.Fields{
			types, minConfidence.With(tools.Default(0.7), tools.Min(0), tools.Max(1)), maxImpact, exclude, maxFiles.With(tools.Default(100)),
		},
		Effect:  tools.Adds,
		Example: `{"paths": ["src"], "types": ["modernize-syntax"]}`,
		Related: []string{"refactor.list", "refactor.apply"},
		Run:     tools.Method((*Service).Scan),
	}, {
		Name:     "apply",
		Legacy:   tools.Was("refactor_apply"),
		Summary:  "Show an improvement as a diff, or write it, tested.",
		Words:    "refactor, rewrite, change, do it, make, patch, clean up, carry out, proposed, tidy-up",
		Doc:      "Writes only if the file is as it was scanned: after a change, scan the file again for the next one.",
		Changed:  "Changes are shown as a diff, and written with autoApply: true and dryRun: false. createBackup and runTests act.",
		Required: tools.Fields{opportunityID},
		Optional: tools.Fields{
			dryRun.With(tools.Default(true)), autoApply.With(tools.Default(false)), backup.With(tools.Default(true)), runTests.With(tools.Default(false)),
		},
		Effect:  tools.Runs,
		Example: `{"opportunityId": "` + exampleID + `"}`,
		Related: []string{"refactor.scan", "refactor.list"},
		Run:     tools.Method((*Service).Apply),
		Writes:  tools.Files((*Service).Writes),
	}, {
		Name:     "list",
		Legacy:   tools.Was("refactor_list"),
		Summary:  "List the improvements that a scan found, the weightiest first.",
		Words:    "findings, results, opportunities, suggestions, show all, overview, proposals, biggest gain on top, came out",
		Changed:  "Pages: hasMore, and nextCursor for the next one. Without scanId the newest scan is listed. A type that there is not is refused.",
		Optional: tools.Fields{scanID, kind, impact, limit.With(tools.Default(50)), tools.Cursor.With(tools.Added())},
		Effect:   tools.Reads,
		Example:  `{"impact": "trivial", "limit": 5}`,
		Related:  []string{"refactor.apply"},
		Run:      tools.Method((*Service).List),
	}},
}

// exampleID is the id of the finding in the example of scan.
const exampleID = "45d9a2c3-fba8-8815-9cd5-7e5d36e8550f"
