package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/goccy/go-yaml"
	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/gateway/fold"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// checkUpstreams asks servers for their tools, keeps the lists, and prints what they cost
// as they are and folded.
func checkUpstreams(c *cli.Context) error {
	o, g, err := settingsGateway(c)
	if err != nil {
		return err
	}
	defer g.Close()
	names := c.Args().Slice()
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(o.Upstreams))
	}
	problems, changed := make([]string, len(names)), make([][]string, len(names))
	var wait sync.WaitGroup
	for i, name := range names {
		if _, known := o.Upstreams[name]; !known {
			return upstreamUnknown(o, name)
		}
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(c.Context, c.Duration(timeoutFlag.Name))
			defer cancel()
			_, _, known := g.Listed(name)
			before := g.Offers(name)
			if err := g.Refresh(ctx, name); err != nil {
				problems[i] = err.Error()
				return
			}
			if !known { // all of it would be new
				before = g.Offers(name)
			}
			changed[i] = gateway.Changed(before, g.Offers(name))
		})
	}
	wait.Wait()
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "upstream\ttools\ttokens\tfolded\ttokens\tprompts\tresources\tnote")
	var before, after doctor.Cost
	for i, name := range names {
		if problems[i] != "" {
			fmt.Fprintf(w, "%s\t-\t-\t-\t-\t-\t-\t%s\n", name, problems[i])
			continue
		}
		answer, families, _ := g.Listed(name)
		raw, folded, err := costs(answer, families, o)
		if err != nil {
			return err
		}
		var prompts int
		offers := g.Offers(name)
		for _, o := range offers {
			if o.Kind == "prompt" {
				prompts++
			}
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", name, raw.Tools, raw.Tokens, folded.Tools, folded.Tokens, prompts, len(offers)-prompts,
			g.Trouble()[name])
		before, after = before.Add(raw), after.Add(folded)
	}
	if len(names) > 1 {
		fmt.Fprintf(w, "total\t%d\t%d\t%d\t%d\t\t\t\n", before.Tools, before.Tokens, after.Tools, after.Tokens)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i, name := range names {
		for _, line := range changed[i] {
			fmt.Fprintf(c.App.Writer, "%s: %s\n", name, line)
		}
	}
	if slices.ContainsFunc(problems, func(problem string) bool { return problem != "" }) {
		return cli.Exit("", exitFailed)
	}
	return nil
}

// settingsGateway returns the gateway to the servers of the settings. It starts none.
func settingsGateway(c *cli.Context) (*options, *gateway.Gateway, error) {
	o, err := loadOptions(c)
	if err != nil {
		return nil, nil, err
	}
	var list []gateway.Upstream
	for _, name := range slices.Sorted(maps.Keys(o.Upstreams)) {
		list = append(list, upstreamFrom(name, o.Upstreams[name], o.files.Workspace))
	}
	g, err := newGateway(gateway.Options{Upstreams: list, Log: newLog(), OneClient: true, Connect: asServed})
	return o, g, err
}

// asServed starts or reaches a server for this process alone, and offers it what serve on
// standard input and output does: which tools a server lists may depend on that.
func asServed(ctx context.Context, u gateway.Upstream, c upstream.Client) (gateway.Session, error) {
	if isShared(u) { // with sessions that work in other roots
		c.Asks = slices.DeleteFunc(slices.Clone(c.Asks), func(method string) bool { return method == upstream.Roots })
	}
	return gateway.Connect(ctx, u, c)
}

// costs counts the tools of a server as they are, and folded as the options list them.
func costs(answer upstream.Answer, families []*toolfold.Family, o *options) (raw, folded doctor.Cost, err error) {
	l, err := listOf(answer)
	if err != nil {
		return raw, folded, err
	}
	if raw, err = doctor.CostOf(l); err != nil {
		return raw, folded, err
	}
	folded, err = doctor.Count(surface.List(families, o.surfaceOptions()))
	return raw, folded, err
}

// named returns the one upstream that a command is given.
func named(c *cli.Context, o *options) (string, error) {
	name := c.Args().First()
	if _, known := o.Upstreams[name]; !known {
		return "", upstreamUnknown(o, name)
	}
	return name, nil
}

// foldUpstream prints the plan by which the tools of a server are folded, or changes it.
func foldUpstream(c *cli.Context) error {
	o, g, err := settingsGateway(c)
	if err != nil {
		return err
	}
	defer g.Close()
	name, err := named(c, o)
	if err != nil {
		return err
	}
	before, known := g.Plan(name)
	switch {
	case !known:
		return fmt.Errorf("%s has not listed its tools yet: toolfold upstream check %s", name, name)
	case c.Bool("again") && c.String("use") != "":
		return usageError("--again and --use exclude each other")
	case c.Bool("again"):
		_, err = g.Replan(name)
	case c.String("use") != "":
		var text []byte
		if text, err = readClient(c.String("use")); err != nil {
			return fmt.Errorf("reading %s: %w", c.String("use"), err)
		}
		var plan fold.Plan
		if err := yaml.UnmarshalWithOptions(text, &plan, yaml.Strict()); err != nil {
			return fmt.Errorf("reading %s: %w", c.String("use"), err)
		}
		err = g.UsePlan(name, plan)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	after, _ := g.Plan(name)
	for _, line := range renames(before, after) {
		fmt.Fprintln(stderr, "toolfold: "+line)
	}
	answer, families, _ := g.Listed(name)
	raw, folded, err := costs(answer, families, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "# %s: %d tools, %d tokens; folded %d tools, %d tokens at listing %s\n",
		name, raw.Tools, raw.Tokens, folded.Tools, folded.Tokens, o.surfaceOptions().Level)
	text, err := yaml.Marshal(after)
	if err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	_, err = c.App.Writer.Write(text)
	return err
}

// renames says which tools of a server are called otherwise by another plan.
func renames(before, after fold.Plan) (lines []string) {
	names := map[string]string{}
	for _, f := range before.Families {
		for _, a := range f.Actions {
			names[a.Tool] = f.Name + "." + a.Name
		}
	}
	for _, f := range after.Families {
		for _, a := range f.Actions {
			if was, now := names[a.Tool], f.Name+"."+a.Name; was != "" && was != now {
				lines = append(lines, fmt.Sprintf("%s is %s now", was, now))
			}
		}
	}
	return lines
}

// approveUpstream shows the tools of a server that are held back, and accepts them.
func approveUpstream(c *cli.Context) error {
	o, g, err := settingsGateway(c)
	if err != nil {
		return err
	}
	defer g.Close()
	name, err := named(c, o)
	if err != nil {
		return err
	}
	held, err := g.Held(name)
	if err != nil {
		return err
	}
	tools := c.Args().Tail()
	if len(held) == 0 {
		_, err := fmt.Fprintf(c.App.Writer, "nothing of %s is held back\n", name)
		return err
	}
	for _, h := range held {
		if len(tools) > 0 && !slices.Contains(tools, h.Name) {
			continue
		}
		if h.Was == nil {
			fmt.Fprintf(c.App.Writer, "new      %s\n", pinName(h.Name))
		} else {
			fmt.Fprintf(c.App.Writer, "changed  %s\n", pinName(h.Name))
		}
		if err := printChange(c.App.Writer, h.Was, h.Now); err != nil {
			return err
		}
	}
	if c.Bool("dry-run") {
		_, err := fmt.Fprintln(c.App.Writer, "nothing is approved; without --dry-run these are")
		return err
	}
	taken, err := g.Approve(name, tools...)
	if err != nil {
		return err
	}
	for i, name := range taken {
		taken[i] = pinName(name)
	}
	_, err = fmt.Fprintf(c.App.Writer, "approved %s; servers that run offer it within a few seconds\n", strings.Join(taken, ", "))
	return err
}

// pinName returns the name of a tool; that of the title and instructions of a server is empty.
func pinName(name string) string { return cmp.Or(name, "title and instructions") }

// printChange prints what differs between two definitions, line by line.
func printChange(out io.Writer, was, now json.RawMessage) error {
	lines := func(definition json.RawMessage) []string {
		if definition == nil {
			return nil
		}
		var text bytes.Buffer
		if json.Indent(&text, definition, "", "  ") != nil {
			return []string{string(definition)}
		}
		return strings.Split(text.String(), "\n")
	}
	before, after := lines(was), lines(now)
	for _, side := range []struct {
		mark        string
		lines, less []string
	}{{"- ", before, after}, {"+ ", after, before}} {
		for _, line := range side.lines {
			if !slices.Contains(side.less, line) {
				if _, err := fmt.Fprintln(out, side.mark+line); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
