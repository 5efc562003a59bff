package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/config"
)

func callCommand() *cli.Command {
	return &cli.Command{
		Name:      "call",
		Usage:     "run one action and print its result",
		ArgsUsage: "NAME [JSON | - | @FILE]",
		Description: "NAME is family.action, a consolidated tool or a legacy name. The arguments are a JSON\n" +
			"object, read from standard input for - and from a file for @FILE. The result is printed on\n" +
			"standard output, an error too, and what is wrong in one sentence on standard error.",
		Flags:        append(settingFlags("store", "traceArguments", "traceDays", "traceMegabytes", "metricDays", "metricPoints", "workspaceName"), trustFlag),
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
	o, err := loadOptions(c)
	if err != nil {
		return err
	}
	b, err := newWorkbench(o)
	if err != nil {
		return err
	}
	defer b.close()
	ctx, done := untilSignal(c.Context)
	defer done()
	name := c.Args().First()
	if entries := b.Runner.Lookup(name); len(entries) > 0 && entries[0].Action.Family.Name == config.Family.Name {
		// The mark covers this call only: agents and workflows that are started
		// from the shell do not act for the user.
		ctx = config.ByUser(ctx)
	} else if err := storage.CheckURL(o.Store); err != nil {
		return usageError("store: %v", err)
	}
	answer := b.Runner.Call(ctx, name, args)
	if err := printJSON(c, answer.Content); err != nil {
		return err
	}
	if answer.Deprecated != nil {
		now := strings.TrimSuffix(answer.Deprecated.Tool+"."+answer.Deprecated.Action, ".")
		fmt.Fprintf(os.Stderr, "toolfold: called by a legacy name, now %s\n", now)
	}
	if answer.Err != nil {
		return errors.New(answer.Err.Message)
	}
	return nil
}

// maxArguments bounds what is read from standard input or a file, in bytes.
const maxArguments = 16 << 20

// readArguments returns the arguments that a call was given.
func readArguments(arg string) (json.RawMessage, error) {
	in := os.Stdin
	switch {
	case strings.HasPrefix(arg, "@"):
		file, err := os.Open(arg[1:])
		if err != nil {
			return nil, fmt.Errorf("reading arguments: %w", err)
		}
		defer file.Close()
		in = file
	case arg != "-":
		return json.RawMessage(arg), nil
	}
	text, err := io.ReadAll(io.LimitReader(in, maxArguments+1))
	if err == nil && len(text) > maxArguments {
		err = fmt.Errorf("they have more than %d bytes", maxArguments)
	}
	if err != nil {
		return nil, fmt.Errorf("reading arguments: %w", err)
	}
	return text, nil
}
