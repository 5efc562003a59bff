package upstream

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
)

const linesFlag = "lines"

func logCommand() *cli.Command {
	return &cli.Command{
		Name: "log", Usage: "print standard error, failures and refused calls of a server", ArgsUsage: "NAME",
		Description: "Each line has its time (UTC) and its kind: stderr, failed or refused. Values of the server's env and\n" +
			"headers and other secrets are hidden. The last 256 kB to 512 kB are kept, of every process that\n" +
			"runs the server.",
		Flags: append(settings.Flags(), settings.UpstreamsFlag,
			&cli.IntFlag{Name: linesFlag, Aliases: []string{"n"}, Usage: "print so many of the last lines", Value: 50}),
		OnUsageError: env.OnUsageError, Action: logUpstream,
	}
}

func logUpstream(c *cli.Context) error {
	if c.Int(linesFlag) < 1 {
		return env.UsageError("--%s takes a number from 1, got %d", linesFlag, c.Int(linesFlag))
	}
	o, g, err := servers.OpenGateway(c, c.String(settings.UpstreamsFlag.Name))
	if err != nil {
		return err
	}
	defer g.Close()
	name, err := upstreamArg(c, o)
	if err != nil {
		return err
	}
	lines, err := g.Journal(name, c.Int(linesFlag))
	if err != nil {
		return fmt.Errorf("reading the log of %s: %w", name, err)
	}
	if len(lines) == 0 {
		_, err := fmt.Fprintf(c.App.ErrWriter, "toolfold: %s has written nothing on standard error, and nothing failed\n", name)
		return err
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(c.App.Writer, line); err != nil {
			return err
		}
	}
	return nil
}
