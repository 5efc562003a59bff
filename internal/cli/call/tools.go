package call

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/screen"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// ToolsCommand returns the command tools.
func ToolsCommand() *cli.Command {
	return &cli.Command{
		Name:  "tools",
		Usage: "show the tools/list that clients get, and its cost",
		Flags: append(settings.Flags(append(settings.PermissionSettings, append(slices.Clone(settings.SurfaceSettings), "for")...)...),
			settings.UpstreamsFlag, env.OutputFlag(env.AsTable), env.JSONFlag,
			&cli.BoolFlag{Name: "explain", Usage: "explain each option and each missing action"}),
		Action: func(c *cli.Context) error {
			form, err := env.OutputOf(c)
			if err != nil {
				return err
			}
			o, err := settings.Load(c)
			if err != nil {
				return err
			}
			b, err := workbench.Open(c, o)
			if err != nil {
				return err
			}
			defer b.Close()
			rules, families := o.Rules(), b.Families()
			offer := o.SurfaceOptions()
			l := listing{Mode: offer.Mode, Level: offer.Level}
			permitted := rules.Rights().Filter(families)
			if c.Bool("explain") {
				l.explain(o, families, permitted)
			}
			for _, t := range surface.List(permitted, offer) {
				cost, err := doctor.Count([]lazy.ListedTool{t})
				if err != nil {
					return err
				}
				l.Tools = append(l.Tools, listingTool{t, cost.Tokens})
				l.Total = l.Total.Add(cost)
			}
			return env.PrintAs(c, form, l, l.table)
		},
	}
}

// listing holds the output of tools --json.
type listing struct {
	Mode  surface.Mode  `json:"mode"`
	Level lazy.Level    `json:"level"`
	Total doctor.Cost   `json:"total"`
	Tools []listingTool `json:"tools"`

	Options   []settings.Setting `json:"options,omitempty"`   // with --explain
	NotListed []unlistedTool     `json:"notListed,omitempty"` // with --explain
	LeftOut   []leftOut          `json:"leftOut,omitempty"`   // with --explain
}

// unlistedTool is a tool that can be found and called, but is not listed.
type unlistedTool struct {
	Tool   string `json:"tool"`
	Reason string `json:"reason"` // the setting that hides it
	From   string `json:"from"`   // source of that setting
}

// leftOut is an action that callers neither see nor may call.
type leftOut struct {
	Action string `json:"action"`
	Reason string `json:"reason"` // the setting that excludes it
	From   string `json:"from"`   // source of that setting
}

// explain adds the options with their sources, and the tools and actions that they hide.
func (l *listing) explain(o *settings.Options, families, permitted []*toolfold.Family) {
	applies := o.Layers.Redacted()
	for _, name := range slices.Concat([]string{"for"}, settings.SurfaceSettings, settings.PermissionSettings) {
		l.Options = append(l.Options, settings.Setting{Name: name, Value: applies[name], From: o.Layers.From(name)})
	}
	offer := o.SurfaceOptions()
	list := surface.List(permitted, offer)
	for _, t := range surface.Tools(permitted, offer) {
		switch {
		case slices.ContainsFunc(list, func(l lazy.ListedTool) bool { return l.Name == t.Name }):
		case t.Tier == surface.Unlisted:
			reason := fmt.Sprintf("for %s: its models write code that calls tools; --tier=extended lists it", o.For)
			l.NotListed = append(l.NotListed, unlistedTool{t.Name, reason, o.Layers.From("for")})
		case t.Tier > offer.Tier:
			l.NotListed = append(l.NotListed, unlistedTool{t.Name, fmt.Sprintf("tier %s: it is %s", o.Tier, t.Tier), o.Layers.From("tier")})
		default:
			l.NotListed = append(l.NotListed, unlistedTool{t.Name, fmt.Sprintf("listing %s: it is not core", offer.Level), o.Layers.From("listing")})
		}
	}
	for _, f := range families {
		for _, a := range f.Actions {
			if setting, reason := o.Rules().Reason(a); setting != "" {
				l.LeftOut = append(l.LeftOut, leftOut{a.FullName(), reason, denies(o, setting, a)})
			}
		}
	}
}

// denies names the sources of the setting that excludes an action. For deny, these have a matching
// pattern. If none has, they are the sources of allow without a matching pattern.
func denies(o *settings.Options, setting string, a *toolfold.Action) string {
	if setting != "deny" {
		return o.Layers.From(setting)
	}
	var from []string
	sources, lists := o.Layers.Lists("deny")
	for i, patterns := range lists {
		if slices.ContainsFunc(patterns, a.Matches) {
			from = append(from, sources[i])
		}
	}
	if from == nil {
		sources, lists = o.Layers.Lists("allow")
		for i, patterns := range lists {
			if !slices.ContainsFunc(patterns, a.AllowedBy) {
				from = append(from, "allow of "+sources[i])
			}
		}
	}
	return strings.Join(from, ", ")
}

type listingTool struct {
	lazy.ListedTool
	Tokens int `json:"tokens"`
}

// table prints the tools with their costs, and the explanations of --explain.
func (l listing) table(s screen.Screen) error {
	t := screen.Table{Header: []string{"tool", "tokens", "description"}, Right: []string{"tokens"}}
	for _, tool := range l.Tools {
		t.Rows = append(t.Rows, []string{tool.Name, fmt.Sprint(tool.Tokens), tool.Description})
	}
	t.Rows = append(t.Rows, []string{"total", fmt.Sprint(l.Total.Tokens), fmt.Sprintf("%d tools, %d bytes: %s, %s listing",
		l.Total.Tools, l.Total.Bytes, l.Mode, l.Level)})
	if _, err := s.Table(t); err != nil || l.Options == nil {
		return err
	}
	options := screen.Table{Header: []string{"option", "value", "from"}}
	for _, option := range l.Options {
		value := option.Value
		if value == nil {
			value = "-"
		}
		options.Rows = append(options.Rows, []string{option.Name, fmt.Sprint(value), option.From})
	}
	hidden := screen.Table{Header: []string{"hidden", "name", "because"}}
	for _, tool := range l.NotListed {
		hidden.Rows = append(hidden.Rows, []string{"not listed", tool.Tool, fmt.Sprintf("%s (%s)", tool.Reason, tool.From)})
	}
	for _, action := range l.LeftOut {
		hidden.Rows = append(hidden.Rows, []string{"left out", action.Action, fmt.Sprintf("%s (%s)", action.Reason, action.From)})
	}
	for _, t := range []screen.Table{options, hidden} {
		if len(t.Rows) == 0 {
			continue
		}
		fmt.Fprintln(s.Out)
		if _, err := s.Table(t); err != nil {
			return err
		}
	}
	return nil
}
