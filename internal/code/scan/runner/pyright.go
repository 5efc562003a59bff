package runner

import (
	"cmp"
	"encoding/json"
)

// pyright uses the virtual environment of the configuration and runs its Python, so it only runs in
// trusted projects.
var pyright = Runner{
	Name: "pyright", Job: "check types of Python", Files: python, Needs: true, Whole: true,
	Config:  []string{"pyrightconfig.json", "pyproject.toml:[tool.pyright"},
	Args:    []string{"--outputjson"},
	Install: "pipx install pyright",
	Count:   Count{UTF16, 0, 0}, Read: readPyright,
	Bugs: map[string]string{"": "type-error"},
}

// readPyright reads --outputjson.
func readPyright(output []byte) ([]Report, error) {
	var report struct {
		GeneralDiagnostics []struct {
			File, Severity, Message, Rule string
			Range                         struct{ Start struct{ Line, Character int } }
		}
	}
	if err := json.Unmarshal(output, &report); err != nil {
		return nil, err
	}
	var list []Report
	for _, d := range report.GeneralDiagnostics {
		list = append(list, Report{Rule: cmp.Or(d.Rule, "error"), File: d.File, Word: d.Severity, Message: d.Message,
			At: Place{Line: d.Range.Start.Line, Column: d.Range.Start.Character}})
	}
	return list, nil
}
