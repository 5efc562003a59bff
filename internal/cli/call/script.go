package call

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	runscript "github.com/toolfold/toolfold/internal/run/script"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/tools/script"
)

// ScriptCommand returns the command script.
func ScriptCommand() *cli.Command {
	return &cli.Command{
		Name:   "script",
		Usage:  "run a JavaScript program that calls tools",
		Action: env.UnknownCommand,
		Subcommands: []*cli.Command{{
			Name:      "run",
			Usage:     "run a script, or go on with a run, and print its result",
			ArgsUsage: "[FILE | -]",
			Description: "The script is read from FILE, or from standard input for -. Its result is printed on standard output\n" +
				"as JSON; its progress, its log and how to go on after an interruption on standard error. A run that\n" +
				"failed is printed whole, and exits with 1.\n\n" +
				"toolfold script run report.js --input '{\"team\": \"core\"}'\n" +
				"toolfold script run --id ID --outcome 17=done",
			Flags: append(settings.Flags(append(settings.RunSettings, "store", "workspaceName")...),
				settings.TrustFlag, env.LogLevelFlag, env.OutputFlag(env.AsJSON),
				&cli.StringFlag{Name: "input", Usage: "value of input in the script: JSON, or @FILE"},
				&cli.StringFlag{Name: "id", Usage: "go on with this run, in place of FILE"},
				&cli.StringSliceFlag{Name: "outcome", Usage: "CALL=OUTCOME of a call of --id: done, not done or {\"result\": …} " +
					"if it is unknown; yes, all or no if it waits for you"}),
			Action: scriptRunAction,
		}},
	}
}

// scriptArguments returns the arguments of script.run for a command line.
func scriptArguments(c *cli.Context) (in script.RunIn, err error) {
	in.ID = c.String("id")
	switch {
	case c.NArg() > 1:
		return in, env.UsageError("script run takes one FILE; %q is too much", c.Args().Get(1))
	case c.NArg() == 0 && in.ID == "":
		return in, env.UsageError("script run takes a FILE, - for standard input, or the --id of a run to go on with")
	case in.ID != "" && (c.NArg() > 0 || c.IsSet("input")):
		return in, env.UsageError("--id goes on with the script and the input of that run: leave FILE and --input out")
	case in.ID == "" && c.IsSet("outcome"):
		return in, env.UsageError("--outcome belongs to the --id of a run")
	}
	if c.NArg() > 0 {
		text, err := readSource(c.Args().First())
		if err != nil {
			return in, err
		}
		in.Code = string(text)
	}
	if value := c.String("input"); c.IsSet("input") {
		in.Input = json.RawMessage(value)
		if file, named := strings.CutPrefix(value, "@"); named {
			if in.Input, err = os.ReadFile(file); err != nil {
				return in, fmt.Errorf("reading input: %w", err)
			}
		}
		if !json.Valid(in.Input) {
			return in, env.UsageError("--input is not JSON; a text is in quotes: --input '\"text\"'")
		}
	}
	for _, text := range c.StringSlice("outcome") {
		number, outcome, ok := strings.Cut(text, "=")
		value := ordered.MustJSON(outcome)
		if strings.HasPrefix(outcome, "{") {
			value = json.RawMessage(outcome)
		}
		if !ok || !json.Valid(value) {
			return in, env.UsageError("--outcome is CALL=done, CALL='not done' or CALL='{\"result\": …}', got %q", shorten.Quoted(text))
		}
		if in.Outcome == nil {
			in.Outcome = map[string]json.RawMessage{}
		}
		in.Outcome[number] = value
	}
	return in, nil
}

// readSource reads a script from a file, or from standard input for -.
func readSource(file string) (text []byte, err error) {
	in := os.Stdin
	if file != "-" {
		if in, err = os.Open(file); err != nil {
			return nil, fmt.Errorf("reading script: %w", err)
		}
		defer in.Close()
	}
	text, err = io.ReadAll(io.LimitReader(in, runscript.MaxSource+1))
	if err != nil {
		return nil, fmt.Errorf("reading script: %w", err)
	}
	if len(text) > runscript.MaxSource {
		return nil, fmt.Errorf("%s has more than %d bytes, which is the limit of a script", file, runscript.MaxSource)
	}
	return text, nil
}

func scriptRunAction(c *cli.Context) error {
	form, err := env.OutputOf(c)
	if err != nil {
		return err
	}
	in, err := scriptArguments(c)
	if err != nil {
		return err
	}
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	if err := storage.CheckURL(o.Store); err != nil {
		return env.UsageError("store: %v", err)
	}
	ctx, done := env.UntilSignal(c, env.StopGrace)
	defer done()
	b, err := workbench.OpenForScript(ctx, c, o, in.ID)
	if err != nil {
		return err
	}
	defer b.Close()
	run := &shellRun{c: c, id: in.ID, next: time.Now().Add(time.Second)}
	end := b.WorkScript(ctx, o)
	whole := b.Runner.Bounded(call.Bound{Bytes: maxArguments * 3 / 4})
	answer := whole.Call(callctx.With(run.within(ctx), work.UserOutcome(in.ID)), work.Script, argumentsOf(in))
	end()
	var result runscript.Result
	_ = json.Unmarshal(answer.Content, &result) // an error has other members
	run.note("%s", strings.TrimSuffix(result.Logs, "\n"))
	if err := failure(work.Script, answer); err != nil {
		if printErr := env.PrintAs(c, form, answer.Content, nil); printErr != nil {
			return printErr
		}
		run.goOn(ctx, answer)
		return err
	}
	for _, f := range result.Unseen {
		run.note("line %d: nothing handled %s", f.Line, f.Message)
	}
	return env.PrintAs(c, form, result.Result, nil)
}

// argumentsOf returns the arguments of a call of script.run, without those that are not given.
func argumentsOf(in script.RunIn) json.RawMessage {
	args := ordered.Map{}
	if in.ID == "" {
		args.Set("code", in.Code)
	} else {
		args.Set("id", in.ID)
	}
	if in.Input != nil {
		args.Set("input", in.Input)
	}
	if in.Outcome != nil {
		args.Set("outcome", in.Outcome)
	}
	return ordered.MustJSON(args)
}

// shellRun prints on standard error what the user of a run has to know.
type shellRun struct {
	c    *cli.Context
	id   string    // empty until it is kept
	next time.Time // of the next line of progress
}

func (r *shellRun) note(format string, values ...any) {
	if text := fmt.Sprintf(format, values...); text != "" {
		fmt.Fprintf(r.c.App.ErrWriter, "toolfold: %s\n", strings.ReplaceAll(text, "\n", "\ntoolfold: "))
	}
}

// within returns the context of the call of script.run.
func (r *shellRun) within(ctx context.Context) context.Context {
	ctx = callctx.With(ctx, toolfold.Origin{Client: "the shell"})
	ctx = callctx.With(ctx, callctx.Notice(func(line string) { r.note("%s", line) }))
	ctx = callctx.With(ctx, app.Began(func(id string) {
		r.id = id
		r.note("after an interruption: toolfold script run --id %s", id)
	}))
	return callctx.With(ctx, func(p toolfold.Progress) {
		now := time.Now()
		if now.Before(r.next) || p.Message == "" {
			return
		}
		r.next = now.Add(time.Second)
		text := p.Message
		if _, calls, found := strings.Cut(text, "% done: "); found {
			text = calls
		}
		r.note("%s", text)
	})
}

// goOn prints how to go on with a run that stopped before its end.
func (r *shellRun) goOn(ctx context.Context, answer toolfold.Answer) {
	var result runscript.Result
	_ = json.Unmarshal(answer.Content, &result) // an error has other members
	if r.id == "" || !result.Stopped() && ctx.Err() == nil {
		return
	}
	outcomes := ""
	for _, u := range result.Unknown {
		switch {
		case u.Waits != "":
			outcomes += fmt.Sprintf(" --outcome %d=yes", u.Call)
			r.note("call %d waits for you: %s %s; answer yes, all for all calls of %s in this run, or no", u.Call, u.Action, u.Arguments, u.Action)
		case u.IsQuestion():
			outcomes += fmt.Sprintf(" --outcome %d=yes", u.Call)
			r.note("the script asks you at call %d: %s; answer yes or no", u.Call, u.Arguments)
		default:
			outcomes += fmt.Sprintf(" --outcome %d=done", u.Call)
		}
	}
	if strings.Contains(outcomes, "=done") {
		r.note("see whether the unknown calls were done; for those that were not: 'not done'")
	}
	r.note("to go on: toolfold script run --id %s%s", r.id, outcomes)
}
