// Package workspace reads the definitions that stand in files of a workspace:
// agents, abilities and workflows below .toolfold.
//
// Whoever wrote those files need not be the user, so that reading them is
// bounded in time and memory: plain files of limited size only, opened without
// waiting, and refused before they are parsed where they are nested too deep
// or hold too many values. A file that cannot be used is [Broken], with line
// and reason, and does not hide the others.
package workspace

import (
	"strings"
)

// Untrusted is the code of the refusal to run or inject a file of a workspace
// that the user has not trusted.
const Untrusted = "WORKSPACE_UNTRUSTED"

// FileBroken is the code of a file with a definition that cannot be used, and
// PathNotUsable that of a path that leads out of the workspace or to something
// else than a file.
const (
	FileBroken    = "FILE_BROKEN"
	PathNotUsable = "PATH_NOT_USABLE"
)

// The values of source in results: where a definition stands.
const (
	Registered = "registered" // in the store; goes before a file of the same id
	InFile     = "file"       // in a file of the workspace
)

// Folder is a workspace, and whether its user trusts what it holds.
type Folder struct {
	Dir string // empty = no workspace, and no files

	// Trusted reports whether files of the workspace may run and be injected.
	// It is called for every use. Nil is true.
	Trusted func() bool
}

// IsTrusted reports whether files of the workspace may run and be injected.
func (f Folder) IsTrusted() bool { return f.Trusted == nil || f.Trusted() }

// HowToTrust is the hint of a refusal with the code [Untrusted]: what the
// user types to trust the workspace.
func (f Folder) HowToTrust() string {
	dir := f.Dir
	if strings.ContainsFunc(dir, func(r rune) bool {
		return !strings.ContainsRune("/._-+,:@%", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		dir = "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	}
	return "the user has not trusted this workspace; they can look at its .toolfold folder and type: toolfold trust " + dir
}

// Mark returns the member trusted of a result: nil, which is left out, but
// for a definition in a file of a workspace that is not trusted.
func (f Folder) Mark(source string) *bool {
	if source != InFile || f.IsTrusted() {
		return nil
	}
	return new(false)
}

// Excerpt cuts a text to at most n characters.
func Excerpt(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n]) + "…"
	}
	return text
}
