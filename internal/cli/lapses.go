package cli

import (
	"fmt"
	"slices"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/permission"
)

// lapses are the rules that were named on standard error, so that each is named once.
type lapses struct {
	mu   sync.Mutex
	said map[string]bool
}

// sayLapses names lapsed rules on standard error that it has not named before.
func (b *workbench) sayLapses(o *settings.Options) {
	if b.gateway == nil {
		return
	}
	var tokens []permission.Token
	if o.HTTP != "" && o.HTTPTokenFile != "" {
		tokens, _ = settings.ReadTokens(o.HTTPTokenFile) // the server says what is wrong with it
	}
	lines := settings.Lapses(b.ruled(), settings.Rules(o.Options), tokens)
	b.lapses.mu.Lock()
	defer b.lapses.mu.Unlock()
	if b.lapses.said == nil {
		b.lapses.said = map[string]bool{}
	}
	for _, line := range lines {
		if !b.lapses.said[line] {
			b.lapses.said[line] = true
			fmt.Fprintf(b.env.Err, "toolfold: %s\n", line)
		}
	}
}

// lapsedRules lists the lapsed rules of the settings and of the file with tokens, as far as the tools of
// the servers of the settings are known. It starts no server.
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
	return settings.Lapses(slices.Concat(app.Families(), g.Families(), g.Named()), settings.Rules(o.Options), tokens), nil
}
