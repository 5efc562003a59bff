package upstream

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/clientfile"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/text/shell"
	"github.com/toolfold/toolfold/internal/text/unseen"
)

// upstreamArg returns the upstream that a command names.
func upstreamArg(c *cli.Context, o *settings.Options) (string, error) {
	name := c.Args().First()
	if _, known := o.Upstreams[name]; !known {
		return "", upstreamUnknown(o, name)
	}
	return name, nil
}

// foldUpstream prints or changes the plan by which a server's tools are folded.
func foldUpstream(c *cli.Context) error {
	o, g, err := servers.OpenReview(c, c.String(settings.UpstreamsFlag.Name))
	if err != nil {
		return err
	}
	defer g.Close()
	name, err := upstreamArg(c, o)
	if err != nil {
		return err
	}
	servers.TellShared(c, o, g, name)
	before, known := g.Plan(name)
	switch {
	case !known:
		return fmt.Errorf("%s has not listed its tools yet: toolfold upstream check %s", name, name)
	case c.Bool("again") && c.String("use") != "":
		return env.UsageError("--again and --use exclude each other")
	case c.Bool("again"):
		_, err = g.Replan(name)
	case c.String("use") != "":
		var text []byte
		if text, err = clientfile.Read(c.String("use")); err != nil {
			return fmt.Errorf("reading %s: %w", c.String("use"), err)
		}
		plan, wrong := servers.ReadFoldPlan(text)
		if wrong != nil {
			return fmt.Errorf("reading %s: %w", c.String("use"), wrong)
		}
		err = plan.Placed(g.UsePlan(name, plan.Plan, ""))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	after, _ := g.Plan(name)
	for _, line := range servers.RenamedTools(before, after) {
		fmt.Fprintln(c.App.ErrWriter, "toolfold: "+line)
	}
	answer, families, _ := g.Listing(name)
	raw, folded, err := servers.Costs(answer, families, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "# %s: %d tools, %d tokens; folded %d tools, %d tokens at listing %s\n",
		name, raw.Tools, raw.Tokens, folded.Tools, folded.Tokens, o.SurfaceOptions().Level)
	text, err := servers.WriteFoldPlan(after)
	if err != nil {
		return err
	}
	_, err = io.WriteString(c.App.Writer, text)
	return err
}

// decision is a command that decides about held tools of a server.
type decision struct {
	command, done string                        // approve, approved
	verb, does    string                        // accept, accepted
	effect        string                        // of the decision
	byName        func(gateway.HeldTool) string // why it decides about a tool only by name; empty = also without
	take          func(*gateway.Gateway, string, ...gateway.HeldTool) ([]string, error)
}

var (
	approval = decision{
		command: "approve", done: "approved", verb: "accept", does: "accepted",
		effect: "servers that run offer it within a few seconds",
		byName: func(h gateway.HeldTool) string {
			switch {
			case h.Rejected:
				return "rejected"
			case len(h.Flags) > 0:
				return "flagged"
			}
			return ""
		},
		take: (*gateway.Gateway).Approve,
	}
	rejection = decision{
		command: "reject", done: "rejected", verb: "reject", does: "rejected",
		effect: "it stays held back, and a later change waits for you again",
		byName: func(h gateway.HeldTool) string {
			if h.Rejected {
				return "rejected"
			}
			return ""
		},
		take: (*gateway.Gateway).Reject,
	}
)

// run shows the held tools of a server. It decides about them if the user agrees on a terminal, or if --digest
// matches.
func (d decision) run(c *cli.Context) error {
	o, g, err := servers.OpenReview(c, c.String(settings.UpstreamsFlag.Name))
	if err != nil {
		return err
	}
	defer g.Close()
	name, err := upstreamArg(c, o)
	if err != nil {
		return err
	}
	servers.TellShared(c, o, g, name)
	held, err := g.HeldTools(name)
	if err != nil {
		return fmt.Errorf("%s: %w: toolfold upstream check %s asks it", name, err, name)
	}
	if len(held) == 0 {
		_, err := fmt.Fprintf(c.App.Writer, "nothing of %s is held back\n", name)
		return err
	}
	tools := c.Args().Tail()
	for _, tool := range tools {
		if !slices.ContainsFunc(held, func(h gateway.HeldTool) bool { return pinName(h) == tool }) {
			return fmt.Errorf("no tool %q of %s is held back: toolfold upstream %s %s --dry-run lists the held tools", tool, name, d.command, name)
		}
	}
	var shown []gateway.HeldTool
	left := map[string][]string{} // names by the reason why they are left out
	for _, h := range held {
		switch why := d.byName(h); {
		case len(tools) > 0 && !slices.Contains(tools, pinName(h)):
			continue
		case len(tools) == 0 && why != "":
			left[why] = append(left[why], pinName(h))
		default:
			shown = append(shown, h)
		}
		if err := printTool(c.App.Writer, h); err != nil {
			return err
		}
	}
	for _, why := range slices.Sorted(maps.Keys(left)) {
		if why == d.done {
			fmt.Fprintf(c.App.Writer, "already %s: %s\n", d.done, unseen.Escaped(shell.Words(left[why])))
			continue
		}
		fmt.Fprintf(c.App.Writer, "%s, so %s only by name: toolfold upstream %s %s %s\n",
			why, d.does, d.command, name, unseen.Escaped(shell.Words(left[why])))
	}
	digest := gateway.DigestOf(shown)
	words := []string{"toolfold", "upstream", d.command, name}
	if path := c.String(settings.UpstreamsFlag.Name); path != "" {
		words = append(words, "--upstreams", path)
	}
	again := shell.Words(append(append(words, tools...), "--digest", digest))
	switch given := c.String("digest"); {
	case len(shown) == 0:
		return fmt.Errorf("nothing is %s", d.done)
	case given != "" && given != digest:
		return fmt.Errorf("nothing is %s: the changes have the digest %s now, not %s", d.done, digest, given)
	case given != "":
	case c.Bool("dry-run"):
		_, err := fmt.Fprintf(c.App.Writer, "nothing is %s; to %s these changes: %s\n", d.done, d.verb, again)
		return err
	case !canAsk():
		return fmt.Errorf("nothing is %s, since there is no terminal to ask; to %s these changes: %s", d.done, d.verb, again)
	case !agrees(c, fmt.Sprintf("%s %s?", d.verb, unseen.Escaped(strings.Join(pinNames(shown), ", ")))):
		return fmt.Errorf("nothing is %s", d.done)
	}
	if _, err := d.take(g, name, shown...); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s %s; %s\n", d.done, unseen.Escaped(strings.Join(pinNames(shown), ", ")), d.effect)
	return err
}

// ownTexts is the name, for these commands, of the title and instructions of a server.
const ownTexts = "server:"

// pinName returns the name of a held tool for these commands.
func pinName(h gateway.HeldTool) string { return cmp.Or(h.Name, ownTexts) }

func pinNames(held []gateway.HeldTool) (names []string) {
	for _, h := range held {
		names = append(names, pinName(h))
	}
	return names
}

// printTool prints the flags of a held tool, and its differences from the accepted definition.
func printTool(out io.Writer, h gateway.HeldTool) error {
	title := unseen.Escaped(pinName(h))
	if h.Name == "" {
		title += " its title and instructions"
	}
	state := "changed"
	switch {
	case h.Rejected:
		state = "rejected"
	case h.Was == nil:
		state = "new"
	}
	fmt.Fprintf(out, "%-8s %s\n", state, title)
	for _, flag := range h.Flags {
		fmt.Fprintf(out, "flagged  %s has %s\n", unseen.Escaped(pinName(h)), flag)
	}
	return printChange(out, h.Was, h.Now)
}

// printChange prints the differing lines of two definitions, with invisible characters escaped.
func printChange(out io.Writer, was, now json.RawMessage) error {
	_, err := io.WriteString(out, unseen.Escaped(servers.Difference(was, now)))
	return err
}
