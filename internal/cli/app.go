package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/cli/call"
	"github.com/toolfold/toolfold/internal/cli/doctor"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/machine"
	"github.com/toolfold/toolfold/internal/cli/migrate"
	"github.com/toolfold/toolfold/internal/cli/page"
	"github.com/toolfold/toolfold/internal/cli/scaffold"
	"github.com/toolfold/toolfold/internal/cli/serve"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/cli/setup"
	"github.com/toolfold/toolfold/internal/cli/upstream"
)

// newApp returns the program with its commands. run reports its errors.
func newApp(e *env.Env) *cli.App {
	app := e.App()
	app.Usage = "one MCP server in front of all yours, at a fraction of the tokens"
	app.Description = "Begin with toolfold upstream import: it shows the cost of your clients' tools, now and folded.\n\n" +
		"A setting comes from the first of: flag, environment, .toolfold/config.json of the workspace\n" +
		"(harmless settings only), the user's config file, default.\n\n" +
		"Exit codes: 0 done, 1 the action or check failed, 2 the command line is wrong."
	app.Commands = slices.Concat(
		group("Your MCP servers, folded", upstream.Command(), upstream.SecretCommand(), setup.Command(), serve.Command(page.Site),
			machine.TokenCommand()),
		group("Measure", page.Command(), doctor.Command(), call.ToolsCommand(), machine.StatusCommand(), machine.AuditCommand()),
		group("Call actions", call.Command(), call.ScriptCommand(), call.FindCommand(), call.DescribeCommand()),
		group("The workbench", serve.WorkerCommand(), machine.TrustCommand(), machine.UntrustCommand(), machine.HookCommand(),
			machine.ExportCommand(), machine.ImportCommand()),
		group("More", scaffold.Command(), migrate.Command(), completionCommand(), versionCommand()),
	)
	env.LayOut(app.Commands, settings.Headings...)
	app.Action = noCommand
	env.RefuseWrong(app.Commands)
	complete(app.Commands)
	return app
}

// group puts commands under a heading of the help page.
func group(heading string, commands ...*cli.Command) []*cli.Command {
	for _, command := range commands {
		command.Category = heading
	}
	return commands
}

// noCommand runs if no known command is named.
func noCommand(c *cli.Context) error {
	name := c.Args().First()
	tool, _, _ := strings.Cut(name, ".")
	if slices.ContainsFunc(app.Families(), func(f *toolfold.Family) bool { return f.Name == tool }) {
		return env.UsageError("%s is a tool: toolfold call %s runs it, toolfold describe %[2]s shows how", tool, name)
	}
	return env.UnknownCommand(c)
}
