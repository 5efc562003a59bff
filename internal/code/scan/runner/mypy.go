package runner

import "github.com/toolfold/toolfold/internal/text/regex"

// mypyForm are the options that make all versions of mypy print one line per message.
var mypyForm = []string{"--no-pretty", "--show-column-numbers", "--show-error-codes", "--no-error-summary", "--no-color-output",
	"--hide-error-context", "--cache-dir=/dev/null"}

// mypy needs the project's configuration and packages to know the types of imports, so it only runs
// in trusted projects.
var mypy = Runner{
	Name: "mypy", Job: "check types of Python", Files: python,
	Config: []string{"mypy.ini", ".mypy.ini", "pyproject.toml:[tool.mypy", "setup.cfg:[mypy", ".pre-commit-config.yaml:id: mypy"},
	Args:   mypyForm, List: "@{file}", // one run, because every run reads the imports again
	Install: "pipx install mypy",
	Count:   Count{Bytes, 1, 1}, Read: readMypy,
	Bugs: map[string]string{"": "type-error"},
}

var mypyLine = regex.Lazy(`^(.+?):(\d+):(?:(\d+):)? (error|note|warning): (.*?)(?:  \[([a-z0-9-]+)\])?$`)

// readMypy reads FILE:LINE:COLUMN: error: MESSAGE  [CODE]. A note belongs to the message before it.
func readMypy(output []byte) ([]Report, error) {
	reports, err := readLines(output, mypyLine(), func(m []string) Report {
		r := Report{Rule: m[6], File: m[1], At: at(m[2], m[3]), Word: m[4], Message: m[5]}
		switch r.Rule {
		case "":
			r.Rule = "misc"
		case "syntax":
			r.Rule = ""
		}
		return r
	})
	var list []Report
	for _, r := range reports {
		if r.Word != "note" {
			list = append(list, r)
		}
	}
	return list, err
}
