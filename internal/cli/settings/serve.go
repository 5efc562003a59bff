package settings

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
)

// ServeCommand returns the command serve without its action: setup writes its options into clients'
// files.
func ServeCommand() *cli.Command {
	return &cli.Command{Name: "serve", Usage: "serve MCP on standard input and output, or on --http", Flags: serveFlags()}
}

func serveFlags() []cli.Flag {
	return append(Flags(slices.Concat(RunSettings, SurfaceSettings, []string{"for", "resources", "strictNames", "store", "http",
		"httpTokenFile", "allowedHosts", "maxBodyBytes", "maxSessions", "maxConnections", "maxCalls", "callsPerMinute", "drainMs",
		"upstreamMegabytes", "upstreamWaitMs", "instructionTokens", "worker", "workspaceName"})...),
		TrustFlag, UpstreamsFlag, env.LogLevelFlag)
}

// RefusedByServe returns the error of serve for options that it would reject.
func RefusedByServe(e *env.Env, options []string) error {
	return AsServe(e, options, func(c *cli.Context) error {
		_, err := FilesOf(c)
		return err
	})
}

// AsServe runs read as the action of serve with options.
func AsServe(e *env.Env, options []string, read cli.ActionFunc) error {
	return e.Refused(ServeCommand(), read, options)
}
