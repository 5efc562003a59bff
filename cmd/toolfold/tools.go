package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools"
	"github.com/toolfold/toolfold/tools/all"
)

func toolsCommand() *cli.Command {
	return &cli.Command{
		Name:         "tools",
		Usage:        "show what tools/list would show, and what it costs",
		Flags:        append(settingFlags("toolMode", "listing", "params"), jsonFlag),
		OnUsageError: onUsageError,
		Action: func(c *cli.Context) error {
			o, err := loadOptions(c)
			if err != nil {
				return err
			}
			mode, level := o.surface()
			l := listing{Mode: mode, Level: level}
			for _, t := range surface.List(all.Families(), surface.Options{Mode: mode, Level: level, Params: tools.Form(o.Params)}) {
				cost, err := doctor.Count([]lazy.Listed{t})
				if err != nil {
					return err
				}
				l.Tools = append(l.Tools, listingTool{t, cost.Tokens})
				l.Total = l.Total.Add(cost)
			}
			if c.Bool(jsonFlag.Name) {
				return printJSON(c, l)
			}
			return l.print(c)
		},
	}
}

// listing holds the output of tools --json.
type listing struct {
	Mode  surface.Mode  `json:"mode"`
	Level lazy.Level    `json:"level"`
	Total doctor.Cost   `json:"total"`
	Tools []listingTool `json:"tools"`
}

type listingTool struct {
	lazy.Listed
	Tokens int `json:"tokens"`
}

func (l listing) print(c *cli.Context) error {
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "tool\ttokens\tdescription")
	for _, t := range l.Tools {
		fmt.Fprintf(w, "%s\t%d\t%s\n", t.Name, t.Tokens, t.Description)
	}
	fmt.Fprintf(w, "total\t%d\t%s tools, %s listing: %d tools, %d bytes\n",
		l.Total.Tokens, l.Mode, l.Level, l.Total.Tools, l.Total.Bytes)
	return w.Flush()
}
