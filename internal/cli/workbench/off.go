package workbench

import (
	"fmt"
	"slices"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/permission"
)

// printOff names on standard error the options that have no effect because the workbench is off.
// others is the number of other servers.
func (b *Workbench) printOff(o *settings.Options, others int) {
	if !o.GatewayOnly() {
		return
	}
	if others == 0 {
		fmt.Fprintf(b.env.Err, "toolfold: --tier=%s serves upstreams only, and there is no upstream: toolfold upstream add, or another --tier\n",
			settings.NoWorkbench)
	}
	b.printOffRules("", settings.Rules(o.Options))
	if o.HTTP != "" && o.HTTPTokenFile != "" {
		tokens, _ := settings.ReadTokens(o.HTTPTokenFile) // the server reports faults of the file
		for _, t := range tokens {
			b.printOffRules("token "+t.Name+": ", t.Rules)
		}
	}
}

// printOffRules names the rules that match only the workbench. Each line begins with owner.
func (b *Workbench) printOffRules(owner string, r permission.Rules) {
	served := b.servedFamilies()
	for _, rules := range []struct {
		setting  string
		patterns []string
		does     string
	}{{"allow", r.Allow, "allows"}, {"deny", r.Deny, "denies"}} {
		for _, pattern := range rules.patterns {
			if matches(b.off, pattern) && !matches(served, pattern) && !b.isOfUnknown(pattern) {
				fmt.Fprintf(b.env.Err, "toolfold: %s%s: %q %s nothing: it names the workbench, which is off (--tier=%s)\n",
					owner, rules.setting, pattern, rules.does, settings.NoWorkbench)
			}
		}
	}
}

// matches reports whether a pattern matches an action of the families.
func matches(families []*toolfold.Family, pattern string) bool {
	return slices.ContainsFunc(families, func(f *toolfold.Family) bool {
		return slices.ContainsFunc(f.Actions, func(a *toolfold.Action) bool { return a.Matches(pattern) })
	})
}
