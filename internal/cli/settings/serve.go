package settings

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
)

// ServeFlags returns the flags of serve, which setup writes into the files of clients.
func ServeFlags() []cli.Flag {
	return append(Flags(slices.Concat(RunSettings, SurfaceSettings, []string{"for", "resources", "strictNames", "store", "http",
		"httpTokenFile", "allowedHosts", "maxBodyBytes", "maxSessions", "maxConnections", "maxCalls", "drainMs",
		"upstreamMegabytes", "upstreamWaitMs", "worker", "workspaceName"})...),
		TrustFlag, UpstreamsFlag, env.LogLevelFlag)
}

// RefusedByServe returns the error of serve for options that it would refuse.
func RefusedByServe(e *env.Env, options []string) error {
	return e.Refused(&cli.Command{Name: "serve", Flags: ServeFlags()}, func(c *cli.Context) error {
		_, err := FilesOf(c)
		return err
	}, options)
}
