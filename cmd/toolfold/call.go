package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/tools/config"
)

func callCommand() *cli.Command {
	return &cli.Command{
		Name:      "call",
		Usage:     "run one action and print its result",
		ArgsUsage: "NAME [JSON | - | @FILE]",
		Description: "NAME is family.action, a consolidated tool or a legacy name. The arguments are a JSON\n" +
			"object, read from standard input for - and from a file for @FILE.",
		Flags:        settingFlags("store"),
		OnUsageError: onUsageError,
		Action:       callAction,
	}
}

func callAction(c *cli.Context) error {
	if c.NArg() < 1 || c.NArg() > 2 {
		return usageError("call takes NAME and at most one argument object: toolfold call memory.store '{\"key\":…}'")
	}
	args, err := readArguments(c.Args().Get(1))
	if err != nil {
		return err
	}
	b, err := openWorkbench(c)
	if err != nil {
		return err
	}
	defer b.store.Close()
	answer := b.Caller.Call(config.ByUser(c.Context), c.Args().First(), args)
	if err := printJSON(c, answer.Content); err != nil {
		return err
	}
	if answer.Deprecated != nil {
		now := strings.TrimSuffix(answer.Deprecated.Tool+"."+answer.Deprecated.Action, ".")
		fmt.Fprintf(os.Stderr, "toolfold: called by a legacy name, now %s\n", now)
	}
	if answer.IsError() {
		return cli.Exit("", exitFailed)
	}
	return nil
}

func readArguments(arg string) (json.RawMessage, error) {
	switch {
	case arg == "-":
		raw, err := io.ReadAll(os.Stdin)
		if err != nil {
			return nil, fmt.Errorf("reading arguments: %w", err)
		}
		return raw, nil
	case strings.HasPrefix(arg, "@"):
		raw, err := os.ReadFile(arg[1:])
		if err != nil {
			return nil, fmt.Errorf("reading arguments: %w", err)
		}
		return raw, nil
	}
	return json.RawMessage(arg), nil
}
