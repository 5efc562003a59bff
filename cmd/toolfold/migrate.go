package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/migration"
	"github.com/toolfold/toolfold/tools/all"
)

func migrateCommand() *cli.Command {
	return &cli.Command{
		Name:  "migrate",
		Usage: "bring callers of the legacy tools over",
		Subcommands: []*cli.Command{
			{Name: "guide", Usage: "print the migration guide", Action: guideAction, OnUsageError: onUsageError},
			{
				Name: "call", Usage: "turn legacy calls into consolidated ones, JSON lines in and out",
				Description: "A line is {\"name\":…,\"arguments\":{…}} or a whole tools/call request. Lines that cannot\n" +
					"be rewritten are reported on standard error, the others are kept, and the exit code is 1.",
				Action: rewriteAction, OnUsageError: onUsageError,
			},
		},
		HideHelpCommand: true,
		OnUsageError:    onUsageError,
	}
}

func guideAction(c *cli.Context) error {
	guide, err := migration.Guide(all.Specs())
	if err != nil {
		return err
	}
	_, err = io.WriteString(c.App.Writer, guide)
	return err
}

func rewriteAction(c *cli.Context) error {
	failed := 0
	rewriter := migration.NewRewriter(all.Specs())
	err := eachLine(os.Stdin, func(n int, line []byte) error {
		now, err := rewriter.RewriteLine(line)
		if err != nil {
			failed++
			fmt.Fprintf(os.Stderr, "line %d: %v\n", n, err)
			return nil
		}
		_, err = fmt.Fprintf(c.App.Writer, "%s\n", now)
		return err
	})
	if err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d calls could not be rewritten", failed)
	}
	return nil
}

// eachLine calls f with every line that is not blank, counted from 1.
func eachLine(in io.Reader, f func(n int, line []byte) error) error {
	reader := bufio.NewReader(in)
	for n := 1; ; n++ {
		line, err := reader.ReadBytes('\n')
		if text := bytes.TrimSpace(line); len(text) > 0 {
			if err := f(n, text); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading calls: %w", err)
		}
	}
}
