package scan

import (
	"slices"
	"strings"
)

// Summary holds the result fields that the scans of both families share. Embed
// it in the result of a scan.
type Summary struct {
	Files     int       `json:"files" doc:"Files that were scanned."`
	Count     int       `json:"count" doc:"Findings."`
	Older     int       `json:"older,omitempty" doc:"More in these files, on lines that did not change; not kept."`
	Quiet     int       `json:"suppressed,omitempty" doc:"More that comments such as nolint, noqa or eslint-disable suppress."`
	HasMore   bool      `json:"hasMore" doc:"Whether there are more than are shown."`
	Analysers []string  `json:"analysers" doc:"What ran."`
	Skipped   []Skipped `json:"skipped,omitempty" doc:"What was not analysed, or not by all."`
	Unnamed   int       `json:"unnamed,omitempty" doc:"How many more were skipped."`
	Truncated string    `json:"truncated,omitempty" doc:"Why there may be more findings."`
	LookedFor string    `json:"lookedFor,omitempty" doc:"Of a scan without findings: what it looked for, and what not."`
}

// Summary returns the result fields of a report of which so many findings are
// shown.
func (r *Report) Summary(limit int) Summary {
	return Summary{
		Files: r.Files, Count: len(r.Findings), Older: r.Older, Quiet: r.Quiet, HasMore: len(r.Findings) > limit, Analysers: r.Analysers,
		Skipped: r.Skipped, Unnamed: r.Unnamed, Truncated: r.Truncated, LookedFor: r.LookedFor,
	}
}

// lookedFor says in short what a scan for faults looked for in files of these languages, and what it
// cannot see. Types are a matter of the tools that ran.
func lookedFor(spoken map[language]bool, fast bool, ran []string) string {
	var parts []string
	add := func(l language, what, without, tool string) {
		if !spoken[l] {
			return
		}
		if tool != "" && !slices.Contains(ran, tool) {
			what += ", not " + without
		}
		parts = append(parts, what)
	}
	spoken[typescript] = spoken[typescript] || spoken[javascript]
	goes := "Go for leaks, nil, locks, contexts, formats, secrets and injection"
	if fast {
		goes = "Go for secrets, injection and unchecked certificates"
	}
	add(golang, goes, "what its analysers find", "staticcheck")
	add(typescript, "scripts for secrets, injection, promises, comparisons, loops, listeners and hooks", "types, as tsc did not run", "tsc")
	add(python, "Python for secrets, injection, shared defaults, coroutines, files and exceptions", "types, as pyright did not run", "pyright")
	if parts == nil {
		return ""
	}
	return "looked at " + strings.Join(parts, "; ") + ". Wrong results and missing checks are for tests to find"
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
	Message    string  `json:"message" doc:"What the rule says."`
	Advice     string  `json:"advice,omitempty" doc:"What to do."`
	Snippet    string  `json:"snippet" doc:"The line."`
	Confidence float64 `json:"confidence" doc:"0 to 1."`
	Fixable    bool    `json:"fixable" doc:"Whether there is a safe fix."`
}

// Place returns what findings of both families show.
func (f Finding) Place() Place {
	return Place{
		Rule: f.Rule, File: f.File, Line: f.Line, Column: f.Column, Message: f.Message, Advice: f.Advice,
		Snippet: f.Snippet, Confidence: f.Confidence, Fixable: f.Fixable(),
	}
}
