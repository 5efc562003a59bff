// Package runner drives the linters, compilers and type checkers that a project uses.
//
// A Runner is data and a reader in a file of its own: how the project's use of a tool is recognised,
// how the tool is called, and what its output means. To add one, write such a file, name it in All,
// and record its output under testdata.
//
// A Project finds the tools, in itself and in $PATH, and runs them. In a project that the user has not
// trusted it runs programs from outside of the project only, with a configuration of this package.
package runner

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Runner describes a tool.
type Runner struct {
	Name    string   // of the program; also the first part of its rules
	Job     string   // what it is for, such as "lint Python"; one tool for each job is enough
	Files   []string // globs over the files that it reads, below the project
	Config  []string // what says that the project uses it: globs of files, or FILE:TEXT for a file with a text in it
	Needs   bool     // it fails without one of Config, also if the project has the program
	Bare    bool     // it is useful without Config
	Sure    []string // beginnings of its rules that hold without Config too; see Heavy
	Whole   bool     // it takes no files: it reads the project that its configuration describes
	List    string   // argument that names a {file} with all files, one a line; empty = they are arguments, 200 a run
	Args    []string // in a trusted project; {config} is the file of Config that was found
	Apart   *Apart   // how it runs in other projects; nil = it does not
	Install string   // the command that installs it

	Count Count // of the places in its output

	// Read returns what the output of the tool reports. It is pure. An error means that the output is
	// no report.
	Read func(output []byte) ([]Report, error)

	// Bugs and Refactorings hold the kinds of rules by the beginning of their names, without the tool's.
	// The longest beginning of both decides. A rule in neither is not reported.
	Bugs, Refactorings map[string]string
}

// Apart describes a run of a tool that uses no code and no configuration of the project.
type Apart struct {
	Args   []string // {config} is the path of a file with Config in it
	Config string   // a configuration that loads nothing
	File   string   // its name; empty = config
	Env    []string // NAME=value; {config} as in Args

	// A tool runs in an empty folder: what starts it by name, such as a manager of versions, reads its settings from
	// the folder that it runs in.
	AtRoot bool // it runs in the root of the file system instead: it reads only files below the folder that it runs in
	Go     bool // it runs in the project: it starts the go command, which has to
}

// Report is a finding of a tool.
type Report struct {
	Rule       string // empty = the tool could not read the file, for the reason in Message
	File       string // as the tool names it
	At         Place
	Word       string  // how the tool calls its severity; see [Level]
	Security   bool    // the tool says that it is about security
	Confidence float64 // 0 = the tool does not say
	Message    string
	Advice     string // what to do; may be empty
	Fix        []Edit // what the tool calls a safe fix; empty = there is none
}

// Edit replaces the text between two places, To not included.
type Edit struct {
	From, To Place
	Text     string
}

// All lists the runners. Among those with the same job the first is recommended for installation.
//
// go vet has none, as it has no configuration and its analysers are linked. Those of staticcheck are linked too:
// its runner is for projects that pin or configure it.
var All = []Runner{
	eslint, biome, oxlint, tsc, ruff, mypy, pyright, bandit, golangci, staticcheck, gosec, semgrep, shellcheck, actionlint,
}

// Globs of files.
var (
	scripts = []string{"**/*.{js,jsx,mjs,cjs,ts,tsx,mts,cts}"}
	python  = []string{"**/*.{py,pyi}"}
	golang  = []string{"**/*.go"}
)

// Kind returns the kind of what a runner reports, of Bugs or of Refactorings; empty if it is of the other ones.
func (r Runner) Kind(report Report, bugs bool) string {
	if report.Security {
		if bugs {
			return "security"
		}
		return ""
	}
	mine, other := r.Refactorings, r.Bugs
	if bugs {
		mine, other = other, mine
	}
	kind, length := longest(mine, report.Rule)
	if _, theirs := longest(other, report.Rule); theirs >= length {
		return ""
	}
	return kind
}

// longest returns the value of the longest key that a name begins with, and one more than its length; 0 without such a key.
func longest(values map[string]string, name string) (value string, length int) {
	for n := len(name); n >= 0; n-- {
		if value, ok := values[name[:n]]; ok {
			return value, n + 1
		}
	}
	return "", 0
}

// Wants reports whether a runner reads a file, by its name.
func (r Runner) Wants(name string) bool {
	return slices.ContainsFunc(r.Files, func(glob string) bool { return doublestar.MatchUnvalidated(glob, name) })
}

// Wanted reports whether some runner reads a file, by its name.
func Wanted(name string) bool {
	return slices.ContainsFunc(All, func(r Runner) bool { return r.Wants(name) })
}

// Reaches reports whether a runner reads files below a folder with a name that begins with a dot.
func Reaches(folder string) bool {
	return slices.ContainsFunc(All, func(r Runner) bool {
		return slices.ContainsFunc(r.Files, func(glob string) bool { return strings.HasPrefix(glob, folder+"/") })
	})
}
