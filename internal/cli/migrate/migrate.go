// Package migrate has the command migrate, which converts callers of legacy tools.
package migrate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/cli/docs"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/migration"
)

// Command returns the command.
func Command() *cli.Command {
	return &cli.Command{
		Name:  "migrate",
		Usage: "bring callers of the legacy tools over",
		Subcommands: []*cli.Command{
			{
				Name: "guide", Usage: "print the migration guide",
				Action: func(c *cli.Context) error {
					families := app.Families()
					guide, err := docs.Guide(families)
					if err != nil {
						return err
					}
					text := guide.Text
					for _, family := range families {
						if calls := guide.Families[family.Name]; calls != "" {
							text += "\n" + calls
						}
					}
					_, err = io.WriteString(c.App.Writer, text)
					return err
				},
			},
			{
				Name: "call", Usage: "turn legacy calls into consolidated ones, JSON lines in and out",
				Description: "A line is {\"name\":…,\"arguments\":{…}} or a whole tools/call request. Lines that cannot\n" +
					"be rewritten are reported on standard error, the rest is printed, and the exit code is 1.",
				Action: rewriteAction,
			},
			{
				Name: "check", Usage: "find legacy tools in files", ArgsUsage: "PATH…",
				Description: migrateReads + "\n" +
					"A rule that permits one action stays: the answer has the rule to write, and the actions that\n" +
					"it would permit too. The exit code is 1 if something needs a change.",
				Flags: append(migrateFlags(),
					&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of the answer: text, json or sarif"},
					&cli.BoolFlag{Name: "json", Usage: "the same as --format=json"}),
				Action: checkAction,
			},
			{
				Name: "rewrite", Usage: "change files that name legacy tools; shows the difference unless --write", ArgsUsage: "PATH…",
				Description: migrateReads + "\n" +
					"Calls and texts are changed. A rule or a comparison, which cannot be changed alone, is named\n" +
					"and stays; the exit code is then 1. The rest of a file stays as it is.",
				Flags: append(migrateFlags(),
					&cli.BoolFlag{Name: "write", Usage: "write the files"},
					&cli.BoolFlag{Name: "widen", Usage: "write rules that permit one action as the whole tool, which permits its other actions too"}),
				Action: rewriteFilesAction,
			},
		},
		HideHelpCommand: true,
		Action:          env.UnknownCommand,
	}
}

// migrateReads describes the files that are searched.
const migrateReads = "It reads JSON with and without comments, JSON5, YAML, TOML, Markdown and MDX, logs in lines,\n" +
	"Go, TypeScript, JavaScript, Python, notebooks, shell scripts, Dockerfiles, .env and text."

func migrateFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{
			Name: "server", Usage: "`NAME` that hosts have for this server, a pattern; may be repeated. toolfold* always counts, and so do " +
				"the names in the settings that are found",
		},
		&cli.StringFlag{
			Name: "fold", Value: "family",
			Usage: "list of the server: family, or none, which keeps rules of one action under its name",
		},
	}
}

func rewriteAction(c *cli.Context) error {
	rewriter := migration.NewRewriter(app.Families())
	reader := bufio.NewReader(os.Stdin)
	failed := 0
	for n := 1; ; n++ {
		line, ended := reader.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			now, dropped, err := rewriter.RewriteLine(line)
			if len(dropped) > 0 {
				fmt.Fprintf(c.App.ErrWriter, "line %d: left out %s: the legacy name ignored it\n", n, strings.Join(dropped, ", "))
			}
			if err != nil {
				failed++
				fmt.Fprintf(c.App.ErrWriter, "line %d: %v\n", n, err)
			} else if _, err := fmt.Fprintf(c.App.Writer, "%s\n", now); err != nil {
				return err
			}
		}
		if errors.Is(ended, io.EOF) {
			break
		}
		if ended != nil {
			return fmt.Errorf("reading calls: %w", ended)
		}
	}
	if failed > 0 {
		return errors.New(english.Count(failed, "call", "calls") + " could not be rewritten")
	}
	return nil
}
