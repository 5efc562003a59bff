package env

import (
	"slices"

	"github.com/urfave/cli/v2"
)

// flagLines prints the flags without a heading first, and the other flags under their headings.
const flagLines = `{{range .VisibleFlags}}{{if not .GetCategory}}
   {{.}}{{end}}{{end}}{{$heading := ""}}{{range .VisibleFlags}}{{$own := .GetCategory}}{{if $own}}{{if ne $own $heading}}{{$heading = $own}}

   {{$own}}
{{end}}
   {{.}}{{end}}{{end}}`

// commandLines prints commands in the order of their declaration, under their headings.
const commandLines = `{{$heading := ""}}{{range .VisibleCommands}}{{if ne .Category $heading}}{{$heading = .Category}}

   {{.Category}}{{end}}
     {{join .Names ", "}}{{"\t"}}{{.Usage}}{{end}}`

// The pages of a command and of one with subcommands.
const (
	commandTop = `NAME:
   {{template "helpNameTemplate" .}}

USAGE:
   {{template "usageTemplate" .}}{{if .Description}}

DESCRIPTION:
   {{template "descriptionTemplate" .}}{{end}}`
	commandEnd  = "\n\nOPTIONS:" + flagLines + "\n"
	commandHelp = commandTop + commandEnd
	groupHelp   = commandTop + "\n\nCOMMANDS:" + commandLines + commandEnd
)

// appHelp is the page of the program.
const appHelp = `NAME:
   {{template "helpNameTemplate" .}}

USAGE:
   {{.HelpName}} command [command options]

DESCRIPTION:
   {{template "descriptionTemplate" .}}

COMMANDS:` + commandLines + `

OPTIONS:` + flagLines + `
`

// LayOut sorts help pages by heading. Subcommands keep the order of their declaration. A command's own
// flags come before flags of settings. Headings have the given order; the rest keep the order of their
// declaration.
func LayOut(commands []*cli.Command, headings ...string) {
	for _, command := range commands {
		command.CustomHelpTemplate = commandHelp
		if len(command.Subcommands) > 0 {
			command.CustomHelpTemplate = groupHelp
		}
		all := slices.Clone(headings)
		for _, flag := range command.Flags {
			if heading := headingOf(flag); heading != "" && !slices.Contains(all, heading) {
				all = append(all, heading)
			}
		}
		slices.SortStableFunc(command.Flags, func(a, b cli.Flag) int {
			return slices.Index(all, headingOf(a)) - slices.Index(all, headingOf(b)) // -1 without a heading
		})
		LayOut(command.Subcommands, headings...)
	}
}

// headingOf returns the heading of a flag on help pages; empty for a flag without one.
func headingOf(flag cli.Flag) string {
	if flag, ok := flag.(cli.CategorizableFlag); ok {
		return flag.GetCategory()
	}
	return ""
}
