package runner

import (
	"encoding/json"
	"strings"
)

var actionlint = Runner{
	Name: "actionlint", Job: "lint workflows", Files: []string{".github/workflows/*.{yml,yaml}"}, Bare: true,
	Config: []string{".github/actionlint.yml", ".github/actionlint.yaml", ".pre-commit-config.yaml:id: actionlint",
		"go.mod:rhysd/actionlint/cmd/actionlint"},
	Args: []string{"-format", "{{json .}}", "--"},
	Apart: &Apart{
		Args:   []string{"-config-file", "{config}", "-shellcheck=", "-pyflakes=", "-format", "{{json .}}", "--"},
		Config: "{}\n", File: "actionlint.yaml",
	},
	Install: "go install github.com/rhysd/actionlint/cmd/actionlint@latest",
	Count:   Count{Runes, 1, 1}, Read: readActionlint,
	Bugs: map[string]string{"": "logic-error", "credentials": "security"},
}

// readActionlint reads the errors as its template writes them in JSON. It has no severities.
func readActionlint(output []byte) ([]Report, error) {
	var problems []struct {
		Message, Filepath, Kind string
		Line, Column            int
	}
	if err := json.Unmarshal(output, &problems); err != nil {
		return nil, err
	}
	var list []Report
	for _, p := range problems {
		list = append(list, Report{Rule: p.Kind, File: p.Filepath, At: Place{Line: p.Line, Column: p.Column}, Message: p.Message,
			Security: strings.Contains(p.Message, "potentially untrusted")})
	}
	return list, nil
}
