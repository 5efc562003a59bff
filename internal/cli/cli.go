// Package cli has the commands of toolfold.
package cli

import (
	"context"
	"errors"
	"fmt"
	_ "time/tzdata" // schedules name time zones, which not every machine knows

	"github.com/urfave/cli/v2"
)

// Exit codes. Zero means done.
const (
	exitFailed = 1 // the action or check failed
	exitUsage  = 2 // the command line is wrong
)

// Main runs the command that args name, of which the first is the program, and returns
// the exit code of the process.
func Main(args []string) int {
	env := NewEnv()
	env.Garbage = settle()
	return run(context.Background(), env, args)
}

// run is Main without what is set for the whole process: testscript runs it too.
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
