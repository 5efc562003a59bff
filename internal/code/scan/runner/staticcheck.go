package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// staticcheck runs where the project pins a version or configures it. Its names of rules are those of the linked
// analysers, so that what both find is reported once.
var staticcheck = Runner{
	Name: "staticcheck", Job: "lint Go", Files: golang, Needs: true, Whole: true,
	Config: []string{"staticcheck.conf", "go.mod:honnef.co/go/tools/cmd/staticcheck"},
	Args:   []string{"-f", "json", "./..."},
	// The linked analysers run where the project is not trusted: another program would tell the same.
	Install: "go install honnef.co/go/tools/cmd/staticcheck@latest",
	Count:   Count{Bytes, 1, 1}, Read: readStaticcheck,
	Bugs: map[string]string{"": "logic-error", "SA2": "concurrency", "SA5011": "null-reference", "SA6": "performance"},
	Refactorings: map[string]string{"S1": "modernize-syntax", "QF": "modernize-syntax", "ST": "other",
		"U1000": "other"},
}

// readStaticcheck reads -f json: one value for each problem. "compile" is the code of an error of the compiler.
func readStaticcheck(output []byte) ([]Report, error) {
	var list []Report
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var problem struct {
			Code, Severity, Message string
			Location                struct {
				File         string
				Line, Column int
			}
		}
		if err := decoder.Decode(&problem); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		r := Report{Rule: problem.Code, File: problem.Location.File, Word: problem.Severity, Message: problem.Message,
			At: Place{Line: problem.Location.Line, Column: problem.Location.Column}}
		if r.Rule == "compile" {
			r.Rule = ""
		}
		if r.Word != "ignored" {
			list = append(list, r)
		}
	}
}
