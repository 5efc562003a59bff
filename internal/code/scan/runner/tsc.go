package runner

import "github.com/toolfold/toolfold/internal/text/regex"

// tsc reads type files from wherever the configuration says, so it only runs in trusted projects.
var tsc = Runner{
	Name: "tsc", Job: "check types of scripts", Files: scripts, Config: []string{"tsconfig.json"}, Needs: true, Whole: true,
	Args:    []string{"--noEmit", "--pretty", "false", "--project", "."},
	Install: "npm install --save-dev typescript",
	Count:   Count{UTF16, 1, 1}, Read: readTSC,
	Bugs: map[string]string{"": "type-error"},
}

var tscLine = regex.Lazy(`^(.+)\((\d+),(\d+)\): (error) (TS\d+): (.*)$`)

// readTSC reads FILE(LINE,COLUMN): error TS1: MESSAGE.
func readTSC(output []byte) ([]Report, error) {
	return readLines(output, tscLine(), func(m []string) Report {
		return Report{Rule: m[5], File: m[1], At: at(m[2], m[3]), Word: m[4], Message: m[6]}
	})
}
