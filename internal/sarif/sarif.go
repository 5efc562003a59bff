// Package sarif writes findings as SARIF 2.1.0, which code hosts show beside the lines
// of a change.
package sarif

import (
	"path/filepath"
	"slices"

	"github.com/toolfold/toolfold/internal/ordered"
)

// Rule is a kind of finding.
type Rule struct{ ID, Text string }

// Result is a finding. Lines count from 1.
type Result struct {
	Rule    string // an ID
	Level   string // error, warning or note
	Message string
	Path    string
	Line    int
}

// Log returns the findings of one run of a tool. Rules that no result has are left out.
func Log(tool, version string, rules []Rule, results []Result) []byte {
	described := []ordered.Map{}
	for _, rule := range rules {
		if slices.ContainsFunc(results, func(r Result) bool { return r.Rule == rule.ID }) {
			described = append(described, ordered.Map{{Key: "id", Value: rule.ID}, {Key: "shortDescription", Value: text(rule.Text)}})
		}
	}
	found := []ordered.Map{}
	for _, r := range results {
		place := ordered.Map{
			{Key: "artifactLocation", Value: ordered.Map{{Key: "uri", Value: filepath.ToSlash(r.Path)}}},
			{Key: "region", Value: ordered.Map{{Key: "startLine", Value: r.Line}}},
		}
		found = append(found, ordered.Map{
			{Key: "ruleId", Value: r.Rule}, {Key: "level", Value: r.Level}, {Key: "message", Value: text(r.Message)},
			{Key: "locations", Value: []ordered.Map{{{Key: "physicalLocation", Value: place}}}},
		})
	}
	driver := ordered.Map{{Key: "name", Value: tool}, {Key: "version", Value: version}, {Key: "rules", Value: described}}
	run := ordered.Map{{Key: "tool", Value: ordered.Map{{Key: "driver", Value: driver}}}, {Key: "results", Value: found}}
	return ordered.MustJSON(ordered.Map{
		{Key: "$schema", Value: "https://json.schemastore.org/sarif-2.1.0.json"}, {Key: "version", Value: "2.1.0"},
		{Key: "runs", Value: []ordered.Map{run}},
	})
}

func text(s string) ordered.Map { return ordered.Map{{Key: "text", Value: s}} }
