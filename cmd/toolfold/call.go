package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/cmd/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/carried"
	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/internal/regex"
	"github.com/toolfold/toolfold/internal/shorten"
	"github.com/toolfold/toolfold/tools/config"
)

func callCommand() *cli.Command {
	return &cli.Command{
		Name:      "call",
		Usage:     "run one action and print its result",
		ArgsUsage: "NAME [JSON | - | @FILE | KEY=TEXT KEY:=JSON …]",
		Description: "NAME is family.action, a consolidated tool or a legacy name. The arguments are a JSON\n" +
			"object, read from standard input for - and from a file for @FILE, or are given one by one:\n" +
			"KEY=TEXT, which may be a number or true where the action wants that, or KEY:=JSON. The\n" +
			"result is printed on standard output, an error too, and what is wrong in one sentence on\n" +
			"standard error. A run that failed, and a guard.check with status FAIL, exit with 1.\n\n" +
			"toolfold call memory.store key=team/rules value:='{\"freeze\": \"Friday\"}'\n" +
			"toolfold call memory.search '{\"query\": \"freeze\"}'",
		BashComplete: completeActions,
		Flags: append(settingFlags(append(runSettings, "store", "workspaceName")...), trustFlag,
			&cli.StringFlag{Name: "format", Value: "json", Usage: "json or sarif, which bugfix.scan, refactor.scan and guard.check have for CI"},
			&cli.StringFlag{Name: "fail-on", Value: "fail", Usage: "fail or warn: the status with which guard.check exits with 1"}),
		Action: callAction,
	}
}

func callAction(c *cli.Context) error {
	if c.NArg() < 1 {
		return usageError("call takes NAME and its arguments: toolfold call memory.get key=team/rules")
	}
	for _, arg := range c.Args().Slice() {
		if !utf8.ValidString(arg) {
			return usageError("%q is not UTF-8", shorten.Quoted(arg))
		}
	}
	format, failOn := c.String("format"), c.String("fail-on")
	if format != "json" && format != "sarif" {
		return usageError("--format must be json or sarif, got %q", format)
	}
	if failOn != "fail" && failOn != "warn" {
		return usageError("--fail-on must be fail or warn, got %q", failOn)
	}
	args, err := readArguments(c.Args().Tail())
	if err != nil {
		return err
	}
	o, err := loadOptions(c)
	if err != nil {
		return err
	}
	name := c.Args().First()
	ofSettings := slices.ContainsFunc(config.Family.Declared().Actions, func(a *toolfold.Action) bool { return a.Matches(name) })
	if ofSettings { // the user's own settings stay theirs, whatever they permit others
		o.ReadOnly, o.Allow, o.Deny = false, nil, nil
	}
	if o.upstreams, err = upstreams(c, o); err != nil {
		return err
	}
	b, err := newWorkbench(o)
	if err != nil {
		return err
	}
	defer b.close()
	ctx, done := untilSignal(c.Context)
	defer done()
	if ofSettings {
		// The mark covers this call only: agents and workflows that are started
		// from the shell do not act for the user.
		ctx = config.ByUser(ctx)
	} else if err := storage.CheckURL(o.Store); err != nil {
		return usageError("store: %v", err)
	}
	whole := b.Runner.Bounded(call.Bound{Bytes: maxArguments * 3 / 4}) // import takes all that export prints
	answer := whole.Call(carried.With(ctx, toolfold.Origin{Client: "the shell"}), name, args)
	var shown any = answer.Content
	if format == "sarif" && !answer.IsError() {
		if shown, err = reportOf(name, args, answer.Content, func(action string, args, into any) error {
			return json.Unmarshal(whole.Call(ctx, action, ordered.MustJSON(args)).Content, into)
		}); err != nil {
			return err
		}
	}
	if err := printJSON(c, shown); err != nil {
		return err
	}
	if answer.Deprecated != nil {
		now := strings.TrimSuffix(answer.Deprecated.Tool+"."+answer.Deprecated.Action, ".")
		fmt.Fprintf(stderr, "toolfold: called by a legacy name, now %s\n", now)
	}
	var run struct{ Error struct{ Message string } }
	switch {
	case answer.Err != nil && answer.Err.Code == toolfold.UnknownTool:
		return fmt.Errorf("%s; toolfold tools lists them", answer.Err.Message)
	case answer.Err != nil:
		return errors.New(answer.Err.Message)
	case answer.Failed:
		_ = json.Unmarshal(answer.Content, &run) // task.wait has a text
		return fmt.Errorf("%s failed: %s", name, cmp.Or(run.Error.Message, "its result says why"))
	}
	return verdict(failOn, name, args, answer.Content)
}

// maxArguments bounds what is read from standard input or a file, in bytes.
const maxArguments = 16 << 20

// readArguments returns the arguments that a call was given: one object, or
// members one by one.
func readArguments(values []string) (json.RawMessage, error) {
	if len(values) == 0 {
		return nil, nil
	}
	if assignment().MatchString(values[0]) {
		return readAssignments(values)
	}
	if len(values) > 1 {
		return nil, usageError("call takes one argument object, or arguments such as key=team/rules; %q is too much", values[1])
	}
	in, arg := os.Stdin, values[0]
	switch {
	case strings.HasPrefix(arg, "@"):
		file, err := os.Open(arg[1:])
		if err != nil {
			return nil, fmt.Errorf("reading arguments: %w", err)
		}
		defer file.Close()
		in = file
	case arg != "-" && !strings.HasPrefix(arg, "{"):
		return nil, usageError("%q is no JSON object, and no argument such as key=team/rules", shorten.Quoted(arg))
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

// assignment matches KEY=TEXT and KEY:=JSON.
var assignment = regex.Lazy(`^([A-Za-z_][\w-]*)(:?=)((?s:.*))$`)

// readAssignments puts arguments together that are given one by one.
func readAssignments(values []string) (json.RawMessage, error) {
	args := ordered.Map{}
	for _, arg := range values {
		parts := assignment().FindStringSubmatch(arg)
		if parts == nil {
			return nil, usageError("%q is not like KEY=TEXT or KEY:=JSON", shorten.Quoted(arg))
		}
		key, isJSON, text := parts[1], parts[2] == ":=", parts[3]
		if _, twice := args.Get(key); twice {
			return nil, usageError("%s is given twice", key)
		}
		var value any = text
		if isJSON {
			if !json.Valid([]byte(text)) {
				return nil, usageError("%s:=%s is not JSON; for text: %s=%s", key, shorten.Quoted(text), key, shorten.Quoted(text))
			}
			value = json.RawMessage(text)
		}
		args.Set(key, value)
	}
	return ordered.MustJSON(args), nil
}
