package cli

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/app/trust"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/ability"
	"github.com/toolfold/toolfold/tools/agent"
	"github.com/toolfold/toolfold/tools/workflow"
)

// trustFlag trusts the workspace for one run, such as one of CI.
var trustFlag = &cli.BoolFlag{
	Name: "trust", Usage: "use the workspace's agents, abilities and workflows in this run", EnvVars: []string{"TOOLFOLD_TRUST"},
}

func trustCommand() *cli.Command {
	return &cli.Command{
		Name:      "trust",
		Usage:     "let toolfold use a folder's agents, abilities and workflows",
		ArgsUsage: "[DIR]",
		Description: "DIR is the present directory unless named. Folders below it are trusted too. What a trusted\n" +
			"folder holds runs with your rights and your model providers: look at it first.",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "list", Usage: "list the trusted folders instead"}},
		Action: func(c *cli.Context) error {
			folders, dir, err := trustArguments(c)
			if err != nil {
				return err
			}
			if c.Bool("list") {
				list, err := folders.List()
				if err != nil {
					return err
				}
				for _, folder := range list {
					fmt.Fprintln(c.App.Writer, folder)
				}
				return nil
			}
			if dir, err = folders.Add(c.Context, dir); err != nil {
				return err
			}
			found := definitions(dir)
			if found == "" {
				found = "no agents, abilities or workflows yet"
			}
			_, err = fmt.Fprintf(c.App.Writer, "trusted: %s (%s)\n", dir, found)
			return err
		},
	}
}

func untrustCommand() *cli.Command {
	return &cli.Command{
		Name:      "untrust",
		Usage:     "leave a folder's agents, abilities and workflows alone again",
		ArgsUsage: "[DIR]",
		Action: func(c *cli.Context) error {
			folders, dir, err := trustArguments(c)
			if err != nil {
				return err
			}
			if dir, err = folders.Remove(c.Context, dir); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.App.Writer, "no longer trusted: %s\n", dir)
			return err
		},
	}
}

// trustArguments returns the list of trusted folders, and the folder that a
// command is about.
func trustArguments(c *cli.Context) (folders *trust.Folders, dir string, err error) {
	if c.NArg() > 1 {
		return nil, "", env.UsageError("%s takes one directory", c.Command.Name)
	}
	if folders, err = trustedFolders(); err != nil {
		return nil, "", err
	}
	if c.NArg() == 0 {
		return folders, ".", nil
	}
	return folders, c.Args().First(), nil
}

// trustedFolders returns the list in the user's data directory.
func trustedFolders() (*trust.Folders, error) {
	dir, err := storage.DataDir()
	if err != nil {
		return nil, err
	}
	return trust.Open(filepath.Join(dir, "trust.json")), nil
}

// trusted returns what reports, at any time, whether the user trusts the
// workspace: with a flag for this run, or in the list of trusted folders.
func trusted(c *cli.Context, workspace string) func() bool {
	if c.Bool(trustFlag.Name) {
		return func() bool { return true }
	}
	folders, err := trustedFolders()
	if err != nil {
		return func() bool { return false }
	}
	return func() bool { return folders.Trusted(workspace) }
}

// replaced returns the folder that the list trusts at the workspace's path where
// another one stands there since; else an empty string.
func replaced(c *cli.Context, workspace string) string {
	folders, err := trustedFolders()
	if err != nil || c.Bool(trustFlag.Name) {
		return ""
	}
	return folders.Replaced(workspace)
}

// tellReplaced says on standard error that the trusted folder is another one now.
func tellReplaced(c *cli.Context, workspace string) {
	if dir := replaced(c, workspace); dir != "" {
		fmt.Fprintf(c.App.ErrWriter, "toolfold: another folder stands at %s than the one that was trusted: look at it, "+
			"then toolfold trust %s, or toolfold untrust %s\n", dir, dir, dir)
	}
}

// maxCounted bounds what is read to count definitions.
const maxCounted = 1000

// definitions counts the files that a folder has for toolfold to run, in words.
// It is empty where there are none.
func definitions(workspace string) string {
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
		switch {
		case n == 1:
			parts = append(parts, "1 "+kind.singular)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, kind.many))
		}
	}
	return strings.Join(parts, ", ")
}
