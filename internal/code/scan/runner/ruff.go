package runner

import "encoding/json"

var ruff = Runner{
	Name: "ruff", Job: "lint Python", Files: python, Bare: true, Sure: []string{"E9", "F63", "F7", "F82", "S1", "S2", "S3", "S5", "S6", "S7"},
	Config:  []string{"ruff.toml", ".ruff.toml", "pyproject.toml:[tool.ruff", ".pre-commit-config.yaml:id: ruff"},
	Args:    []string{"check", "--output-format", "json", "--no-cache", "--exit-zero", "--quiet", "--"},
	Apart:   &Isolation{Args: []string{"check", "--isolated", "--output-format", "json", "--no-cache", "--exit-zero", "--quiet", "--"}},
	Install: "pipx install ruff",
	Count:   Count{Runes, 1, 1}, Read: readRuff,
	Bugs: map[string]string{"": "other", "F": "logic-error", "E7": "logic-error", "E9": "logic-error", "B": "logic-error", "S": "security",
		"ASYNC": "concurrency", "PERF": "performance", "SIM115": "resource-leak"},
	Refactorings: map[string]string{"UP": "modernize-syntax", "SIM": "simplify-conditional", "I": "optimize-imports",
		"F401": "optimize-imports", "N": "rename", "C4": "modernize-syntax", "PLR": "extract-function", "ERA": "other"},
}

// readRuff reads --output-format json, which has no severities. Fixes that are not safe change
// behaviour, and are ignored.
func readRuff(output []byte) ([]Report, error) {
	type place struct{ Row, Column int }
	var messages []struct {
		Code     *string
		Filename string
		Message  string
		Location place
		Fix      *struct {
			Applicability string
			Message       string
			Edits         []struct {
				Content     string
				Location    place
				EndLocation place `json:"end_location"`
			}
		}
	}
	if err := json.Unmarshal(output, &messages); err != nil {
		return nil, err
	}
	var list []Report
	for _, m := range messages {
		r := Report{File: m.Filename, At: Place{Line: m.Location.Row, Column: m.Location.Column}, Message: m.Message}
		if m.Code != nil && *m.Code != "invalid-syntax" {
			r.Rule = *m.Code
		}
		if m.Fix != nil && m.Fix.Applicability == "safe" {
			r.Advice = m.Fix.Message
			for _, e := range m.Fix.Edits {
				r.Fix = append(r.Fix, Edit{Place{Line: e.Location.Row, Column: e.Location.Column},
					Place{Line: e.EndLocation.Row, Column: e.EndLocation.Column}, e.Content})
			}
		}
		list = append(list, r)
	}
	return list, nil
}
