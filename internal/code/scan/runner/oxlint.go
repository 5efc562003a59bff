package runner

import (
	"encoding/json"
	"strings"
)

var oxlint = Runner{
	Name: "oxlint", Job: "lint scripts", Files: scripts, Bare: true,
	Config: []string{".oxlintrc.json", "oxlint.config.*", `package.json:"oxlint"`, ".pre-commit-config.yaml:id: oxlint"},
	Args:   []string{"--format", "json", "--no-error-on-unmatched-pattern", "--"},
	Apart: &Isolation{
		Args:   []string{"--config", "{config}", "--disable-nested-config", "--format", "json", "--no-error-on-unmatched-pattern", "--"},
		Config: "{}\n", File: "oxlintrc.json",
	},
	Install: "npm install --save-dev oxlint",
	Count:   Count{Bytes, 1, 1}, Read: readOxlint,
	Bugs: map[string]string{"": "other", "no-": "logic-error", "use-isnan": "logic-error", "eqeqeq": "logic-error",
		"no-eval": "security", "no-implied-eval": "security", "typescript/no-floating-promises": "concurrency"},
	Refactorings: map[string]string{"prefer-": "modernize-syntax", "no-var": "modernize-syntax", "unicorn/prefer-": "modernize-syntax",
		"unicorn/no-useless-": "simplify-conditional"},
}

// readOxlint reads --format json. A code is eslint(no-var) or plugin(rule). Without a code, the
// file does not parse.
func readOxlint(output []byte) ([]Report, error) {
	var report struct {
		Diagnostics []struct {
			Message, Code, Severity, Help, Filename string
			Labels                                  []struct{ Span struct{ Line, Column int } }
		}
	}
	if err := json.Unmarshal(output, &report); err != nil {
		return nil, err
	}
	var list []Report
	for _, d := range report.Diagnostics {
		r := Report{File: d.Filename, Word: d.Severity, Message: d.Message, Advice: d.Help}
		if plugin, rule, named := strings.Cut(strings.TrimSuffix(d.Code, ")"), "("); named {
			if r.Rule = rule; plugin != "eslint" {
				r.Rule = plugin + "/" + rule
			}
		}
		if len(d.Labels) > 0 {
			r.At = Place{Line: d.Labels[0].Span.Line, Column: d.Labels[0].Span.Column}
		}
		list = append(list, r)
	}
	return list, nil
}
