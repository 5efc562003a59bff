package main

import (
	"os"

	"github.com/urfave/cli/v2"
)

func newApp() *cli.App {
	return &cli.App{
		Name:  "toolfold",
		Usage: "an agent's workbench over MCP, at a fraction of the tokens",
		Description: "Options come from flags, then the environment, then .toolfold/config.json in the\n" +
			"workspace, then the user's config file, then the default.",
		Commands: []*cli.Command{
			serveCommand(), workerCommand(), callCommand(), findCommand(), describeCommand(), toolsCommand(), doctorCommand(),
			migrateCommand(), versionCommand(),
		},
		HideVersion:     true,
		HideHelpCommand: true,
		Writer:          os.Stdout,
		ErrWriter:       os.Stderr,
		OnUsageError:    onUsageError,
		CommandNotFound: nil,
		Action:          unknownCommand,
		ExitErrHandler:  func(*cli.Context, error) {}, // run reports errors
	}
}

// unknownCommand runs when no command was named.
func unknownCommand(c *cli.Context) error {
	if name := c.Args().First(); name != "" {
		return usageError("unknown command %q; see toolfold --help", name)
	}
	return cli.ShowAppHelp(c)
}

func onUsageError(_ *cli.Context, err error, _ bool) error {
	return usageError("%v", err)
}

// jsonFlag asks for the stable output.
var jsonFlag = &cli.BoolFlag{Name: "json", Usage: "print JSON"}
