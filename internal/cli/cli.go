// Package cli assembles the program from its groups of commands, which have a package each.
package cli

import (
	"context"
	"errors"
	"fmt"
	_ "time/tzdata" // schedules name time zones, which some machines lack

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/heap"
)

// Main runs the command in args, the first of which is the program. It returns the exit code of the
// process.
func Main(args []string) int {
	e := env.New()
	e.Garbage = heap.Settle()
	return run(context.Background(), e, args)
}

// run is Main without the process-wide settings: testscript also runs it.
func run(ctx context.Context, e *env.Env, args []string) int {
	cli.VersionPrinter = func(c *cli.Context) { fmt.Fprintln(c.App.Writer, "toolfold", c.App.Version) }
	app := newApp(e)
	err := app.RunContext(ctx, arrange(app, args))
	if err == nil {
		return 0
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(e.Err, "toolfold:", text)
	}
	var exit cli.ExitCoder
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return env.ExitFailed
}
