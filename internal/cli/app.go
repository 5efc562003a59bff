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
	"github.com/toolfold/toolfold/internal/cli/serve"
	"github.com/toolfold/toolfold/internal/cli/setup"
	"github.com/toolfold/toolfold/internal/cli/upstream"
)

// newApp returns the program with its commands. Run reports its errors.
func newApp(e *env.Env) *cli.App {
	app := e.App()
	app.Usage = "an agent's workbench over MCP, at a fraction of the tokens"
	app.Description = "Options come from flags, then the environment, then .toolfold/config.json in the\n" +
		"workspace for what is harmless, then the user's config file, then the default.\n\n" +
		"Exit codes: 0 done, 1 the action or check failed, 2 the command line is wrong."
	app.Commands = slices.Concat(
		group("Serve", setup.Command(), serve.Command(), serve.WorkerCommand(), upstream.Command(), upstream.SecretCommand(),
			machine.TokenCommand()),
		group("Call actions", call.Command(), call.FindCommand(), call.DescribeCommand(), call.ToolsCommand(), machine.HookCommand()),
		group("Measure and move over", doctor.Command(), migrate.Command()),
		group("Look after this machine", machine.StatusCommand(), machine.TrustCommand(), machine.UntrustCommand(),
			completionCommand(), versionCommand()),
	)
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

// noCommand runs when no known command was named.
func noCommand(c *cli.Context) error {
	name := c.Args().First()
	tool, _, _ := strings.Cut(name, ".")
	if slices.ContainsFunc(app.Families(), func(f *toolfold.Family) bool { return f.Name == tool }) {
		return env.UsageError("%s is a tool: toolfold call %s runs it, toolfold describe %[2]s shows how", tool, name)
	}
	return env.UnknownCommand(c)
}
