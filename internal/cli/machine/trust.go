package machine

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/app/trust"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
)

// TrustCommand returns the command trust.
func TrustCommand() *cli.Command {
	return &cli.Command{
		Name:      "trust",
		Usage:     "let toolfold use a folder's agents, abilities, workflows and scripts",
		ArgsUsage: "[DIR]",
		Description: "DIR is the current directory unless named. Folders below it are trusted too. Files of a trusted\n" +
			"folder run with your rights and your model providers: look at them first.",
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
			found := settings.Definitions(dir)
			if found == "" {
				found = "no agents, abilities, workflows or scripts yet"
			}
			_, err = fmt.Fprintf(c.App.Writer, "trusted: %s (%s)\n", dir, found)
			return err
		},
	}
}

// UntrustCommand returns the command untrust.
func UntrustCommand() *cli.Command {
	return &cli.Command{
		Name:      "untrust",
		Usage:     "leave a folder's agents, abilities, workflows and scripts alone again",
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

// trustArguments returns the list of trusted folders and the folder of the command.
func trustArguments(c *cli.Context) (folders *trust.Folders, dir string, err error) {
	if c.NArg() > 1 {
		return nil, "", env.UsageError("%s takes one directory", c.Command.Name)
	}
	if folders, err = settings.TrustedFolders(); err != nil {
		return nil, "", err
	}
	if c.NArg() == 0 {
		return folders, ".", nil
	}
	return folders, c.Args().First(), nil
}
