package workbench

import (
	"fmt"
	"sync"

	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/permission"
)

// lapses holds the rules that were already named on standard error.
type lapses struct {
	mu   sync.Mutex
	said map[string]bool
}

// sayLapses names lapsed rules on standard error, each once.
func (b *Workbench) sayLapses(o *settings.Options) {
	if b.gateway == nil {
		return
	}
	var tokens []permission.Token
	if o.HTTP != "" && o.HTTPTokenFile != "" {
		tokens, _ = settings.ReadTokens(o.HTTPTokenFile) // the server reports faults of the file
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
