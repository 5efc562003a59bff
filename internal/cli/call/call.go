// Package call has the commands that call and find actions: call, find, describe and tools.
package call

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/tools/session"
	"github.com/toolfold/toolfold/tools/trace"
)

// Command returns the command call.
func Command() *cli.Command {
	return &cli.Command{
		Name:      "call",
		Usage:     "run one action and print its result",
		ArgsUsage: "NAME [JSON | - | @FILE | KEY=TEXT KEY:=JSON …]",
		Description: "NAME is family.action, also as two words, a consolidated tool or a legacy name. The arguments\n" +
			"are a JSON object, read from standard input for - and from a file for @FILE, or are given one\n" +
			"by one: KEY=TEXT, which may be a number or true if the action wants that, or KEY:=JSON.\n" +
			"A missing required argument is read from a pipe: its text, or the whole object if there are\n" +
			"no arguments. The result or error is printed on standard output, and an error also in\n" +
			"one sentence on standard error. A run that failed, and a guard.check with status FAIL, exit\n" +
			"with 1.\n\n" +
			"toolfold call memory.store key=team/rules value:='{\"freeze\": \"Friday\"}'\n" +
			"git diff | toolfold call memory store key=draft/diff\n" +
			"toolfold call task.list --output table --watch",
		BashComplete: completeCall,
		Flags: append(settings.Flags(append(settings.RunSettings, "store", "workspaceName")...),
			settings.TrustFlag, env.LogLevelFlag, env.VerboseFlag,
			env.OutputFlag(env.AsJSON),
			&cli.BoolFlag{Name: "watch", Usage: "repeat a call that only reads, and print its result when it changes"},
			&cli.DurationFlag{Name: "every", Usage: "pause between calls of --watch", Value: 2 * time.Second},
			&cli.StringFlag{Name: "format", Value: "json", Usage: "json or sarif, which bugfix.scan, refactor.scan and guard.check have for CI"},
			&cli.StringFlag{Name: "fail-on", Value: "fail", Usage: "fail or warn: the status with which guard.check exits with 1"}),
		Action: callAction,
	}
}

func callAction(c *cli.Context) error {
	if c.NArg() < 1 {
		return env.UsageError("call takes NAME and its arguments: toolfold call memory.get key=team/rules")
	}
	for _, arg := range c.Args().Slice() {
		if !utf8.ValidString(arg) {
			return env.UsageError("%q is not UTF-8", shorten.Quoted(arg))
		}
	}
	format, failOn := c.String("format"), c.String("fail-on")
	if format != "json" && format != "sarif" {
		return env.UsageError("--format must be json or sarif, got %q", format)
	}
	if failOn != "fail" && failOn != "warn" {
		return env.UsageError("--fail-on must be fail or warn, got %q", failOn)
	}
	form, err := env.OutputOf(c)
	if err != nil {
		return err
	}
	if format == "sarif" && form != env.AsJSON {
		return env.UsageError("SARIF is JSON: leave --output %s out", form)
	}
	name, words := calledName(c.Args().Slice())
	args, err := readArguments(words)
	if err != nil {
		return err
	}
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	ofSettings := slices.ContainsFunc(config.Family.Declared().Actions, func(a *toolfold.Action) bool { return a.Matches(name) })
	if ofSettings { // users can change their own settings, whatever these permit to callers
		o.ReadOnly, o.Allow, o.Deny = false, nil, nil
	}
	if ofSettings || slices.ContainsFunc(trace.Family.Declared().Actions, func(a *toolfold.Action) bool { return a.Matches(name) }) {
		o.Tier = toolfold.Extended.String() // settings, and traces of other servers, are always available
	}
	o.Worker = false // this process ends with the call
	ctx, done := env.UntilSignal(c, env.StopGrace)
	defer done()
	runs := isCallOf(scriptRun, name, args)
	b, err := openFor(ctx, c, o, runs, args)
	if err != nil {
		return err
	}
	defer b.Close()
	entries := b.Runner.Lookup(name)
	if len(entries) == 1 {
		if args, err = readPiped(c, entries[0], args); err != nil {
			return err
		}
	}
	if ofSettings {
		// Only this call acts for the user: agents and workflows started from the shell do not.
		ctx = config.ByUser(ctx)
	} else if err := storage.CheckURL(o.Store); err != nil {
		return env.UsageError("store: %v", err)
	}
	if slices.ContainsFunc(session.Family.Declared().Actions, func(a *toolfold.Action) bool { return a.Matches(name) }) {
		ctx = session.ByUser(ctx)
	}
	whole := b.Runner.Bounded(call.Bound{Bytes: maxArguments * 3 / 4}) // import accepts everything that export prints
	ctx = callctx.With(ctx, toolfold.Origin{Client: "the shell"})
	if c.Bool("watch") {
		if len(entries) != 1 || entries[0].Action.Effect != toolfold.Reads {
			return env.UsageError("--watch repeats the call: name one action that only reads")
		}
		return watch(ctx, c, func() toolfold.Answer { return whole.Call(ctx, name, args) })
	}
	noticed := callctx.With(ctx, callctx.Notice(func(line string) { fmt.Fprintf(c.App.ErrWriter, "toolfold: %s\n", line) }))
	script, end := &shellRun{c: c}, func() {}
	if runs {
		noticed = callctx.With(noticed, app.Began(func(id string) { script.id = id }))
		end = b.WorkScript(ctx, o)
	}
	answer := whole.Call(env.ReportingProgress(noticed, c), name, args)
	end()
	var output any = answer.Content
	if format == "sarif" && !answer.IsError() {
		if output, err = reportOf(name, args, answer.Content, func(action string, args, into any) error {
			return json.Unmarshal(whole.Call(ctx, action, ordered.MustJSON(args)).Content, into)
		}); err != nil {
			return err
		}
	}
	if err := env.PrintAs(c, form, output, nil); err != nil {
		return err
	}
	if answer.Deprecated != nil {
		now := strings.TrimSuffix(answer.Deprecated.Tool+"."+answer.Deprecated.Action, ".")
		fmt.Fprintf(c.App.ErrWriter, "toolfold: called by a legacy name, now %s\n", now)
	}
	if err := failure(name, answer); err != nil {
		script.goOn(ctx, answer)
		return err
	}
	return verdict(failOn, name, args, answer.Content)
}

// openFor returns the workbench for a call. If the call runs a script, this process works it.
func openFor(ctx context.Context, c *cli.Context, o *settings.Options, runs bool, args json.RawMessage) (*workbench.Workbench, error) {
	if !runs {
		return workbench.Open(c, o)
	}
	var in struct {
		ID     string
		Params struct{ ID string }
	}
	_ = json.Unmarshal(args, &in) // the call refuses what is no object
	return workbench.OpenForScript(ctx, c, o, cmp.Or(in.ID, in.Params.ID))
}

// failure returns the failure in an answer in one sentence; nil for a success.
func failure(name string, answer toolfold.Answer) error {
	var run struct{ Error struct{ Message string } }
	switch {
	case answer.Err != nil && answer.Err.Code == toolfold.UnknownTool:
		return fmt.Errorf("%s; toolfold tools lists them", answer.Err.Message)
	case answer.Err != nil:
		return errors.New(answer.Err.Message)
	case answer.Failed:
		_ = json.Unmarshal(answer.Content, &run) // in task.wait it is a string
		return fmt.Errorf("%s failed: %s", name, cmp.Or(run.Error.Message, "its result has the reason"))
	}
	return nil
}

// watch prints the answer of a call whenever it changes, until ctx ends. On a terminal each answer
// replaces the previous one.
func watch(ctx context.Context, c *cli.Context, repeat func() toolfold.Answer) error {
	every := c.Duration("every")
	if every < 100*time.Millisecond {
		return env.UsageError("--every must be at least 100ms, got %v", every)
	}
	form, err := env.OutputOf(c)
	if err != nil {
		return err
	}
	if !c.IsSet("output") && env.Of(c).OnTerminal() {
		form = env.AsTable
	}
	var last json.RawMessage
	for {
		answer := repeat()
		if ctx.Err() != nil {
			return nil
		}
		if answer.IsError() {
			return errors.Join(env.PrintJSON(c, answer.Content), failure(c.Args().First(), answer))
		}
		if !bytes.Equal(last, answer.Content) {
			last = answer.Content
			if env.Of(c).OnTerminal() {
				fmt.Fprint(env.Of(c).Out.Writer, "\x1b[H\x1b[2J") // clears the screen
			}
			if err := env.PrintAs(c, form, answer.Content, nil); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}
