package call

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/screen"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/lazy"
)

// FindCommand returns the command find.
func FindCommand() *cli.Command {
	return &cli.Command{
		Name:      "find",
		Usage:     "find actions by their purpose",
		ArgsUsage: "QUERY",
		Flags: append(settings.Flags(append(settings.PermissionSettings, "toolMode")...), env.OutputFlag(env.AsTable), env.JSONFlag,
			&cli.IntFlag{Name: "limit", Usage: "most results", Value: 5}),
		Action: func(c *cli.Context) error {
			query := strings.Join(c.Args().Slice(), " ")
			if query == "" || c.Int("limit") < 1 {
				return env.UsageError("find takes a query in words, and a limit of at least 1")
			}
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
			found := b.Discovery.View(c.Context).Find(query, c.Int("limit"))
			if len(found) == 0 && form == env.AsTable {
				return fmt.Errorf("nothing matches %q; toolfold tools lists them all", query)
			}
			return env.PrintAs(c, form, found, func(screen.Screen) error {
				w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0) // usages are not cut, so that they can be copied
				for _, f := range found {
					fmt.Fprintf(w, "%.2f\t%s\t%s\n\t\t%s\n", f.Score, f.Name, f.Summary, f.Usage)
				}
				return w.Flush()
			})
		},
	}
}

// DescribeCommand returns the command describe.
func DescribeCommand() *cli.Command {
	return &cli.Command{
		Name:         "describe",
		Usage:        "print the full account of tools and actions",
		ArgsUsage:    "NAME…",
		Description:  "With --json one line of JSON for each, the schema included.",
		Flags:        append(settings.Flags(append(settings.PermissionSettings, "toolMode")...), env.JSONFlag),
		BashComplete: completeActions,
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return env.UsageError("describe takes names: toolfold describe memory.store")
			}
			o, err := settings.Load(c)
			if err != nil {
				return err
			}
			b, err := workbench.Open(c, o)
			if err != nil {
				return err
			}
			for i, name := range c.Args().Slice() {
				account := lazy.Account{Examples: true, Schema: c.Bool(env.JSONFlag.Name)}
				doc, refusal := b.Discovery.View(c.Context).Describe(name, account)
				if refusal != nil {
					return fmt.Errorf("%s; %s", refusal.Message, refusal.Hint)
				}
				if c.Bool(env.JSONFlag.Name) {
					err = env.PrintJSON(c, doc)
				} else {
					if i > 0 {
						fmt.Fprintln(c.App.Writer)
					}
					err = printAccount(c.App.Writer, name, doc)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// printAccount prints the result of [lazy.View.Describe] for a tool or an action.
func printAccount(out io.Writer, name string, doc json.RawMessage) error {
	var account struct {
		lazy.ActionDoc
		Actions []lazy.ActionRow
	}
	if err := json.Unmarshal(doc, &account); err != nil {
		return fmt.Errorf("reading description: %w", err)
	}
	fmt.Fprintf(out, "%s\n  %s\n", name, account.Description)
	for _, action := range account.Actions {
		fmt.Fprintf(out, "\n  %s\n    %s\n", action.Usage, action.Summary)
	}
	if len(account.Actions) > 0 {
		return nil
	}
	fmt.Fprintf(out, "\n  %s\n", account.Usage)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var params ordered.Map
	if len(account.Params) > 0 {
		if err := json.Unmarshal(account.Params, &params); err != nil {
			return fmt.Errorf("reading parameters: %w", err)
		}
	}
	for _, p := range params {
		var text string
		_ = json.Unmarshal(p.Value.(json.RawMessage), &text) // always a string
		fmt.Fprintf(w, "\n  %s\t%s", p.Key, text)
	}
	if len(params) > 0 {
		fmt.Fprintln(w)
	}
	for _, row := range [][2]string{
		{"returns", account.Returns}, {"effect", account.Effect}, {"example", string(account.Example)},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "\n  %s\t%s", row[0], row[1])
		}
	}
	fmt.Fprintln(w)
	return w.Flush()
}
