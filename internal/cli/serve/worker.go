package serve

import (
	"fmt"
	"log/slog"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/cli/workbench"
)

// WorkerCommand returns the command worker.
func WorkerCommand() *cli.Command {
	return &cli.Command{
		Name:        "worker",
		Usage:       "run queued tasks of a workspace, against a shared store",
		Description: "It logs each task that it begins and ends; --log-level warn leaves that out.",
		Flags:       append(settings.Flags(append(settings.RunSettings, "store", "workspaceName")...), settings.TrustFlag, env.LogLevelFlag),
		Action: func(c *cli.Context) error {
			o, err := settings.Load(c)
			if err != nil {
				return err
			}
			if o.GatewayOnly() {
				return env.UsageError("the workbench is off, and with it tasks: tier is %s (%s); to run tasks all the same: TOOLFOLD_TIER=extended "+
					"toolfold worker", settings.NoWorkbench, o.Layers.From("tier"))
			}
			o.HTTP, o.Joins = "", true // workers do not listen
			if !c.IsSet(env.LogLevelFlag.Name) {
				env.Of(c).Level.Set(slog.LevelInfo)
			}
			b, err := workbench.Open(c, o)
			if err != nil {
				return err
			}
			defer b.Close()
			if err := settings.CheckPlaces(o.Options, b.Families()); err != nil {
				return env.UsageError("%v", err)
			}
			settings.TellReplaced(c, o.Files.Workspace)
			ctx, done := env.UntilSignal(c, env.StopGrace)
			defer done()
			fmt.Fprintf(c.App.ErrWriter, "toolfold %s: running queued tasks of workspace %s\n", env.Version(), b.Workspace)
			return b.Work(ctx, env.StopGrace)
		},
	}
}
