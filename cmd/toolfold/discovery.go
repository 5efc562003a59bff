package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/lazy"
)

func findCommand() *cli.Command {
	return &cli.Command{
		Name:      "find",
		Usage:     "find actions by what they do",
		ArgsUsage: "QUERY",
		Flags: append(settingFlags("toolMode"), jsonFlag,
			&cli.IntFlag{Name: "limit", Usage: "most results", Value: 5}),
		OnUsageError: onUsageError,
		Action: func(c *cli.Context) error {
			query := strings.Join(c.Args().Slice(), " ")
			if query == "" || c.Int("limit") < 1 {
				return usageError("find takes a query in words, and a limit of at least 1")
			}
			b, err := openWorkbench(c)
			if err != nil {
				return err
			}
			found := b.Discovery.View(c.Context).Find(query, c.Int("limit"))
			if c.Bool(jsonFlag.Name) {
				return printJSON(c, found)
			}
			if len(found) == 0 {
				return fmt.Errorf("nothing matches %q; toolfold tools lists them all", query)
			}
			w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
			for _, f := range found {
				fmt.Fprintf(w, "%.2f\t%s\t%s\n\t\t%s\n", f.Score, f.Name, f.Summary, f.Usage)
			}
			return w.Flush()
		},
	}
}

func describeCommand() *cli.Command {
	return &cli.Command{
		Name:         "describe",
		Usage:        "print the full account of tools and actions, as JSON lines",
		ArgsUsage:    "NAME…",
		Flags:        settingFlags("toolMode"),
		OnUsageError: onUsageError,
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return usageError("describe takes names: toolfold describe memory.store")
			}
			b, err := openWorkbench(c)
			if err != nil {
				return err
			}
			for _, name := range c.Args().Slice() {
				doc, refusal := b.Discovery.View(c.Context).Describe(name, lazy.Account{Examples: true, Schema: true})
				if refusal != nil {
					return fmt.Errorf("%s; %s", refusal.Message, refusal.Hint)
				}
				if err := printJSON(c, doc); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
