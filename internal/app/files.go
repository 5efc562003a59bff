package app

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// resultFiles writes results of calls to new files of a workspace, which only its user can read. It
// implements [lazy.Files].
type resultFiles struct{ workspace string }

// Usable implements [lazy.Files].
func (f resultFiles) Usable() bool { return f.workspace != "" }

// Check implements [lazy.Files].
func (f resultFiles) Check(path string) error {
	target, err := f.target(path)
	if err == nil {
		target.Close()
	}
	return err
}

// Write implements [lazy.Files].
func (f resultFiles) Write(path string, text []byte) (name string, err error) {
	target, err := f.target(path)
	if err != nil {
		return "", err
	}
	defer target.Close()
	return target.Name, target.Write(text)
}

func (f resultFiles) target(path string) (*workspace.Target, error) {
	file := workspace.Path{Workspace: f.workspace, Parameter: "saveTo", Value: path, Example: "results.json"}
	if filepath.Separator == '/' && strings.ContainsAny(path, `\:`) || strings.TrimSpace(path) == "" { // such as C:\x
		return nil, toolfold.Errorf(workspace.PathNotUsable, "saveTo is not the name of a file on every system; nothing was written").
			WithHint("name a file such as %s, with slashes", file.Example)
	}
	return file.Target(0o600, func(*os.Root, string, int64) error {
		return toolfold.Errorf(workspace.FileExists, "%s exists, and saveTo replaces no file", shorten.Quoted(path)).
			About(toolfold.ProblemRefused, "saveTo").WithHint("choose another saveTo, or remove the file first")
	})
}
