package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

func newApp(env *Env) *cli.App {
	app := &cli.App{
		Name:  "toolfold",
		Usage: "an agent's workbench over MCP, at a fraction of the tokens",
		Description: "Options come from flags, then the environment, then .toolfold/config.json in the\n" +
			"workspace for what is harmless, then the user's config file, then the default.\n\n" +
			"Exit codes: 0 done, 1 the action or check failed, 2 the command line is wrong.",
		Version: version(),
		Commands: slices.Concat(
			group("Serve", setupCommand(), serveCommand(), workerCommand(), upstreamCommand(), tokenCommand()),
			group("Call actions", callCommand(), findCommand(), describeCommand(), toolsCommand(), hookCommand()),
			group("Measure and move over", doctorCommand(), migrateCommand()),
			group("Look after this machine", statusCommand(), trustCommand(), untrustCommand(), completionCommand(), versionCommand()),
		),
		HideHelpCommand:           true,
		EnableBashCompletion:      true,
		DisableSliceFlagSeparator: true, // values of --header may have commas
		Writer:                    env.Out,
		ErrWriter:                 env.Err,
		Metadata:                  map[string]any{envMember: env},
		OnUsageError:              onUsageError,
		Action:                    unknownCommand,
		ExitErrHandler:            func(*cli.Context, error) {}, // run reports errors
	}
	refuseWrong(app.Commands)
	return app
}

// group puts commands under a heading of the help page.
func group(heading string, commands ...*cli.Command) []*cli.Command {
	for _, command := range commands {
		command.Category = heading
	}
	return commands
}

// refuseWrong makes commands suggest flags for unknown ones, and commands that declare
// no arguments refuse them.
func refuseWrong(commands []*cli.Command) {
	for _, command := range commands {
		refuseWrong(command.Subcommands)
		command.OnUsageError = onUsageError
		if command.BashComplete == nil {
			command.BashComplete = cli.DefaultCompleteWithFlags(command)
		}
		command.BashComplete = completeValues(command.BashComplete)
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
	tool, _, _ := strings.Cut(name, ".")
	isTool := func(f *toolfold.Family) bool { return f.Name == tool }
	if slices.Contains(known, "call") && slices.ContainsFunc(app.Families(), isTool) {
		return usageError("%s is a tool: toolfold call %s runs it, toolfold describe %[2]s shows how", tool, name)
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
