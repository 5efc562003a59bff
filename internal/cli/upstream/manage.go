package upstream

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
)

// switchCommands returns the commands enable and disable.
func switchCommands() []*cli.Command {
	command := func(name, usage string, disabled bool) *cli.Command {
		return &cli.Command{
			Name: name, Usage: usage, ArgsUsage: "NAME", Flags: settings.Flags(), OnUsageError: env.OnUsageError,
			Description: "A serve that runs applies it within a few seconds.",
			Action:      func(c *cli.Context) error { return switchUpstream(c, disabled) },
		}
	}
	return []*cli.Command{
		command("enable", "switch on a server that was switched off", false),
		command("disable", "switch a server off; its settings and accepted tools stay", true),
	}
}

// switchUpstream switches a server off or on in the user's settings.
func switchUpstream(c *cli.Context, disabled bool) error {
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	name := c.Args().First()
	u, known := o.Upstreams[name]
	if !known || c.NArg() != 1 {
		return upstreamUnknown(o, name)
	}
	state := map[bool]string{true: "off", false: "on"}[disabled]
	if u.Disabled == disabled {
		_, err := fmt.Fprintf(c.App.Writer, "%s is switched %s already\n", name, state)
		return err
	}
	if err := servers.Switch(c.Context, o, name, !disabled); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "switched %s %s; a serve that runs applies it within a few seconds\n", name, state)
	return err
}
