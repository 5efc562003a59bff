// Package runner drives the linters, compilers and type checkers that a project uses.
//
// A Runner is data and a reader function, in a file of its own. It describes how to recognise that
// a project uses a tool, how to call the tool, and how to read its output. To add one, write such a
// file, add it to All, and record its output under testdata.
//
// A Project finds the tools, in itself and in $PATH, and runs them. In an untrusted project it only
// runs programs from outside of the project, with a configuration of this package.
package runner

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Runner describes a tool.
type Runner struct {
	Name    string     // the program's name; also the first part of its rules
	Job     string     // its task, such as "lint Python"; one tool per job is enough
	Files   []string   // globs over the files that it checks, below the project
	Config  []string   // signs that the project uses it: globs of files, or FILE:TEXT for a file that contains a text
	Needs   bool       // it fails without a match of Config, even if the project has the program
	Bare    bool       // it is useful without configuration
	Sure    []string   // prefixes of rules that are reliable without configuration; see Heavy
	Whole   bool       // it takes no file arguments, but checks the project of its configuration
	List    string     // argument with {file} for a file that lists all names, one per line; empty = names are arguments, 200 a run
	Args    []string   // in a trusted project; {config} is the matched file of Config
	Apart   *Isolation // how it runs in untrusted projects; nil = it does not
	Install string     // command that installs it

	Count Count // of the positions in its output

	// Read parses the tool's output. It has no side effects. An error means that the output is not
	// a report.
	Read func(output []byte) ([]Report, error)

	// Bugs and Refactorings map prefixes of rules, without the tool's name, to kinds. The longest
	// prefix in both wins. Rules without a prefix are not reported.
	Bugs, Refactorings map[string]string
}

// Isolation describes how to run a tool without code and configuration of the project.
type Isolation struct {
	Args   []string // {config} is the path of a file that contains Config
	Config string   // a configuration that loads nothing
	File   string   // its file name; empty = config
	Env    []string // NAME=value; {config} as in Args

	// By default a tool runs in an empty folder, because wrappers such as version managers read
	// settings from the working directory.
	AtRoot bool // run in the root of the file system: the tool only reads files below its working directory
	Go     bool // run in the project: the tool starts the go command, which requires it
}

// Report is a finding of a tool.
type Report struct {
	Rule       string // empty = the tool could not read the file, and Message is the reason
	File       string // as printed by the tool
	At         Place
	Word       string  // the tool's severity; see [Level]
	Security   bool    // the tool marks it as security
	Confidence float64 // 0 = unknown
	Message    string
	Advice     string // what to do; may be empty
	Fix        []Edit // the fix that the tool calls safe; empty = no safe fix
}

// Edit replaces the text from From up to, not including, To.
type Edit struct {
	From, To Place
	Text     string
}

// All lists the runners. The first of those with the same job is recommended for installation.
//
// There is no runner for go vet, which has no configuration and whose analysers are linked.
// staticcheck's analysers are linked, too: its runner is for projects that pin or configure it.
var All = []Runner{
	eslint, biome, oxlint, tsc, ruff, mypy, pyright, bandit, golangci, staticcheck, gosec, semgrep, shellcheck, actionlint,
}

var (
	scripts = []string{"**/*.{js,jsx,mjs,cjs,ts,tsx,mts,cts}"}
	python  = []string{"**/*.{py,pyi}"}
	golang  = []string{"**/*.go"}
)

// Kind returns the kind of a report among Bugs or Refactorings, or "" if it belongs to the other
// group.
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

// longest returns the value of the longest key that is a prefix of name, and the key's length plus
// one. The length is 0 if there is no such key.
func longest(values map[string]string, name string) (value string, length int) {
	for n := len(name); n >= 0; n-- {
		if value, ok := values[name[:n]]; ok {
			return value, n + 1
		}
	}
	return "", 0
}

// Wants reports whether a runner checks the file with this name.
func (r Runner) Wants(name string) bool {
	return slices.ContainsFunc(r.Files, func(glob string) bool { return doublestar.MatchUnvalidated(glob, name) })
}

// Wanted reports whether any runner checks the file with this name.
func Wanted(name string) bool {
	return slices.ContainsFunc(All, func(r Runner) bool { return r.Wants(name) })
}

// Reaches reports whether a runner checks files below a hidden folder.
func Reaches(folder string) bool {
	return slices.ContainsFunc(All, func(r Runner) bool {
		return slices.ContainsFunc(r.Files, func(glob string) bool { return strings.HasPrefix(glob, folder+"/") })
	})
}
