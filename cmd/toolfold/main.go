// Command toolfold serves the tools of an agent's workbench over MCP, and
// works with them from the shell.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	_ "time/tzdata" // schedules name time zones, which not every machine knows

	"github.com/urfave/cli/v2"
)

// Exit codes. Zero means done.
const (
	exitFailed = 1 // the action or check failed
	exitUsage  = 2 // the command line is wrong
)

func main() {
	env := NewEnv()
	env.Garbage = settle()
	os.Exit(run(context.Background(), env, os.Args))
}

// run is main without the process: testscript runs it too.
func run(ctx context.Context, env *Env, args []string) int {
	cli.VersionPrinter = func(c *cli.Context) { fmt.Fprintln(c.App.Writer, "toolfold", c.App.Version) }
	app := newApp(env)
	err := app.RunContext(ctx, arrange(app, args))
	if err == nil {
		return 0
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(env.Err, "toolfold:", text)
	}
	var exit cli.ExitCoder
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return exitFailed
}

// usageError returns an error of the command line, with its exit code.
func usageError(format string, args ...any) error {
	return cli.Exit(fmt.Sprintf(format, args...), exitUsage)
}
