package upstream

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/text/english"
)

// checkResult is the result of asking a server.
type checkResult struct {
	name    string
	off     bool     // switched off, and not asked
	problem string   // why it gave no list; empty if it did
	changed []string // changes in its prompts and resources
}

// checkUpstreams asks servers for their tools, stores the lists, and prints their costs as they are and
// folded. Servers that are switched off are asked only by name, and then report that.
func checkUpstreams(c *cli.Context) error {
	o, g, err := servers.OpenReview(c, c.String(settings.UpstreamsFlag.Name))
	if err != nil {
		return err
	}
	defer g.Close()
	names := c.Args().Slice()
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(o.Upstreams))
	}
	list := make([]checkResult, len(names))
	for i, name := range names {
		u, known := o.Upstreams[name]
		if !known {
			return upstreamUnknown(o, name)
		}
		list[i] = checkResult{name: name, off: u.Disabled && c.NArg() == 0}
	}
	var printing sync.Mutex
	servers.SomeAtOnce(len(list), func(i int) {
		if list[i].off {
			return
		}
		list[i].ask(c, g)
		printing.Lock()
		defer printing.Unlock()
		fmt.Fprintln(c.App.ErrWriter, list[i].line(g))
	})
	servers.TellShared(c, o, g, names...)
	if err := printCheckResults(c, o, g, list); err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(s checkResult) bool { return s.problem != "" }) {
		return cli.Exit("", env.ExitFailed)
	}
	return nil
}

// ask asks the server for its tools, within --timeout.
func (s *checkResult) ask(c *cli.Context, g *gateway.Gateway) {
	ctx, cancel := context.WithTimeout(c.Context, c.Duration(servers.TimeoutFlag.Name))
	defer cancel()
	_, _, known := g.Listing(s.name)
	before := g.Offers(s.name)
	if err := g.Refresh(ctx, s.name); err != nil {
		s.problem = err.Error()
		return
	}
	if !known { // otherwise everything would be new
		before = g.Offers(s.name)
	}
	s.changed = gateway.Differences(before, g.Offers(s.name))
}

// line returns a message with the result, printed while other servers are still being asked.
func (s *checkResult) line(g *gateway.Gateway) string {
	if s.problem != "" {
		return s.name + " failed: " + s.problem
	}
	answer, _, _ := g.Listing(s.name)
	return s.name + " " + english.Count(len(answer.Tools), "tool", "tools")
}

// printCheckResults prints a table of the servers' costs, followed by the changes.
func printCheckResults(c *cli.Context, o *settings.Options, g *gateway.Gateway, list []checkResult) error {
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "upstream\ttools\ttokens\tfolded\ttokens\tprompts\tresources\tnote")
	var before, after doctor.Cost
	for _, s := range list {
		note := s.problem
		if s.off {
			note = g.Trouble()[s.name]
		}
		if note != "" {
			fmt.Fprintf(w, "%s\t-\t-\t-\t-\t-\t-\t%s\n", s.name, note)
			continue
		}
		answer, families, _ := g.Listing(s.name)
		raw, folded, err := servers.Costs(answer, families, o)
		if err != nil {
			return err
		}
		var prompts int
		offers := g.Offers(s.name)
		for _, o := range offers {
			if o.Kind == "prompt" {
				prompts++
			}
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", s.name, raw.Tools, raw.Tokens, folded.Tools, folded.Tokens, prompts,
			len(offers)-prompts, g.Trouble()[s.name])
		before, after = before.Add(raw), after.Add(folded)
	}
	if len(list) > 1 {
		fmt.Fprintf(w, "total\t%d\t%d\t%d\t%d\t\t\t\n", before.Tools, before.Tokens, after.Tools, after.Tokens)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, s := range list {
		for _, line := range s.changed {
			fmt.Fprintf(c.App.Writer, "%s: %s\n", s.name, line)
		}
	}
	return nil
}
