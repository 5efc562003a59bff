package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// completing is the last argument of a shell's request for completions.
const completing = "--generate-bash-completion"

// arrange moves the flags of a command before its arguments, as package flag requires, and converts
// "help call" to "call --help". Words after -- stay arguments.
func arrange(app *cli.App, args []string) []string {
	if len(args) < 2 || args[len(args)-1] == completing {
		return args
	}
	if args[1] == "help" {
		return append(append(args[:1:1], args[2:]...), "--help")
	}
	command, at := app.Command(args[1]), 2
	for command != nil && at < len(args) && len(command.Subcommands) > 0 {
		i := slices.IndexFunc(command.Subcommands, func(sub *cli.Command) bool { return sub.HasName(args[at]) })
		if i < 0 {
			return args
		}
		command, at = command.Subcommands[i], at+1
	}
	if command == nil {
		return args
	}
	var flags, rest []string
	for i := at; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			rest = append(rest, args[i:]...)
			i = len(args)
		case len(arg) < 2 || arg[0] != '-':
			rest = append(rest, arg)
		case arg == "--help" || arg == "-h":
			return append(args[:at:at], "--help") // help of the command, not of its arguments
		default:
			flags = append(flags, arg)
			if i+1 < len(args) && takesValue(command, arg) {
				i++
				flags = append(flags, args[i])
			}
		}
	}
	return slices.Concat(args[:at], flags, rest)
}

// takesValue reports whether the argument after a flag is its value.
func takesValue(command *cli.Command, arg string) bool {
	name := strings.TrimLeft(arg, "-")
	for _, f := range command.Flags {
		if slices.Contains(f.Names(), name) {
			_, isBool := f.(*cli.BoolFlag)
			return !isBool
		}
	}
	return false
}
