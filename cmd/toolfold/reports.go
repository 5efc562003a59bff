package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/policy"
	"github.com/toolfold/toolfold/internal/sarif"
	"github.com/toolfold/toolfold/tools/bugfix"
	"github.com/toolfold/toolfold/tools/guard"
	"github.com/toolfold/toolfold/tools/refactor"
)

// isCallOf reports whether a name, with the action that the arguments name, calls an action.
func isCallOf(a *toolfold.Action, name string, args json.RawMessage) bool {
	if name == a.Family.Name {
		var named struct{ Action string }
		return json.Unmarshal(args, &named) == nil && named.Action == a.Name
	}
	return name == a.FullName() || name == a.Family.Name+"_"+a.Name
}

// guardCheck is the action whose answer is a verdict.
var guardCheck = guard.Family.Declared().Actions[0]

// verdict returns the error of a check that must not pass: with the status FAIL, or with WARN
// too where failOn is warn.
func verdict(failOn, name string, args json.RawMessage, answer []byte) error {
	var check struct{ Status, Summary string }
	if !isCallOf(guardCheck, name, args) || json.Unmarshal(answer, &check) != nil {
		return nil
	}
	switch {
	case check.Status == "":
		return errors.New("guard.check: the status was left out of the answer, so that nothing is known to pass")
	case check.Status == policy.Fail || check.Status == policy.Warn && failOn == "warn":
		return fmt.Errorf("guard.check: %s", cmp.Or(check.Summary, check.Status))
	}
	return nil
}

// runAction runs another action of the server and reads its result.
type runAction func(action string, args, into any) error

// reportOf returns the results of an answer as SARIF.
func reportOf(name string, args json.RawMessage, answer []byte, run runAction) (json.RawMessage, error) {
	var results []sarif.Result
	var err error
	switch {
	case isCallOf(bugfix.Family.Declared().Actions[0], name, args):
		results, err = findings(answer, "bugfix.list", run)
	case isCallOf(refactor.Family.Declared().Actions[0], name, args):
		results, err = findings(answer, "refactor.list", run)
	case isCallOf(guardCheck, name, args):
		results, err = offences(answer)
	default:
		err = usageError("--format sarif is for bugfix.scan, refactor.scan and guard.check")
	}
	if err != nil {
		return nil, err
	}
	var rules []sarif.Rule
	seen := map[string]bool{}
	for _, r := range results {
		if !seen[r.Rule] {
			seen[r.Rule] = true
			rules = append(rules, sarif.Rule{ID: r.Rule, Text: r.Message})
		}
	}
	return sarif.Log("toolfold", version(), rules, results), nil
}

// sarifLevels are the levels for severities of bugfix and answers of guard; the others, and
// impacts of refactor, are notes.
var sarifLevels = map[string]string{"critical": "error", "high": "error", "medium": "warning", policy.Fail: "error", policy.Warn: "warning"}

// findings returns all findings of the scan that an answer is of: it shows only the worst.
func findings(answer []byte, list string, run runAction) ([]sarif.Result, error) {
	var scan struct{ ScanID string }
	if err := json.Unmarshal(answer, &scan); err != nil || scan.ScanID == "" {
		return nil, errors.New("the answer names no scan: leave include_fields and jq out")
	}
	var results []sarif.Result
	for args := map[string]any{"scanId": scan.ScanID, "limit": 500}; ; {
		var page struct {
			Items []struct {
				Rule, Severity, File, Message, Advice string
				Line                                  int
			}
			NextCursor string
		}
		if err := run(list, args, &page); err != nil {
			return nil, err
		}
		for _, i := range page.Items {
			results = append(results, sarif.Result{Rule: i.Rule, Level: cmp.Or(sarifLevels[i.Severity], "note"),
				Message: i.Message + ". " + i.Advice,
				Path:    i.File, Line: i.Line})
		}
		if page.NextCursor == "" {
			return results, nil
		}
		args = map[string]any{"limit": 500, "cursor": page.NextCursor}
	}
}

// offences returns what the gates of a check do not let pass.
func offences(answer []byte) ([]sarif.Result, error) {
	var out guard.CheckOut
	if err := json.Unmarshal(answer, &out); err != nil {
		return nil, fmt.Errorf("reading answer: %w", err)
	}
	var results []sarif.Result
	for _, gate := range out.Gates {
		if gate.Status == policy.Pass {
			continue
		}
		for _, offence := range gate.Paths {
			results = append(results, sarif.Result{Rule: "guard/" + gate.Gate, Level: sarifLevels[gate.Status], Message: offence.Reason,
				Path: offence.Path, Line: 1})
		}
	}
	return results, nil
}
