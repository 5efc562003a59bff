package workbench

import (
	"fmt"
	"sync"

	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/permission"
)

// lapses holds the rules that were already named on standard error.
type lapses struct {
	mu      sync.Mutex
	printed map[string]bool
}

// printLapses names lapsed rules on standard error, each once.
func (b *Workbench) printLapses(o *settings.Options) {
	if b.gateway == nil {
		return
	}
	var tokens []permission.Token
	if o.HTTP != "" && o.HTTPTokenFile != "" {
		tokens, _ = settings.ReadTokens(o.HTTPTokenFile) // the server reports faults of the file
	}
	lines := settings.Lapses(b.RuleFamilies(), o.Rules(), tokens)
	b.lapses.mu.Lock()
	defer b.lapses.mu.Unlock()
	if b.lapses.printed == nil {
		b.lapses.printed = map[string]bool{}
	}
	for _, line := range lines {
		if !b.lapses.printed[line] {
			b.lapses.printed[line] = true
			fmt.Fprintf(b.env.Err, "toolfold: %s\n", line)
		}
	}
}
