package runner

import (
	"encoding/json"
	"strings"
)

// gosecForm are the options for JSON output. With -quiet, gosec prints no JSON if it finds nothing.
// SARIF output would be unsuitable: it reports all but the lowest severity as errors.
var gosecForm = []string{"-fmt", "json", "-no-fail", "./..."}

var gosec = Runner{
	Name: "gosec", Job: "security of Go", Files: golang, Whole: true,
	Config:  []string{".gosec.json", "gosec.json", ".pre-commit-config.yaml:gosec", "go.mod:securego/gosec/v2/cmd/gosec"},
	Args:    gosecForm,
	Apart:   &Isolation{Args: gosecForm, Go: true},
	Install: "go install github.com/securego/gosec/v2/cmd/gosec@latest",
	Count:   Count{Bytes, 1, 1}, Read: readGosec,
	Bugs: map[string]string{"": "security"},
}

// confidences maps the confidences of gosec and bandit to numbers.
var confidences = map[string]float64{"LOW": 0.5, "MEDIUM": 0.7, "HIGH": 0.9}

// readGosec reads -fmt json. A line may be a range, as in 3-5.
func readGosec(output []byte) ([]Report, error) {
	var report struct {
		Issues []struct {
			Severity, Confidence, Details, File, Line, Column string
			Rule                                              string `json:"rule_id"`
			Suppressed                                        bool   `json:"nosec"`
		}
	}
	if err := json.Unmarshal(output, &report); err != nil {
		return nil, err
	}
	var list []Report
	for _, i := range report.Issues {
		line, _, _ := strings.Cut(i.Line, "-")
		if !i.Suppressed {
			list = append(list, Report{Rule: i.Rule, File: i.File, At: at(line, i.Column), Word: i.Severity,
				Confidence: confidences[i.Confidence], Message: i.Details})
		}
	}
	return list, nil
}
