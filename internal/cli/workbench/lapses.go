package workbench

import (
	"fmt"
	"sync"

	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/permission"
)

// lapses are the rules that were named on standard error, so that each is named once.
type lapses struct {
	mu   sync.Mutex
	said map[string]bool
}

// sayLapses names lapsed rules on standard error that it has not named before.
func (b *Workbench) sayLapses(o *settings.Options) {
	if b.gateway == nil {
		return
	}
	var tokens []permission.Token
	if o.HTTP != "" && o.HTTPTokenFile != "" {
		tokens, _ = settings.ReadTokens(o.HTTPTokenFile) // the server says what is wrong with it
	}
	lines := settings.Lapses(b.Ruled(), o.Rules(), tokens)
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
