package doctor

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
)

// lapsedRules lists the lapsed rules of the settings and of the token file, as far as the servers'
// tools are known. It starts no server.
func lapsedRules(c *cli.Context) ([]string, error) {
	o, g, err := servers.OpenGateway(c, "")
	if err != nil {
		return nil, err
	}
	defer g.Close()
	if len(o.Upstreams) == 0 {
		return nil, nil
	}
	path, err := settings.TokenFile(c)
	if err != nil {
		return nil, err
	}
	tokens, err := settings.ReadTokens(path)
	if err != nil {
		return nil, err
	}
	return settings.Lapses(slices.Concat(app.Families(), g.Families(), g.Named()), o.Rules(), tokens), nil
}
