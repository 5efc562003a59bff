package upstream

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/redact"
	"github.com/toolfold/toolfold/internal/text/suggest"
	"github.com/toolfold/toolfold/tools/config"
)

const unsetFlag = "unset"

func setCommand() *cli.Command {
	return &cli.Command{
		Name: "set", Usage: "change settings of a server", ArgsUsage: "NAME [-- PROGRAM ARG…]",
		Description: "The flags of add change settings. Each --env or --header sets one variable or header, and the rest\n" +
			"stay; lists such as --include are replaced. --unset takes out a setting, or a variable or header.\n\n" +
			"toolfold upstream set github --timeout-ms 120000 --unset exclude\n" +
			"toolfold upstream set files --env DEBUG=1 --unset env.TOKEN",
		Flags: append(append(settings.Flags(), settingFlags()...),
			&cli.StringSliceFlag{Name: unsetFlag, Usage: "take out this setting, such as timeoutMs, env.NAME or headers.NAME; may be repeated"}),
		OnUsageError: env.OnUsageError, Action: setUpstream,
	}
}

func setUpstream(c *cli.Context) error {
	o, err := settings.Load(settings.WithoutFlags(c))
	if err != nil {
		return err
	}
	name, program := words(c)
	u, known := o.Upstreams[name]
	if !known {
		return upstreamUnknown(o, name)
	}
	values, err := flagValues(c)
	if err != nil {
		return err
	}
	before := membersOf(u)
	members := put(before, values, program)
	if _, set := values["url"]; set && len(program) == 0 { // a URL replaces a program, and the reverse
		delete(members, "command")
		delete(members, "args")
	} else if len(program) > 0 && !set {
		delete(members, "url")
	}
	for _, path := range c.StringSlice(unsetFlag) {
		if err := unset(members, path); err != nil {
			return err
		}
	}
	changed, err := upstreamOf(members)
	if err != nil {
		return err
	}
	if err := misfit("set", changed); err != nil {
		return err
	}
	if reflect.DeepEqual(membersOf(changed), before) {
		return env.UsageError("nothing of %s changes: toolfold upstream set --help lists the flags", name)
	}
	if err := putUpstreams(c, o.Files, map[string]config.Upstream{name: changed}); err != nil {
		return err
	}
	if err := printSettings(c.App.Writer, before, membersOf(changed)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s is changed in %s; servers of toolfold that run take it up when they are started again\n",
		name, o.Files.Global)
	return err
}

// unset removes a setting, or a variable or header named SETTING.NAME. The flag's spelling is also
// accepted.
func unset(members map[string]any, path string) error {
	setting, key, inside := strings.Cut(path, ".")
	var names []string
	for _, p := range config.UpstreamSettings() {
		if names = append(names, p.Name); settingFlag(p.Name) == setting || settings.FlagName(p.Name) == setting {
			setting = p.Name
		}
	}
	if !slices.Contains(names, setting) {
		if near := suggest.Nearest(setting, names); near != "" {
			return env.UsageError("--unset takes a setting: there is no %q, did you mean %q?", setting, near)
		}
		return env.UsageError("--unset takes a setting: there is no %q; there are %s", setting, strings.Join(names, ", "))
	}
	if !inside {
		if _, set := members[setting]; !set {
			return env.UsageError("--unset: %s is not set", setting)
		}
		delete(members, setting)
		return nil
	}
	pairs, _ := members[setting].(map[string]any)
	if _, set := pairs[key]; !set {
		return env.UsageError("--unset: %s has no %s", setting, key)
	}
	pairs = maps.Clone(pairs)
	delete(pairs, key)
	if members[setting] = pairs; len(pairs) == 0 {
		delete(members, setting)
	}
	return nil
}

// printSettings prints the changed settings, one per line, without secrets.
func printSettings(out io.Writer, before, after map[string]any) error {
	var lines []string
	line := func(name, was, is string) {
		if was != is {
			lines = append(lines, fmt.Sprintf("%s: %s → %s\n", name, was, is))
		}
	}
	for _, p := range config.UpstreamSettings() {
		if p.Values == nil {
			line(p.Name, plainly(p, before[p.Name]), plainly(p, after[p.Name]))
			continue
		}
		was, _ := before[p.Name].(map[string]any)
		is, _ := after[p.Name].(map[string]any)
		both := maps.Clone(was)
		if both == nil {
			both = map[string]any{}
		}
		maps.Copy(both, is)
		for _, key := range slices.Sorted(maps.Keys(both)) {
			if was[key] != is[key] {
				lines = append(lines, fmt.Sprintf("%s.%s: %s → %s\n", p.Name, key, hide(was[key]), hide(is[key])))
			}
		}
	}
	_, err := io.WriteString(out, strings.Join(lines, ""))
	return err
}

// notSet is shown for a missing setting.
const notSet = "(not set)"

// plainly returns the value of a setting without secrets.
func plainly(p toolfold.Param, value any) string {
	switch v := value.(type) {
	case nil:
		return notSet
	case string:
		return redact.Text(v)
	}
	if p.Name == "args" {
		return string(ordered.MustJSON(redact.Value(value)))
	}
	return string(ordered.MustJSON(value))
}

// hide returns the value of a variable or header. It is redacted unless it refers to a variable.
func hide(value any) string {
	text, set := value.(string)
	switch {
	case !set:
		return notSet
	case hosts.HasVariable(text) && strings.HasPrefix(strings.TrimSpace(text), "$"):
		return text
	}
	return redact.Hidden
}
