package upstream

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/gateway/fold"
	"github.com/toolfold/toolfold/internal/cli/clientfile"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/text/shell"
	"github.com/toolfold/toolfold/internal/text/unseen"
	"github.com/toolfold/toolfold/internal/text/yamlx"
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
	o, g, err := servers.OpenGateway(c, c.String(settings.UpstreamsFlag.Name))
	if err != nil {
		return err
	}
	defer g.Close()
	name, err := upstreamArg(c, o)
	if err != nil {
		return err
	}
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
		var plan fold.Plan
		if err := yamlx.Decode(text, &plan); err != nil {
			return fmt.Errorf("reading %s: %w", c.String("use"), err)
		}
		err = g.UsePlan(name, plan)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	after, _ := g.Plan(name)
	for _, line := range renames(before, after) {
		fmt.Fprintln(c.App.ErrWriter, "toolfold: "+line)
	}
	answer, families, _ := g.Listing(name)
	raw, folded, err := servers.Costs(answer, families, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "# %s: %d tools, %d tokens; folded %d tools, %d tokens at listing %s\n",
		name, raw.Tools, raw.Tokens, folded.Tools, folded.Tokens, o.SurfaceOptions().Level)
	encoder := yaml.NewEncoder(c.App.Writer)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(after); err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	return encoder.Close()
}

// renames lists the tools of a server that get another name from the new plan.
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

// approveUpstream shows the held tools of a server. It accepts them if the user agrees on a terminal,
// or if --digest matches.
func approveUpstream(c *cli.Context) error {
	o, g, err := servers.OpenGateway(c, c.String(settings.UpstreamsFlag.Name))
	if err != nil {
		return err
	}
	defer g.Close()
	name, err := upstreamArg(c, o)
	if err != nil {
		return err
	}
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
			return fmt.Errorf("no tool %q of %s is held back: toolfold upstream approve %s --dry-run lists the held tools", tool, name, name)
		}
	}
	var shown []gateway.HeldTool
	var flagged []string
	for _, h := range held {
		switch {
		case len(tools) > 0 && !slices.Contains(tools, pinName(h)):
			continue
		case len(tools) == 0 && len(h.Flags) > 0:
			flagged = append(flagged, pinName(h))
		default:
			shown = append(shown, h)
		}
		if err := printTool(c.App.Writer, h); err != nil {
			return err
		}
	}
	if len(flagged) > 0 {
		fmt.Fprintf(c.App.Writer, "flagged, so accepted only by name: toolfold upstream approve %s %s\n",
			name, unseen.Escaped(shell.Words(flagged)))
	}
	digest := gateway.DigestOf(shown)
	words := []string{"toolfold", "upstream", "approve", name}
	if path := c.String(settings.UpstreamsFlag.Name); path != "" {
		words = append(words, "--upstreams", path)
	}
	again := shell.Words(append(append(words, tools...), "--digest", digest))
	switch given := c.String("digest"); {
	case len(shown) == 0:
		return errors.New("nothing is approved")
	case given != "" && given != digest:
		return fmt.Errorf("nothing is approved: the changes have the digest %s now, not %s", digest, given)
	case given != "":
	case c.Bool("dry-run"):
		_, err := fmt.Fprintf(c.App.Writer, "nothing is approved; to accept these changes: %s\n", again)
		return err
	case !canAsk():
		return fmt.Errorf("nothing is approved, since there is no terminal to ask; to accept these changes: %s", again)
	case !agrees(c, fmt.Sprintf("accept %s?", unseen.Escaped(strings.Join(pinNames(shown), ", ")))):
		return errors.New("nothing is approved")
	}
	if _, err := g.Approve(name, shown...); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "approved %s; servers that run offer it within a few seconds\n",
		unseen.Escaped(strings.Join(pinNames(shown), ", ")))
	return err
}

// ownTexts is the name for approving the title and instructions of a server.
const ownTexts = "server:"

// pinName returns the name for approving a held tool.
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
	if h.Was == nil {
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
