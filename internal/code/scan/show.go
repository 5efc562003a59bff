package scan

import (
	"fmt"
	"slices"
	"strings"
)

// Summary holds the result fields that scans of both families share. Embed it in the result of a
// scan.
type Summary struct {
	Files      int           `json:"files" doc:"Files that were scanned."`
	Count      int           `json:"count" doc:"Findings."`
	Older      int           `json:"older,omitempty" doc:"More in these files, on lines that did not change; not kept."`
	Suppressed int           `json:"suppressed,omitempty" doc:"More that comments such as nolint, noqa or eslint-disable suppress."`
	Vendored   int           `json:"vendored,omitempty" doc:"Vendored, minified and generated files, left out; name one in paths to scan it."`
	HasMore    bool          `json:"hasMore" doc:"Whether there are more than are shown."`
	Analysers  []string      `json:"analysers" doc:"Analysers that ran."`
	Missing    []string      `json:"missing,omitempty" doc:"Tools that would find more here, and how to install them."`
	Skipped    []SkippedFile `json:"skipped,omitempty" doc:"Files and folders that were not analysed, or not by all."`
	Unnamed    int           `json:"unnamed,omitempty" doc:"How many more were skipped."`
	Truncated  string        `json:"truncated,omitempty" doc:"Why there may be more findings."`
	LookedFor  string        `json:"lookedFor,omitempty" doc:"If there are no findings: the range of the scan, and its gaps."`
}

// Shown returns the result fields of a report of which limit findings are shown.
func (r *Report) Shown(limit int) Summary {
	s := r.Summary
	s.Count, s.HasMore = len(r.Findings), len(r.Findings) > limit
	return s
}

// lookedFor describes the scope and the gaps of a scan without findings. It returns "" if the
// request names kinds, which is its scope. The argument more is the number of files that only tools
// read.
func (w *walker) lookedFor(r Request, ran []string, more int) string {
	if len(w.files)+more == 0 {
		return w.foundNoFile(r.Since)
	}
	if len(r.Kinds) > 0 {
		return ""
	}
	if len(w.files) == 0 {
		return "looked for findings of these tools: " + strings.Join(ran[1:], ", ")
	}
	languages := map[language]bool{}
	for _, name := range w.files {
		l, _ := languageOf(name)
		languages[l] = true
	}
	languages[typescript] = languages[typescript] || languages[javascript]
	if r.Purpose == Refactorings {
		return lookedToImprove(languages, r.Fast)
	}
	return lookedForFaults(languages, r.Fast, ran)
}

// foundNoFile describes that there was no file to scan.
func (w *walker) foundNoFile(since string) string {
	switch {
	case w.changed != nil && len(w.changed) == 0:
		return "nothing has changed (since: " + since + "), so nothing was looked at"
	case w.changed != nil:
		return fmt.Sprintf("no changed file (since: %s) is in a language that this scan knows (%s); other files that were passed over: %d",
			since, Languages, w.otherFiles)
	}
	return fmt.Sprintf("no file in a language that this scan knows (%s); other files that were passed over: %d", Languages, w.otherFiles)
}

// lookedForFaults describes the scope of a scan for faults in these languages. Types depend on the
// tools that ran.
func lookedForFaults(languages map[language]bool, fast bool, ran []string) string {
	var parts []string
	add := func(l language, what, without string, tools ...string) {
		if !languages[l] {
			return
		}
		if !slices.ContainsFunc(tools, func(tool string) bool { return slices.Contains(ran, tool) }) {
			what += ", not " + without
		}
		parts = append(parts, what)
	}
	goes := "Go for leaks, nil, locks, contexts, formats, secrets and requests that are run"
	if fast {
		goes = "Go for secrets, unchecked certificates and requests that are run"
	}
	add(golang, goes, "the findings of its analysers", "staticcheck")
	add(typescript, "scripts for secrets, requests that are run, conditions, comparisons and loops", "types, as tsc did not run", "tsc")
	add(python, "Python for secrets, requests that are run, shared defaults, coroutines, formats and loops",
		"types, as mypy and pyright did not run", "mypy", "pyright")
	return "looked at " + strings.Join(parts, "; ") + ". Wrong results and missing checks are for tests to find"
}

// lookedToImprove describes the scope of a scan for refactorings in these languages.
func lookedToImprove(languages map[language]bool, fast bool) string {
	var parts []string
	if languages[golang] && fast {
		parts = append(parts, "Go for nothing, as its analysers did not run")
	} else if languages[golang] {
		parts = append(parts, "Go for conditions that can be simpler and code that newer Go shortens")
	}
	if languages[typescript] {
		parts = append(parts, "scripts for var and for imports that nothing uses")
	}
	if languages[python] {
		parts = append(parts, "Python for old syntax and imports that nothing uses")
	}
	return "looked at " + strings.Join(parts, "; ") + ". Long functions and repeated code are counted if types has " +
		"extract-function or remove-duplication. How code is named and divided is for people to judge"
}

// ByLevel counts findings by level.
func (r *Report) ByLevel() map[string]int {
	count := map[string]int{}
	for _, f := range r.Findings {
		count[f.Level]++
	}
	return count
}

// Place holds the result fields that findings of both families share.
type Place struct {
	Rule       string  `json:"rule" doc:"Analyser and rule."`
	File       string  `json:"file" doc:"Where."`
	Line       int     `json:"line" doc:"From 1."`
	Column     int     `json:"column" doc:"From 1, in bytes."`
	Message    string  `json:"message" doc:"The rule's message."`
	Advice     string  `json:"advice,omitempty" doc:"The next step."`
	Snippet    string  `json:"snippet" doc:"The line."`
	Confidence float64 `json:"confidence" doc:"0 to 1."`
	Fixable    bool    `json:"fixable" doc:"Whether there is a safe fix."`
}

// Place returns the result fields of a finding.
func (f Finding) Place() Place {
	return Place{
		Rule: f.Rule, File: f.File, Line: f.Line, Column: f.Column, Message: f.FullMessage(), Advice: f.Advice,
		Snippet: f.Snippet, Confidence: f.Confidence, Fixable: f.Fixable(),
	}
}
