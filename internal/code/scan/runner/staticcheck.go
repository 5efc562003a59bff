package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// staticcheck runs in projects that pin a version or configure it. Its rules have the names of the
// linked analysers, so that duplicate findings are merged.
var staticcheck = Runner{
	Name: "staticcheck", Job: "lint Go", Files: golang, Needs: true, Whole: true,
	Config: []string{"staticcheck.conf", "go.mod:honnef.co/go/tools/cmd/staticcheck"},
	Args:   []string{"-f", "json", "./..."},
	// Apart is nil, because in untrusted projects the linked analysers run and find the same.
	Install: "go install honnef.co/go/tools/cmd/staticcheck@latest",
	Count:   Count{Bytes, 1, 1}, Read: readStaticcheck,
	Bugs: map[string]string{"": "logic-error", "SA2": "concurrency", "SA5011": "null-reference", "SA6": "performance"},
	Refactorings: map[string]string{"S1": "modernize-syntax", "QF": "modernize-syntax", "ST": "other",
		"U1000": "other"},
}

// readStaticcheck reads -f json, one value per problem. The code "compile" marks a compiler error.
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
