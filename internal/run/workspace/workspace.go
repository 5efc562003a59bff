// Package workspace reads definitions in files of a workspace, agents, abilities, workflows and
// scripts below .toolfold, and reads and writes files at paths that callers name.
//
// The author of those files need not be the user, so reading them is bounded in time and memory. It
// only reads regular files of limited size, opens them without waiting, and rejects deep nesting or
// too many values before parsing. An unusable file is [BrokenFile], with line and reason, and does not
// hide the others.
package workspace

import (
	"strings"
)

// Untrusted is the code for refusing to run or inject a file of an untrusted workspace.
const Untrusted = "WORKSPACE_UNTRUSTED"

// FileBroken is the code for a file with an unusable definition. PathNotUsable is the code for a
// path that leads out of the workspace, or not to a file. FileExists is the code for a file that
// toolfold did not write, and that a call would replace.
const (
	FileBroken    = "FILE_BROKEN"
	PathNotUsable = "PATH_NOT_USABLE"
	FileExists    = "FILE_EXISTS"
)

// The values of source in results: where a definition comes from.
const (
	Registered = "registered" // in the store; takes precedence over a file with the same id
	InFile     = "file"       // in a file of the workspace
)

// Folder is a workspace, and whether the user trusts it.
type Folder struct {
	Dir string // empty = no workspace, and no files

	// Trusted reports whether files of the workspace may run and be injected. It is called for
	// every use. Nil means true.
	Trusted func() bool
}

// IsTrusted reports whether files of the workspace may run and be injected.
func (f Folder) IsTrusted() bool { return f.Trusted == nil || f.Trusted() }

// HowToTrust returns the hint for [Untrusted]: the command by which the user trusts the workspace.
func (f Folder) HowToTrust() string {
	dir := f.Dir
	if strings.ContainsFunc(dir, func(r rune) bool {
		return !strings.ContainsRune("/._-+,:@%", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		dir = "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	}
	return "the user has not trusted this workspace; they can look at its .toolfold folder and type: toolfold trust " + dir
}

// Mark returns the member trusted of a result: false for a definition in a file of an untrusted
// workspace, else nil, which is omitted.
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
