package env

import (
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/text/suggest"
)

// Exit codes. Zero means success.
const (
	ExitFailed = 1 // the action or check failed
	exitUsage  = 2 // the command line is wrong
)

// UsageError returns an error in the command line, with its exit code.
func UsageError(format string, args ...any) error {
	return cli.Exit(fmt.Sprintf(format, args...), exitUsage)
}

// App returns the program without commands. The caller reports its errors.
func (e *Env) App() *cli.App {
	return &cli.App{
		Name:                      "toolfold",
		Version:                   Version(),
		HideHelpCommand:           true,
		CustomAppHelpTemplate:     appHelp,
		EnableBashCompletion:      true,
		DisableSliceFlagSeparator: true, // values of --header may contain commas
		Writer:                    e.Out,
		ErrWriter:                 e.Err,
		Metadata:                  map[string]any{envMember: e},
		OnUsageError:              OnUsageError,
		Action:                    UnknownCommand,
		ExitErrHandler:            func(*cli.Context, error) {},
	}
}

// RefuseWrong makes commands suggest flags for unknown ones, and reject undeclared arguments.
func RefuseWrong(commands []*cli.Command) {
	for _, command := range commands {
		RefuseWrong(command.Subcommands)
		command.OnUsageError = OnUsageError
		if command.ArgsUsage == "" && len(command.Subcommands) == 0 {
			command.Before = func(c *cli.Context) error {
				if c.NArg() > 0 {
					return UsageError("%s takes no arguments, got %q", command.Name, c.Args().First())
				}
				return nil
			}
		}
	}
}

// Refused returns the error of a command for words that it would reject. read replaces its action.
func (e *Env) Refused(command *cli.Command, read cli.ActionFunc, words []string) error {
	command.Action = read
	app := e.App()
	app.Commands = []*cli.Command{command}
	RefuseWrong(app.Commands)
	return app.Run(append([]string{"toolfold", command.Name}, words...))
}

// UnknownCommand is the action of a command with subcommands. It runs if no known subcommand is named.
func UnknownCommand(c *cli.Context) error {
	name := c.Args().First()
	if name == "" {
		return cli.ShowSubcommandHelp(c)
	}
	var known []string
	for _, command := range c.Command.Subcommands {
		known = append(known, command.Name)
	}
	if near := suggest.Nearest(name, known); near != "" {
		return UsageError("unknown command %q, did you mean %q?", name, near)
	}
	return UsageError("unknown command %q; see %s --help", name, c.Command.HelpName)
}

// OnUsageError words errors of flags, and suggests a similar flag.
func OnUsageError(c *cli.Context, err error, _ bool) error {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return UsageError("%v", err)
	}
	var known []string
	for _, f := range c.Command.Flags {
		known = append(known, f.Names()...)
	}
	if near := suggest.Nearest(name, known); near != "" {
		return UsageError("unknown flag --%s, did you mean --%s?", name, near)
	}
	return UsageError("unknown flag --%s; see %s --help", name, c.Command.HelpName)
}

// LastWord returns the word of the command line from which completion starts.
func LastWord() string { return os.Args[len(os.Args)-2] }
