package scan

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// goFaults maps texts in errors of the go command, for a module that cannot be loaded, to an
// explanation with the correction. The first matching text wins.
var goFaults = []struct{ text, means string }{
	{"requires go >= ", "go.mod asks for a later Go than the one that is installed: install that one"},
	{"missing go.sum entry", "go.sum lacks modules that its packages need: run go mod tidy"},
	{"module lookup disabled", "its modules are not downloaded: run go mod download"},
	{"no required module provides", "go.mod does not require modules that its packages import: run go mod tidy"},
	{"cannot find module providing", "go.mod does not require modules that its packages import: run go mod tidy"},
	{"updates to go.mod needed", "go.mod is not up to date: run go mod tidy"},
	{"inconsistent vendoring", "the folder vendor is not up to date: run go mod vendor"},
}

// needsC is the reason for not analysing a package that uses cgo.
const needsC = "needs cgo, which a scan does not run"

// Prefixes of the reasons for not fully analysing a package; an error of the go command may follow.
const (
	noTypes   = "only the rules that need no types ran, as "
	noPackage = "only the fast rules ran, as "
	notModern = "modernize did not look at all packages: "
)

// goFault explains an error of the go command. It returns the first line of an unknown error.
func (g *goScan) goFault(message string) string {
	if means := meaning(message); means != "" {
		return means
	}
	return "the go command failed: " + g.cleanError(message)
}

// meaning explains an error of the go command, or returns "" for an unknown one.
func meaning(message string) string {
	for _, f := range goFaults {
		if strings.Contains(message, f.text) {
			return f.means
		}
	}
	return ""
}

// missing returns why a package cannot be read, or "" if it can.
func (p *goProgram) missing(l *packages.Package) string {
	for _, name := range []string{parsingStep + l.ID, importingStep + l.ID} {
		if why := p.SkippedSteps[name]; why != "" {
			return fmt.Sprintf("%s, which it needs, was given up: %s", l.PkgPath, why)
		}
	}
	switch {
	case len(l.GoFiles) > 0 && l.Dir != "": // without a folder, GoFiles may hold the importing file
		return ""
	case usesC(l):
		return l.PkgPath + " " + needsC
	case len(l.Errors) > 0:
		return p.goFault(l.Errors[0].Msg)
	}
	return l.PkgPath + ", which it needs, has no Go files"
}

// fault describes the first error of a package, preferring errors in wanted files.
func (p *goProgram) fault(l *packages.Package) string {
	if usesC(l) {
		return needsC
	}
	first, place := l.Errors[0], ""
	for _, e := range l.Errors {
		file, at, _ := strings.Cut(e.Pos, ":")
		if name, ok := p.name(file); ok {
			first, place = e, name+":"+at+": "
			break
		}
	}
	verb := map[packages.ErrorKind]string{packages.ParseError: "does not parse", packages.TypeError: "does not type-check"}[first.Kind]
	return cmp.Or(verb, "cannot be loaded") + ": " + place + p.cleanError(first.Msg)
}

// usesC reports whether files of a package are ignored because they use cgo.
func usesC(l *packages.Package) bool {
	return slices.ContainsFunc(l.IgnoredFiles, func(name string) bool {
		if path.Ext(filepath.ToSlash(name)) != ".go" {
			return false
		}
		file, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, parser.ImportsOnly)
		return err == nil && slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool { return pathOf(spec) == "C" })
	})
}
