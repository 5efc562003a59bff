package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/suggest"
)

func newApp() *cli.App {
	app := &cli.App{
		Name:  "toolfold",
		Usage: "an agent's workbench over MCP, at a fraction of the tokens",
		Description: "Options come from flags, then the environment, then .toolfold/config.json in the\n" +
			"workspace for what is harmless, then the user's config file, then the default.\n\n" +
			"Exit codes: 0 done, 1 the action or check failed, 2 the command line is wrong.",
		Version: version(),
		Commands: []*cli.Command{
			serveCommand(), workerCommand(), callCommand(), findCommand(), describeCommand(), toolsCommand(), doctorCommand(),
			upstreamCommand(), migrateCommand(), tokenCommand(), trustCommand(), untrustCommand(), statusCommand(), setupCommand(),
			completionCommand(), versionCommand(),
		},
		HideHelpCommand:           true,
		EnableBashCompletion:      true,
		DisableSliceFlagSeparator: true, // values of --header may have commas
		Writer:                    stdout,
		ErrWriter:                 stderr,
		OnUsageError:              onUsageError,
		Action:                    unknownCommand,
		ExitErrHandler:            func(*cli.Context, error) {}, // run reports errors
	}
	refuseWrong(app.Commands)
	return app
}

// refuseWrong makes commands suggest flags for unknown ones, and commands that declare
// no arguments refuse them.
func refuseWrong(commands []*cli.Command) {
	for _, command := range commands {
		refuseWrong(command.Subcommands)
		command.OnUsageError = onUsageError
		if command.ArgsUsage == "" && len(command.Subcommands) == 0 {
			command.Before = func(c *cli.Context) error {
				if c.NArg() > 0 {
					return usageError("%s takes no arguments, got %q", command.Name, c.Args().First())
				}
				return nil
			}
		}
	}
}

// unknownCommand runs when no known command was named.
func unknownCommand(c *cli.Context) error {
	name := c.Args().First()
	if name == "" {
		return cli.ShowSubcommandHelp(c)
	}
	var known []string
	for _, command := range c.Command.Subcommands {
		known = append(known, command.Name)
	}
	if near := suggest.Nearest(name, known); near != "" {
		return usageError("unknown command %q, did you mean %q?", name, near)
	}
	return usageError("unknown command %q; see %s --help", name, c.Command.HelpName)
}

func onUsageError(c *cli.Context, err error, _ bool) error {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return usageError("%v", err)
	}
	var known []string
	for _, f := range c.Command.Flags {
		known = append(known, f.Names()...)
	}
	if near := suggest.Nearest(name, known); near != "" {
		return usageError("unknown flag --%s, did you mean --%s?", name, near)
	}
	return usageError("unknown flag --%s; see %s --help", name, c.Command.HelpName)
}

// jsonFlag asks for the stable output.
var jsonFlag = &cli.BoolFlag{Name: "json", Usage: "print JSON"}
