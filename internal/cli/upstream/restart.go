package upstream

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
)

func restartCommand() *cli.Command {
	return &cli.Command{
		Name: "restart", Usage: "end the shared process of a server; the next call starts it again", ArgsUsage: "NAME",
		Description: "Calls that run are waited for, up to 5 s. Settings that changed apply once the clients are restarted.",
		Flags:       append(settings.Flags(), settings.UpstreamsFlag), OnUsageError: env.OnUsageError, Action: restartUpstream,
	}
}

func restartUpstream(c *cli.Context) error {
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	if o.Upstreams, _, err = servers.WithFile(c, o, c.String(settings.UpstreamsFlag.Name)); err != nil {
		return err
	}
	name, err := upstreamArg(c, o)
	if err != nil {
		return err
	}
	effect, err := servers.Restart(c.Context, o, name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.App.Writer, effect)
	return err
}
