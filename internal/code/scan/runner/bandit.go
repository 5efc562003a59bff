package runner

import "encoding/json"

var bandit = Runner{
	Name: "bandit", Job: "security of Python", Files: python,
	Config: []string{".bandit", "bandit.yaml", "bandit.yml", "pyproject.toml:[tool.bandit", "setup.cfg:[bandit", "tox.ini:[bandit",
		".pre-commit-config.yaml:id: bandit"},
	Args:    []string{"--quiet", "--format", "json", "--"},
	Apart:   &Isolation{Args: []string{"--ini", "{config}", "--quiet", "--format", "json", "--"}, Config: "[bandit]\n"},
	Install: "pipx install bandit",
	Count:   Count{Bytes, 1, 0}, Read: readBandit,
	Bugs: map[string]string{"": "security"},
}

// readBandit reads --format json. Versions before 1.7 have no columns.
func readBandit(output []byte) ([]Report, error) {
	var report struct {
		Errors  []struct{ Filename, Reason string }
		Results []struct {
			Filename   string
			Line       int    `json:"line_number"`
			Column     int    `json:"col_offset"`
			Severity   string `json:"issue_severity"`
			Confidence string `json:"issue_confidence"`
			Text       string `json:"issue_text"`
			Test       string `json:"test_id"`
		}
	}
	if err := json.Unmarshal(output, &report); err != nil {
		return nil, err
	}
	var list []Report
	for _, e := range report.Errors {
		list = append(list, Report{File: e.Filename, Message: e.Reason})
	}
	for _, r := range report.Results {
		list = append(list, Report{Rule: r.Test, File: r.Filename, At: Place{Line: r.Line, Column: r.Column}, Word: r.Severity,
			Confidence: confidences[r.Confidence], Message: r.Text})
	}
	return list, nil
}
