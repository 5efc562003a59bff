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
	"github.com/toolfold/toolfold/tools/workflow"
)

// TrustFlag trusts the workspace for one run, such as one of CI.
var TrustFlag = &cli.BoolFlag{
	Category: workHeading, Name: "trust", Usage: "use the workspace's agents, abilities and workflows in this run",
	EnvVars: []string{"TOOLFOLD_TRUST"},
}

// TrustedFolders returns the list in the user's data directory.
func TrustedFolders() (*trust.Folders, error) {
	dir, err := storage.DataDir()
	if err != nil {
		return nil, err
	}
	return trust.Open(filepath.Join(dir, "trust.json")), nil
}

// Trusted returns what reports, at any time, whether the user trusts the
// workspace: with a flag for this run, or in the list of trusted folders.
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

// Replaced returns the folder that the list trusts at the workspace's path where
// another one stands there since; else an empty string.
func Replaced(c *cli.Context, workspace string) string {
	folders, err := TrustedFolders()
	if err != nil || c.Bool(TrustFlag.Name) {
		return ""
	}
	return folders.Replaced(workspace)
}

// TellReplaced says on standard error that the trusted folder is another one now.
func TellReplaced(c *cli.Context, workspace string) {
	if dir := Replaced(c, workspace); dir != "" {
		fmt.Fprintf(c.App.ErrWriter, "toolfold: another folder stands at %s than the one that was trusted: look at it, "+
			"then toolfold trust %s, or toolfold untrust %s\n", dir, dir, dir)
	}
}

// maxCounted bounds what is read to count definitions.
const maxCounted = 1000

// Definitions counts the files that a folder has for toolfold to run, in words.
// It is empty where there are none.
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
	} {
		info, err := root.Stat(kind.folder)
		if err != nil || !info.IsDir() { // to open a pipe would be to wait
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
