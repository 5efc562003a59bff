package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/cmd/toolfold/internal/app"
	"github.com/toolfold/toolfold/cmd/toolfold/internal/docs"
	"github.com/toolfold/toolfold/migration"
)

func migrateCommand() *cli.Command {
	return &cli.Command{
		Name:  "migrate",
		Usage: "bring callers of the legacy tools over",
		Subcommands: []*cli.Command{
			{
				Name: "guide", Usage: "print the migration guide",
				Action: func(c *cli.Context) error {
					guide, err := docs.Guide(app.Families())
					if err != nil {
						return err
					}
					_, err = io.WriteString(c.App.Writer, guide)
					return err
				},
			},
			{
				Name: "call", Usage: "turn legacy calls into consolidated ones, JSON lines in and out",
				Description: "A line is {\"name\":…,\"arguments\":{…}} or a whole tools/call request. Lines that cannot\n" +
					"be rewritten are reported on standard error, the others are kept, and the exit code is 1.",
				Action: rewriteAction,
			},
			{
				Name: "check", Usage: "find where files name legacy tools", ArgsUsage: "PATH…",
				Description: "It reads prompts and skills in Markdown, settings and logs in JSON, agents and workflows\n" +
					"in YAML, and strings in Go, TypeScript, JavaScript and Python. The exit code is 1 when\n" +
					"something needs change.",
				Action: checkAction,
			},
			{
				Name: "rewrite", Usage: "change files that name legacy tools; shows the difference unless --write", ArgsUsage: "PATH…",
				Description: "What cannot be changed alone, such as a rule that forbids a tool, is named and left; the\n" +
					"exit code is 1 then. All else in a file stays as it is.",
				Flags:  []cli.Flag{&cli.BoolFlag{Name: "write", Usage: "write the files"}},
				Action: rewriteFilesAction,
			},
		},
		HideHelpCommand: true,
		Action:          unknownCommand,
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
				fmt.Fprintf(stderr, "line %d: left out %s: the legacy name ignored it\n", n, strings.Join(dropped, ", "))
			}
			if err != nil {
				failed++
				fmt.Fprintf(stderr, "line %d: %v\n", n, err)
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
		return fmt.Errorf("%d calls could not be rewritten", failed)
	}
	return nil
}
