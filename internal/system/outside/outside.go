// Package outside finds programs, and makes temporary folders, that a workspace has no say in: they lie outside of its
// folder, links resolved.
package outside

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// starters are the programs that other programs start by name: interpreters of scripts, and the go command.
var starters = []string{"go", "git", "node", "python3", "python", "env", "sh", "bash"}

// Path returns $PATH without the folders in which a workspace has a say: relative ones, those in it, and those in which a link
// named like an interpreter, git or go leads into it.
func Path(workspace string) string {
	return strings.Join(folders(workspace), string(filepath.ListSeparator))
}

func folders(workspace string) []string {
	workspace = resolved(workspace)
	return slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(folder string) bool {
		real, err := filepath.EvalSymlinks(folder)
		return err != nil || !filepath.IsAbs(folder) || Holds(workspace, real) || Holds(workspace, folder) ||
			slices.ContainsFunc(starters, func(name string) bool { return leadsInto(workspace, folder, name) })
	})
}

// Program returns the path of a program in $PATH outside of a workspace; empty if there is none.
func Program(workspace, name string) string {
	for _, folder := range folders(workspace) {
		found, err := exec.LookPath(filepath.Join(folder, name))
		if err == nil && !leadsInto(resolved(workspace), folder, name) {
			return found
		}
	}
	return ""
}

// Temp returns a new empty folder for temporary files outside of a workspace, without links.
func Temp(workspace string) (string, error) {
	parent, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return "", err
	}
	if Holds(resolved(workspace), parent) {
		return "", errors.New("the folder of temporary files is in the workspace: set TMPDIR to one outside of it")
	}
	return os.MkdirTemp(parent, "toolfold-*")
}

// leadsInto reports whether a program of a folder is a link into a workspace.
func leadsInto(workspace, folder, name string) bool {
	found, err := exec.LookPath(filepath.Join(folder, name))
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(found)
	return err != nil || Holds(workspace, real)
}

// resolved returns a folder as an absolute path without links.
func resolved(folder string) string {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return folder
	}
	if real, err := filepath.EvalSymlinks(absolute); err == nil {
		return real
	}
	return absolute
}

// Holds reports whether a path is a folder or lies below it, by their names: links are not followed.
func Holds(folder, name string) bool {
	below, err := filepath.Rel(folder, name)
	return err == nil && filepath.IsLocal(below)
}
