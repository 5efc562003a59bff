package call

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/cli/env"
)

// completeActions lists the names of actions, or the flags if the word at the cursor begins with -.
func completeActions(c *cli.Context) {
	if strings.HasPrefix(env.LastWord(), "-") {
		cli.DefaultCompleteWithFlags(c.Command)(c)
		return
	}
	for _, family := range app.Families() {
		for _, action := range family.Actions {
			fmt.Fprintln(c.App.Writer, action.FullName())
		}
	}
}

// completeCall lists names of actions. After a name it lists the parameters that are not given yet, as
// KEY= for strings and KEY:= for other types.
func completeCall(c *cli.Context) {
	if c.NArg() == 0 || strings.HasPrefix(env.LastWord(), "-") {
		completeActions(c)
		return
	}
	name, words := calledName(c.Args().Slice())
	for _, family := range app.Families() {
		for _, action := range family.Actions {
			if action.FullName() != name {
				continue
			}
			for _, p := range action.Params() {
				sign := ":="
				if p.Kind == toolfold.KindString {
					sign = "="
				}
				if !slices.ContainsFunc(words, func(arg string) bool { return strings.HasPrefix(arg, p.Name+sign) }) {
					fmt.Fprintln(c.App.Writer, p.Name+sign)
				}
			}
		}
	}
}
