// Package sarif writes findings as SARIF 2.1.0, which code hosts show next to the lines of a
// change.
package sarif

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Rule is a kind of finding.
type Rule struct{ ID, Text string }

// Result is a finding.
type Result struct {
	Rule    string // an ID
	Level   string // error, warning or note
	Message string
	Path    string
	Line    int    // from 1; 0 = the file as a whole
	ID      string // the same in every run that finds it; may be empty
}

// Note reports what was not checked: in a file, or in the whole run if Path is empty.
type Note struct{ Path, Text string }

// Run is one run of a tool. Its log leaves out rules without a result.
type Run struct {
	Tool, Version string
	Rules         []Rule
	Results       []Result
	Notes         []Note
}

// Log returns the log of a run.
func (run Run) Log() []byte {
	described, index := []ordered.Map{}, map[string]int{}
	for _, rule := range run.Rules {
		if slices.ContainsFunc(run.Results, func(r Result) bool { return r.Rule == rule.ID }) {
			index[rule.ID] = len(described)
			described = append(described, ordered.Map{{Key: "id", Value: rule.ID}, {Key: "shortDescription", Value: text(rule.Text)}})
		}
	}
	found := []ordered.Map{}
	for _, r := range run.Results {
		one := ordered.Map{{Key: "ruleId", Value: r.Rule}}
		if i, known := index[r.Rule]; known {
			one.Set("ruleIndex", i)
		}
		one = append(one, ordered.Map{{Key: "level", Value: r.Level}, {Key: "message", Value: text(r.Message)},
			{Key: "locations", Value: locations(r.Path, r.Line)}}...)
		if r.ID != "" {
			one.Set("partialFingerprints", ordered.Map{{Key: run.Tool + "/v1", Value: r.ID}})
		}
		found = append(found, one)
	}
	driver := ordered.Map{{Key: "name", Value: run.Tool}, {Key: "version", Value: run.Version}, {Key: "rules", Value: described}}
	log := ordered.Map{{Key: "tool", Value: ordered.Map{{Key: "driver", Value: driver}}}}
	if len(run.Notes) > 0 {
		notes := []ordered.Map{}
		for _, n := range run.Notes {
			note := ordered.Map{{Key: "level", Value: "warning"}, {Key: "message", Value: text(n.Text)}}
			if n.Path != "" {
				note.Set("locations", locations(n.Path, 0))
			}
			notes = append(notes, note)
		}
		log.Set("invocations", []ordered.Map{{{Key: "executionSuccessful", Value: true}, {Key: "toolExecutionNotifications", Value: notes}}})
	}
	log.Set("results", found)
	return ordered.MustJSON(ordered.Map{
		{Key: "$schema", Value: "https://json.schemastore.org/sarif-2.1.0.json"}, {Key: "version", Value: "2.1.0"},
		{Key: "runs", Value: []ordered.Map{log}},
	})
}

// locations returns the location of a result.
func locations(path string, line int) []ordered.Map {
	uri := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		uri.Scheme, uri.Path = "file", "/"+strings.TrimPrefix(uri.Path, "/") // a Windows drive has no leading slash
	}
	place := ordered.Map{{Key: "artifactLocation", Value: ordered.Map{{Key: "uri", Value: uri.String()}}}}
	if line > 0 {
		place.Set("region", ordered.Map{{Key: "startLine", Value: line}})
	}
	return []ordered.Map{{{Key: "physicalLocation", Value: place}}}
}

func text(s string) ordered.Map { return ordered.Map{{Key: "text", Value: s}} }
