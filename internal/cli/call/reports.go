package call

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/code/policy"
	"github.com/toolfold/toolfold/internal/code/sarif"
	"github.com/toolfold/toolfold/internal/code/scan"
	"github.com/toolfold/toolfold/tools/bugfix"
	"github.com/toolfold/toolfold/tools/guard"
	"github.com/toolfold/toolfold/tools/refactor"
	"github.com/toolfold/toolfold/tools/script"
)

// isCallOf reports whether a name, with the action in the arguments, calls the action a.
func isCallOf(a *toolfold.Action, name string, args json.RawMessage) bool {
	if name == a.Family.Name {
		var named struct{ Action string }
		return json.Unmarshal(args, &named) == nil && named.Action == a.Name
	}
	return name == a.FullName() || name == a.Family.Name+"_"+a.Name
}

// guardCheck is the action whose answer is a pass or a failure.
var guardCheck = guard.Family.Declared().Actions[0]

// verdict returns an error if a check does not pass: for the status FAIL, and for WARN if failOn is
// warn.
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

// scriptRun is the action that runs a script.
var scriptRun = script.Family.Declared().Actions[0]

// runAction runs another action of the server and reads its result.
type runAction func(action string, args, into any) error

// reportOf converts the results of an answer to SARIF.
func reportOf(name string, args json.RawMessage, answer []byte, run runAction) (json.RawMessage, error) {
	log := sarif.Run{Tool: "toolfold", Version: env.Version()}
	var err error
	switch {
	case isCallOf(bugfix.Family.Declared().Actions[0], name, args):
		err = findings(&log, answer, "bugfix.list", run)
	case isCallOf(refactor.Family.Declared().Actions[0], name, args):
		err = findings(&log, answer, "refactor.list", run)
	case isCallOf(guardCheck, name, args):
		err = offences(&log, answer)
	default:
		err = env.UsageError("--format sarif is for bugfix.scan, refactor.scan and guard.check")
	}
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, rule := range log.Rules {
		seen[rule.ID] = true
	}
	for _, r := range log.Results {
		if !seen[r.Rule] {
			seen[r.Rule] = true
			log.Rules = append(log.Rules, sarif.Rule{ID: r.Rule, Text: r.Message})
		}
	}
	return log.Log(), nil
}

// sarifLevels maps severities of bugfix and statuses of guard to levels. Other severities, and impacts
// of refactor, are notes.
var sarifLevels = map[string]string{"critical": "error", "high": "error", "medium": "warning", policy.Fail: "error", policy.Warn: "warning"}

// findings adds all findings of an answer's scan, of which the answer has only the worst, and the
// skipped files.
func findings(log *sarif.Run, answer []byte, list string, run runAction) error {
	var report struct {
		ScanID    string
		Skipped   []scan.SkippedFile
		Unnamed   int
		Truncated string
	}
	if err := json.Unmarshal(answer, &report); err != nil || report.ScanID == "" {
		return errors.New("the answer names no scan: leave include_fields and jq out")
	}
	for _, s := range report.Skipped {
		log.Notes = append(log.Notes, sarif.Note{Path: s.Path, Text: s.Reason})
	}
	if report.Unnamed > 0 {
		log.Notes = append(log.Notes, sarif.Note{Text: fmt.Sprintf("%d more were skipped", report.Unnamed)})
	}
	if report.Truncated != "" {
		log.Notes = append(log.Notes, sarif.Note{Text: report.Truncated})
	}
	for args := map[string]any{"scanId": report.ScanID, "limit": 500}; ; {
		var page struct {
			Items []struct {
				BugID, OpportunityID, Rule, Severity, File, Message, Advice string
				Line                                                        int
			}
			NextCursor string
		}
		if err := run(list, args, &page); err != nil {
			return err
		}
		for _, i := range page.Items {
			log.Results = append(log.Results, sarif.Result{
				Rule: i.Rule, Level: cmp.Or(sarifLevels[i.Severity], "note"), Message: i.Message + ". " + i.Advice,
				Path: i.File, Line: i.Line, ID: cmp.Or(i.BugID, i.OpportunityID),
			})
		}
		if page.NextCursor == "" {
			return nil
		}
		args = map[string]any{"limit": 500, "cursor": page.NextCursor}
	}
}

// offences adds the findings of gates that do not pass. A reason may begin with its line.
func offences(log *sarif.Run, answer []byte) error {
	var out guard.CheckOut
	if err := json.Unmarshal(answer, &out); err != nil {
		return fmt.Errorf("reading answer: %w", err)
	}
	for _, gate := range out.Gates {
		if gate.Status == policy.Pass {
			continue
		}
		rule := "guard/" + gate.Gate
		log.Rules = append(log.Rules, sarif.Rule{ID: rule, Text: strings.ReplaceAll(gate.Gate, "_", " ")})
		log.Notes = append(log.Notes, sarif.Note{Text: gate.Gate + ": " + gate.Message})
		for _, offence := range gate.Paths {
			result := sarif.Result{Rule: rule, Level: sarifLevels[gate.Status], Message: offence.Reason, Path: offence.Path}
			_, _ = fmt.Sscanf(offence.Reason, "line %d", &result.Line) // without a line it is about the file
			log.Results = append(log.Results, result)
		}
	}
	return nil
}
