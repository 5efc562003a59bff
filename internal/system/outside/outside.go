// Package outside finds programs, and makes temporary folders, that a workspace cannot influence:
// they are outside of its folder, with links resolved.
package outside

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// starters are programs that other programs start by name: interpreters of scripts, git and go.
var starters = []string{"go", "git", "node", "python3", "python", "env", "sh", "bash"}

// Path returns $PATH without folders that a workspace can influence: relative ones, folders in the
// workspace, and folders in which an interpreter, git or go is a link into it.
func Path(workspace string) string {
	return strings.Join(folders(workspace), string(filepath.ListSeparator))
}

func folders(workspace string) []string {
	workspace = resolve(workspace)
	return slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(folder string) bool {
		real, err := filepath.EvalSymlinks(folder)
		return err != nil || !filepath.IsAbs(folder) || Holds(workspace, real) || Holds(workspace, folder) ||
			slices.ContainsFunc(starters, func(name string) bool { return leadsInto(workspace, folder, name) })
	})
}

// Program returns the path of a program in $PATH outside of a workspace, or "".
func Program(workspace, name string) string {
	for _, folder := range folders(workspace) {
		found, err := exec.LookPath(filepath.Join(folder, name))
		if err == nil && !leadsInto(resolve(workspace), folder, name) {
			return found
		}
	}
	return ""
}

// Temp makes an empty temporary folder outside of a workspace, and returns its path with links
// resolved.
func Temp(workspace string) (string, error) {
	parent, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return "", err
	}
	if Holds(resolve(workspace), parent) {
		return "", errors.New("the folder of temporary files is in the workspace: set TMPDIR to one outside of it")
	}
	return os.MkdirTemp(parent, "toolfold-*")
}

// leadsInto reports whether a program in a folder is a link into a workspace, or cannot be
// resolved.
func leadsInto(workspace, folder, name string) bool {
	found, err := exec.LookPath(filepath.Join(folder, name))
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(found)
	return err != nil || Holds(workspace, real)
}

// resolve returns the absolute path of a folder with links resolved.
func resolve(folder string) string {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return folder
	}
	if real, err := filepath.EvalSymlinks(absolute); err == nil {
		return real
	}
	return absolute
}

// Holds reports whether name is folder or below it, judged by the paths: links are not followed.
func Holds(folder, name string) bool {
	below, err := filepath.Rel(folder, name)
	return err == nil && filepath.IsLocal(below)
}
