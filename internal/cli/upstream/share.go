package upstream

import (
	"runtime"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/heap"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/upstream/pool"
)

// shareCommand is the process that all sessions of a user reach their upstreams by. It is
// started where it is needed.
func shareCommand() *cli.Command {
	return &cli.Command{
		Name: "share", Usage: "start programs for the sessions of this user, at a socket", ArgsUsage: "SOCKET", Hidden: true,
		OnUsageError: env.OnUsageError,
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return env.UsageError("share takes the path of a socket")
			}
			defer runtime.KeepAlive(heap.Reserve(env.Of(c).Garbage))
			return pool.Serve(c.Args().First(), servers.ThisBinary())
		},
	}
}
