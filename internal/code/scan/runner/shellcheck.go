package runner

import (
	"encoding/json"
	"fmt"
)

var shellcheck = Runner{
	Name: "shellcheck", Job: "lint shell scripts", Files: []string{"**/*.{sh,bash,ksh,dash}"}, Bare: true,
	Config:  []string{".shellcheckrc", ".pre-commit-config.yaml:id: shellcheck"},
	Args:    []string{"--format", "json1", "--"},
	Apart:   &Isolation{Args: []string{"--norc", "--format", "json1", "--"}},
	Install: "apt install shellcheck, or brew install shellcheck",
	Count:   Count{Runes, 1, 1}, Read: readShellcheck,
	Bugs: map[string]string{"": "logic-error"},
	Refactorings: map[string]string{"SC2001": "simplify-conditional", "SC2003": "modernize-syntax", "SC2006": "modernize-syntax",
		"SC2007": "modernize-syntax", "SC2292": "modernize-syntax"},
}

// otherShell is the code for a script of an unknown shell.
const otherShell = 1071

// readShellcheck reads --format json1, in which a tab is one column.
func readShellcheck(output []byte) ([]Report, error) {
	type region struct{ Line, Column, EndLine, EndColumn int }
	var report struct {
		Comments []struct {
			region
			File, Level, Message string
			Code                 int
			Fix                  *struct {
				Replacements []struct {
					region
					Replacement string
				}
			}
		}
	}
	if err := json.Unmarshal(output, &report); err != nil {
		return nil, err
	}
	var list []Report
	for _, c := range report.Comments {
		r := Report{Rule: fmt.Sprintf("SC%04d", c.Code), File: c.File, At: Place{Line: c.Line, Column: c.Column}, Word: c.Level,
			Message: c.Message}
		if c.Code == otherShell {
			r.Rule = ""
		}
		if c.Fix != nil {
			for _, e := range c.Fix.Replacements {
				r.Fix = append(r.Fix, Edit{Place{Line: e.Line, Column: e.Column}, Place{Line: e.EndLine, Column: e.EndColumn}, e.Replacement})
			}
		}
		list = append(list, r)
	}
	return list, nil
}
