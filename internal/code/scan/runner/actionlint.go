package runner

import (
	"encoding/json"
	"strings"

	"github.com/toolfold/toolfold/internal/text/regex"
)

var actionlint = Runner{
	Name: "actionlint", Job: "lint workflows", Files: []string{".github/workflows/*.{yml,yaml}"}, Bare: true,
	Config: []string{".github/actionlint.yml", ".github/actionlint.yaml", ".pre-commit-config.yaml:id: actionlint",
		"go.mod:rhysd/actionlint/cmd/actionlint"},
	Args: []string{"-format", "{{json .}}", "--"},
	Apart: &Isolation{
		Args:   []string{"-config-file", "{config}", "-shellcheck=", "-pyflakes=", "-format", "{{json .}}", "--"},
		Config: "{}\n", File: "actionlint.yaml",
	},
	Install: "go install github.com/rhysd/actionlint/cmd/actionlint@latest",
	Count:   Count{Runes, 1, 1}, Read: readActionlint,
	Bugs: map[string]string{"": "logic-error", "credentials": "security"},
}

// checked matches a message that passes on a finding of shellcheck, with shellcheck's severity.
var checked = regex.Lazy(`\bSC\d+:(error|warning|info|style):`)

// readActionlint reads the JSON that the template prints. Only findings of shellcheck have a
// severity; findings of pyflakes count as warnings.
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
		word := ""
		if m := checked().FindStringSubmatch(p.Message); m != nil {
			word = m[1]
		} else if p.Kind == "pyflakes" {
			word = "warning"
		}
		list = append(list, Report{Rule: p.Kind, Word: word, File: p.Filepath, At: Place{Line: p.Line, Column: p.Column}, Message: p.Message,
			Security: strings.Contains(p.Message, "potentially untrusted")})
	}
	return list, nil
}
