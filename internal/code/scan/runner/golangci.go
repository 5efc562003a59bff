package runner

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// golangciForm are the options that make golangci-lint report all issues, and change no file.
var golangciForm = []string{"--output.json.path=stdout", "--output.text.path=stderr", "--path-mode=abs", "--show-stats=false",
	"--issues-exit-code=0", "--max-issues-per-linter=0", "--max-same-issues=0", "--allow-parallel-runners", "--fix=false"}

var golangci = Runner{
	Name: "golangci-lint", Job: "lint Go", Files: golang, Needs: true, Whole: true,
	Config: []string{".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json", ".pre-commit-config.yaml:id: golangci-lint",
		"go.mod:/cmd/golangci-lint"},
	Args: append([]string{"run"}, golangciForm...),
	Apart: &Isolation{
		Args: append([]string{"run", "--no-config"}, golangciForm...), Go: true,
		Env: []string{"GOLANGCI_LINT_CACHE={config}.cache"},
	},
	Install: "go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@latest",
	Count:   Count{Bytes, 1, 1}, Read: readGolangci,
	Bugs: map[string]string{
		"": "other", "gosec": "security", "govet": "logic-error", "govet/printf": "type-error", "govet/copylocks": "concurrency",
		"govet/lostcancel": "resource-leak", "govet/nilness": "null-reference", "staticcheck": "logic-error",
		"staticcheck/SA2": "concurrency", "staticcheck/SA5011": "null-reference", "staticcheck/SA6": "performance",
		"typecheck": "type-error", "errcheck": "logic-error", "ineffassign": "logic-error", "errorlint": "logic-error",
		"nilerr": "logic-error", "exhaustive": "logic-error", "rowserrcheck": "logic-error", "bodyclose": "resource-leak",
		"sqlclosecheck": "resource-leak", "contextcheck": "concurrency", "forcetypeassert": "type-error", "prealloc": "performance",
	},
	Refactorings: map[string]string{
		"staticcheck/S1": "modernize-syntax", "staticcheck/QF": "modernize-syntax", "staticcheck/ST": "other",
		"gosimple": "modernize-syntax", "stylecheck": "other", "modernize": "modernize-syntax", "intrange": "modernize-syntax",
		"usestdlibvars": "modernize-syntax", "unconvert": "modernize-syntax", "revive": "other", "gocritic": "other", "unused": "other",
		"unparam": "other", "misspell": "other", "lll": "other", "gofmt": "other", "gofumpt": "other", "goimports": "optimize-imports",
		"gci": "optimize-imports", "godot": "other", "wsl": "other", "whitespace": "other", "nlreturn": "other",
		"goconst": "extract-variable", "mnd": "extract-variable", "dupl": "remove-duplication", "funlen": "extract-function",
		"gocyclo": "extract-function", "gocognit": "extract-function", "cyclop": "extract-function", "nestif": "simplify-conditional",
		"godox": "other",
	},
}

// golangciMany are the linters of golangci-lint that have many checks.
var golangciMany = []string{"gocritic", "gosec", "gosimple", "govet", "modernize", "revive", "staticcheck", "stylecheck"}

// readGolangci reads the JSON of version 2. Linters with many checks begin a message with the
// check's name, as in "SA4006: …" and "printf: …". Edits have offsets in the issue's file.
func readGolangci(output []byte) ([]Report, error) {
	var report struct {
		Issues []struct {
			FromLinter, Text, Severity string
			Pos                        struct {
				Filename     string
				Line, Column int
			}
			SuggestedFixes []struct {
				Message   string
				TextEdits []struct {
					Pos, End int
					NewText  []byte
				}
			}
		}
	}
	if err := json.NewDecoder(bytes.NewReader(output)).Decode(&report); err != nil {
		return nil, err
	}
	var list []Report
	for _, issue := range report.Issues {
		r := Report{Rule: issue.FromLinter, File: issue.Pos.Filename, At: Place{Line: issue.Pos.Line, Column: issue.Pos.Column},
			Word: issue.Severity, Message: issue.Text}
		check, message, named := strings.Cut(issue.Text, ": ")
		if named && slices.Contains(golangciMany, issue.FromLinter) && !strings.Contains(check, " ") {
			r.Rule, r.Message = r.Rule+"/"+check, message
		}
		if len(issue.SuggestedFixes) == 1 { // with several, somebody has to choose
			r.Advice = issue.SuggestedFixes[0].Message
			for _, e := range issue.SuggestedFixes[0].TextEdits {
				r.Fix = append(r.Fix, Edit{Place{Column: e.Pos, Whole: true}, Place{Column: e.End, Whole: true}, string(e.NewText)})
			}
		}
		list = append(list, r)
	}
	return list, nil
}
