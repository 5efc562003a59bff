package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/usage"
	"github.com/toolfold/toolfold/tools/all"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "count what every surface costs a model, in tokens",
		Flags: append(settingFlags("toolMode", "listing", "store"), jsonFlag,
			&cli.IntFlag{Name: "budget", Usage: "fail when the surface that the options choose costs more tokens than this"}),
		OnUsageError: onUsageError,
		Action: func(c *cli.Context) error {
			o, err := loadOptions(c)
			if err != nil {
				return err
			}
			report, err := doctor.Measure(all.Families())
			if err != nil {
				return err
			}
			legacy, unread := legacyCalls(c.Context, o)
			if unread != nil {
				fmt.Fprintf(os.Stderr, "toolfold: calls by legacy names: %v\n", unread)
			}
			if c.Bool(jsonFlag.Name) {
				err = printJSON(c, struct {
					doctor.Report
					LegacyCalls []usage.Count `json:"legacyCalls,omitempty"`
				}{report, legacy})
			} else if err = printReport(c, report); err == nil {
				err = printLegacyCalls(c.App.Writer, legacy)
			}
			if err != nil || !c.IsSet("budget") {
				return err
			}
			budget := c.Int("budget")
			mode, level := o.surface()
			for _, s := range report.Surfaces {
				if s.Mode == mode && s.Level == level && s.Total.Tokens > budget {
					return fmt.Errorf("%s tools at listing %s cost %d tokens, more than %d", mode, level, s.Total.Tokens, budget)
				}
			}
			return nil
		},
	}
}

// printReport prints one column a surface and one row a family.
func printReport(c *cli.Context, report doctor.Report) error {
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, cell func(doctor.Surface) any) {
		cells := []string{name}
		for _, s := range report.Surfaces {
			cells = append(cells, fmt.Sprint(cell(s)))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t")+"\t")
	}
	row("tokens", func(s doctor.Surface) any { return s.Mode })
	row("", func(s doctor.Surface) any {
		if s.Default {
			return string(s.Level) + "*"
		}
		return s.Level
	})
	for i, family := range report.Surfaces[0].Families {
		row(family.Name, func(s doctor.Surface) any { return s.Families[i].Tokens })
	}
	row("total", func(s doctor.Surface) any { return s.Total.Tokens })
	row("bytes", func(s doctor.Surface) any { return s.Total.Bytes })
	row("tools", func(s doctor.Surface) any { return s.Total.Tools })
	if err := w.Flush(); err != nil {
		return err
	}
	if err := printChoices(c.App.Writer, report.Choices); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.App.Writer, "\n%s\n* the mode's own listing\n", report.Method)
	return err
}
