package upstream

import (
	"runtime"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/heap"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/upstream/pool"
)

// shareCommand runs the process through which all sessions of a user reach their upstreams. It is
// started on demand.
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
