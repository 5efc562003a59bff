package upstream

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/screen"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/config"
)

func setsCommand() *cli.Command {
	return &cli.Command{
		Name: "sets", Usage: "show the sets of upstreams, or change one", ArgsUsage: "[NAME [MEMBER…]]",
		Description: "A member is an upstream, or a tool of one by the server's own name of it, in which * stands\n" +
			"for any characters. toolfold serve --set NAME serves a set, and /mcp/NAME over HTTP.\n\n" +
			"toolfold upstream sets dev github 'files.read_*'      makes the set dev, or replaces it\n" +
			"toolfold upstream sets --add dev linear\n" +
			"toolfold upstream sets --remove dev github\n" +
			"toolfold upstream sets --delete dev",
		Flags: append(settings.Flags(), settings.UpstreamsFlag, env.OutputFlag(env.AsTable), env.JSONFlag,
			&cli.BoolFlag{Name: "add", Usage: "add the members to the set"},
			&cli.BoolFlag{Name: "remove", Usage: "take the members out of the set"},
			&cli.BoolFlag{Name: "delete", Usage: "delete the set"},
		),
		OnUsageError: env.OnUsageError, Action: setsAction,
	}
}

func setsAction(c *cli.Context) error {
	name, members := c.Args().First(), c.Args().Tail()
	var ways []string
	for _, way := range []string{"add", "remove", "delete"} {
		if c.Bool(way) {
			ways = append(ways, way)
		}
	}
	switch {
	case len(ways) > 1:
		return env.UsageError("--%s and --%s do not go together", ways[0], ways[1])
	case c.Bool("delete") && c.NArg() != 1:
		return env.UsageError("--delete takes the name of one set")
	case len(ways) == 1 && !c.Bool("delete") && len(members) == 0:
		return env.UsageError("--%s takes a NAME and members: toolfold upstream sets --%s dev github", ways[0], ways[0])
	}
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	all, _, err := servers.WithFile(c, o, c.String(settings.UpstreamsFlag.Name))
	if err != nil {
		return err
	}
	before := o.Sets[name]
	if _, known := o.Sets[name]; !known && name != "" && (len(ways) > 0 && !c.Bool("add") || len(members) == 0) {
		return env.UsageError("%v", settings.UnknownSet(o.Sets, name))
	}
	switch {
	case len(ways) == 0 && len(members) == 0:
		return printSets(c, o, slices.Collect(maps.Keys(all)), name)
	case c.Bool("delete"):
		return deleteSet(c, o, name)
	case c.Bool("add"):
		members = slices.Concat(before, slices.DeleteFunc(members, func(m string) bool { return slices.Contains(before, m) }))
	case c.Bool("remove"):
		for _, m := range members {
			if !slices.Contains(before, m) {
				return env.UsageError("the set %s has no member %q: it has %s", name, m, cmp.Or(strings.Join(before, ", "), "none"))
			}
		}
		members = slices.DeleteFunc(slices.Clone(before), func(m string) bool { return slices.Contains(members, m) })
	}
	if err := settings.CheckSet(name, members); err != nil {
		return env.UsageError("%v", err)
	}
	known := slices.Collect(maps.Keys(all))
	for _, m := range members {
		if !slices.Contains(before, m) && settings.UpstreamOf(m, known) == "" {
			return env.UsageError("%s is no upstream, nor a tool of one: there are %s; toolfold upstream add makes one", m,
				cmp.Or(strings.Join(slices.Sorted(slices.Values(known)), ", "), "no upstreams"))
		}
	}
	if err := writeSet(c, o, name, members); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "the set %s has %s; toolfold serve --set %s serves it, and /mcp/%s over HTTP\n", name,
		cmp.Or(strings.Join(members, ", "), "no members"), name, name)
	return err
}

// writeSet writes a set into the user's file. It fails if the environment sets the sets, which would
// override the file.
func writeSet(c *cli.Context, o *settings.Options, name string, members []string) error {
	if from := o.Layers.From("sets"); from == config.Environment {
		return fmt.Errorf("the sets come from the variable TOOLFOLD_SETS: change them there")
	}
	_, err := config.New(o.Files, nil).Set(config.ByUser(c.Context),
		config.SetIn{Path: "sets." + name, Value: ordered.MustJSON(members), Scope: config.Global})
	if err != nil {
		return fmt.Errorf("writing the set %s: %w", name, err)
	}
	return nil
}

// deleteSet deletes a set from the user's file. It fails if a token is limited to the set, because the
// token would then keep servers from starting.
func deleteSet(c *cli.Context, o *settings.Options, name string) error {
	path, err := settings.TokenFile(c)
	if err != nil {
		return err
	}
	tokens, err := settings.ReadTokens(path)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if slices.Contains(t.Sets, name) {
			return env.UsageError("the token %s is limited to the set %s: toolfold token remove %s first", t.Name, name, t.Name)
		}
	}
	_, err = config.New(o.Files, nil).Unset(config.ByUser(c.Context), config.UnsetIn{Path: "sets." + name, Scope: config.Global})
	if err != nil {
		return fmt.Errorf("deleting the set %s: %w", name, err)
	}
	_, err = fmt.Fprintf(c.App.Writer, "deleted the set %s from %s\n", name, o.Files.Global)
	return err
}

// leaveSets removes an upstream and its tools from all sets, also in o, and reports that.
func leaveSets(c *cli.Context, o *settings.Options, server string) error {
	known := slices.Collect(maps.Keys(o.Upstreams))
	for _, name := range slices.Sorted(maps.Keys(o.Sets)) {
		members := slices.DeleteFunc(slices.Clone(o.Sets[name]), func(m string) bool { return settings.UpstreamOf(m, known) == server })
		if len(members) == len(o.Sets[name]) {
			continue
		}
		if err := writeSet(c, o, name, members); err != nil {
			return err
		}
		o.Sets[name] = members
		fmt.Fprintf(c.App.Writer, "took %s out of the set %s", server, name)
		if len(members) == 0 {
			fmt.Fprintf(c.App.Writer, ", which is empty now: toolfold upstream sets --delete %s", name)
		}
		fmt.Fprintln(c.App.Writer)
	}
	return nil
}

// printSets prints all sets, or only the one with this name.
func printSets(c *cli.Context, o *settings.Options, known []string, only string) error {
	form, err := env.OutputOf(c)
	if err != nil {
		return err
	}
	sets := map[string][]string{}
	for name, members := range o.Sets {
		if only == "" || name == only {
			sets[name] = members
		}
	}
	return env.PrintAs(c, form, map[string]any{"sets": sets}, func(s screen.Screen) error {
		if len(sets) == 0 {
			_, err := fmt.Fprintln(s.Out, "no sets: toolfold upstream sets NAME UPSTREAM… makes one")
			return err
		}
		t := screen.Table{Header: []string{"set", "members", "problem"}}
		for _, name := range slices.Sorted(maps.Keys(sets)) {
			missing := slices.DeleteFunc(slices.Clone(sets[name]), func(m string) bool { return settings.UpstreamOf(m, known) != "" })
			problem := ""
			if len(missing) > 0 {
				problem = "no upstream: " + strings.Join(missing, ", ")
			}
			t.Rows = append(t.Rows, []string{name, strings.Join(sets[name], ", "), problem})
		}
		_, err := s.Table(t)
		return err
	})
}
