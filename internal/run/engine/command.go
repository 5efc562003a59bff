package engine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/provider"
	"github.com/toolfold/toolfold/internal/system/child"
)

// Limits of a command's outputs, in bytes.
const (
	defaultOutput = 1 << 20
	tailOfErrors  = 500
)

// command asks a program, such as a coding assistant's command line: the
// prompt is on its standard input, the answer on its standard output. The
// system prompt stands before the prompt, unless an argument takes it. No
// shell is involved.
type command struct {
	config provider.Config
	name   string
	dir    string
}

// Complete implements [Provider].
func (c command) Complete(ctx context.Context, p callctx.Prompt) (callctx.Completion, error) {
	p = inWords(p)
	p.Text = promptText(p)
	argv, input, err := c.arguments(p)
	if err != nil {
		return callctx.Completion{}, err
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out := &limitedBuffer{left: c.config.MaxOutputBytes, full: func() { stop(errTooLong) }}
	if out.left == 0 {
		out.left = defaultOutput
	}
	secrets := environmentSecrets(os.Environ())
	errs := &child.Tail{Keep: 16 << 10}
	run := child.Command{Argv: argv, Dir: c.dir, Stdin: strings.NewReader(input), Stdout: out, Stderr: errs}
	if report := callctx.Of[lineReport](ctx); report != nil {
		run.Stdout = io.MultiWriter(out, &lines{to: report, secrets: secrets})
		run.Stderr = io.MultiWriter(errs, &lines{to: report, secrets: secrets})
	}
	err = child.Run(running, run)
	if err != nil {
		complaint := errs.Quote(tailOfErrors, func(s string) string { return scrub(s, secrets) })
		return callctx.Completion{}, c.failure(context.Cause(running), err, complaint)
	}
	return callctx.Completion{Text: strings.TrimRight(out.buffer.String(), "\r\n"), Model: p.Model}, nil
}

var errTooLong = errors.New("the answer is too long")

// failure returns the failure of a run of the command. Cause is the cause of
// its cancelled context, or nil. Complaint is the end of its standard error; it
// may be empty.
func (c command) failure(cause, err error, complaint string) error {
	program := filepath.Base(c.config.Command[0])
	if complaint != "" {
		complaint = "; it printed: " + complaint
	}
	var exit *child.ExitError
	var start *child.StartError
	switch {
	case errors.Is(cause, errTooLong):
		return fatal(StepFailed, "provider %q: the answer is too long", c.name).hint("raise providers.%s.maxOutputBytes", c.name)
	case errors.Is(cause, errTimeout):
		return failf(TimedOut, "provider %q took longer than it may", c.name).hint("raise timeoutMs of the provider or the step")
	case cause != nil:
		return cause
	case errors.As(err, &exit):
		return failf(StepFailed, "provider %q: %s ended with %s%s", c.name, program, exit.State, complaint)
	case errors.Is(err, child.ErrNUL):
		return fatal(StepFailed, "provider %q: the system prompt has a NUL character, which no argument of a command can hold", c.name).
			hint("take it out of the system prompt or of the abilities in it, or leave {system} out of providers.%s.command", c.name)
	case errors.As(err, &start):
		return fatal(ProviderUnavailable, "provider %q: %s cannot be started: %s", c.name, program, start.Reason).
			hint("is it installed, and providers.%s.command right?", c.name)
	}
	return failf(StepFailed, "provider %q: %s broke off%s", c.name, program, complaint)
}

// arguments fills in the argument vector and returns the text for standard
// input. It fails if the prompt sets a value without a placeholder in the command.
func (c command) arguments(p callctx.Prompt) (argv []string, input string, err error) {
	input = p.Text
	placeholders := []struct{ name, value string }{{"{system}", p.System}, {"{model}", p.Model}, {"{maxTokens}", ""}}
	if p.MaxTokens > 0 {
		placeholders[2].value = strconv.Itoa(p.MaxTokens)
	}
	argv = append(argv, c.config.Command...)
	for _, g := range placeholders {
		placed := false
		for i, argument := range c.config.Command {
			if i == 0 || !strings.Contains(argument, g.name) {
				continue
			}
			if argument == g.name && strings.HasPrefix(g.value, "-") {
				return nil, "", fatal(StepFailed, "provider %q: the value for %s begins with a dash, which the command could take for an option",
					c.name, g.name)
			}
			placed = true
			argv[i] = strings.ReplaceAll(argv[i], g.name, g.value)
		}
		switch {
		case placed && g.value == "" && g.name != "{system}":
			return nil, "", fatal(ProviderUnavailable, "provider %q: %s has no value", c.name, g.name).
				hint("set %s in the step, or in providers.%s", strings.Trim(g.name, "{}"), c.name)
		case placed || g.value == "":
		case g.name == "{system}":
			input = g.value + "\n\n" + p.Text
		default:
			return nil, "", fatal(StepFailed, "provider %q: its command takes no %s", c.name, strings.Trim(g.name, "{}")).
				hint("put %s into providers.%s.command, or leave it out of the step", g.name, c.name)
		}
	}
	return argv, input, nil
}

// limitedBuffer stores up to left bytes, and calls full at the first write beyond. Only one goroutine
// writes to it. The buffer is not embedded: its ReadFrom would read past the limit.
type limitedBuffer struct {
	buffer bytes.Buffer
	left   int
	full   func()
}

// Write implements [io.Writer].
func (l *limitedBuffer) Write(p []byte) (int, error) {
	if len(p) > l.left {
		l.full()
		return 0, errTooLong
	}
	l.left -= len(p)
	return l.buffer.Write(p)
}
