package upstream

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/upstream/pool"
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
	switch u := o.Upstreams[name]; {
	case u.URL != "":
		return fmt.Errorf("%s is reached at its url and has no process here: toolfold upstream check %s asks it again", name, name)
	case u.Isolate == "session":
		return fmt.Errorf("%s has a process for each session (isolate): end the session in your client and start another", name)
	case !pool.Supported:
		return fmt.Errorf("on this system each toolfold serve has its own process of %s: restart the client that uses it", name)
	}
	did, err := servers.Restart(c.Context, name)
	if errors.Is(err, pool.ErrOldHost) {
		return fmt.Errorf("%s: %w: restart the clients that use toolfold", name, err)
	} else if err != nil {
		return fmt.Errorf("restarting %s: %w", name, err)
	}
	if did.Processes == 0 {
		_, err := fmt.Fprintf(c.App.Writer, "%s is not running; the next call starts it\n", name)
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "restarted %s: %s\n", name, restartText(did))
	return err
}

// restartText describes the effect of a restart.
func restartText(did pool.RestartReport) string {
	parts := []string{english.Count(did.Sessions, "session uses it", "sessions use it")}
	if did.Sessions == 0 {
		parts[0] = "no session uses it"
	}
	if did.Processes > 1 {
		parts = append(parts, fmt.Sprintf("%d processes in different folders", did.Processes))
	}
	if did.Waited > 0 {
		parts = append(parts, english.Count(did.Waited, "call was waited for", "calls were waited for"))
	}
	if did.Cut > 0 {
		parts = append(parts, english.Count(did.Cut, "call did not end in time and has failed", "calls did not end in time and have failed"))
	}
	return strings.Join(parts, "; ")
}
