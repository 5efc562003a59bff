package settings

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/app/trust"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/tools/ability"
	"github.com/toolfold/toolfold/tools/agent"
	"github.com/toolfold/toolfold/tools/script"
	"github.com/toolfold/toolfold/tools/workflow"
)

// TrustFlag trusts the workspace for one run, such as in CI.
var TrustFlag = &cli.BoolFlag{
	Category: workHeading, Name: "trust", Usage: "use the workspace's agents, abilities, workflows and scripts in this run",
	EnvVars: []string{"TOOLFOLD_TRUST"},
}

// TrustFile returns the path of the list of trusted folders.
func TrustFile() (string, error) {
	dir, err := storage.DataDir()
	return filepath.Join(dir, "trust.json"), err
}

// TrustedFolders returns the list of trusted folders in the user's data directory.
func TrustedFolders() (*trust.Folders, error) {
	path, err := TrustFile()
	if err != nil {
		return nil, err
	}
	return trust.Open(path), nil
}

// Trusted returns a function that reports whether the user trusts the workspace: by a flag for this
// run, or by the list of trusted folders.
func Trusted(c *cli.Context, workspace string) func() bool {
	if c.Bool(TrustFlag.Name) {
		return func() bool { return true }
	}
	folders, err := TrustedFolders()
	if err != nil {
		return func() bool { return false }
	}
	return func() bool { return folders.Trusted(workspace) }
}

// Replaced returns the trusted folder at the workspace's path if another folder now stands there.
// Otherwise it is empty.
func Replaced(c *cli.Context, workspace string) string {
	folders, err := TrustedFolders()
	if err != nil || c.Bool(TrustFlag.Name) {
		return ""
	}
	return folders.Replaced(workspace)
}

// TellReplaced reports on standard error that the trusted folder was replaced.
func TellReplaced(c *cli.Context, workspace string) {
	if dir := Replaced(c, workspace); dir != "" {
		fmt.Fprintf(c.App.ErrWriter, "toolfold: another folder stands at %s than the one that was trusted: look at it, "+
			"then toolfold trust %s, or toolfold untrust %s\n", dir, dir, dir)
	}
}

// maxCounted limits the entries that are read to count definitions.
const maxCounted = 1000

// Definitions describes in words how many files a folder has for toolfold to run. It is empty if there
// are no such files.
func Definitions(workspace string) string {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return ""
	}
	defer root.Close()
	yaml := []string{".yaml", ".yml", ".json"}
	var parts []string
	for _, kind := range []struct {
		folder, singular, many string
		endings                []string
	}{
		{agent.Folder, "agent", "agents", yaml},
		{ability.Folder, "ability", "abilities", []string{".md"}},
		{workflow.Folder, "workflow", "workflows", yaml},
		{script.Folder, "script", "scripts", []string{".js"}},
	} {
		info, err := root.Stat(kind.folder)
		if err != nil || !info.IsDir() { // opening a pipe would block
			continue
		}
		folder, err := root.Open(kind.folder)
		if err != nil {
			continue
		}
		entries, _ := folder.ReadDir(maxCounted)
		_ = folder.Close()
		n := 0
		for _, e := range entries {
			if slices.Contains(kind.endings, path.Ext(e.Name())) && !e.IsDir() {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, english.Count(n, kind.singular, kind.many))
		}
	}
	return strings.Join(parts, ", ")
}
