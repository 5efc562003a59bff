package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Limits of a command's outputs, in bytes.
const (
	defaultOutput = 1 << 20
	tailOfErrors  = 500
)

// pipeDelay is how long a command's pipes may stay open after it ended: what
// it started may hold them.
const pipeDelay = 2 * time.Second

// command asks a program, such as a coding assistant's command line: the
// prompt is on its standard input, the answer on its standard output. The
// system prompt stands before the prompt, unless an argument takes it. No
// shell is involved.
type command struct {
	config providerConfig
	name   string
	dir    string
}

// Complete implements [Provider].
func (c command) Complete(ctx context.Context, p Prompt) (Completion, error) {
	p = c.config.fill(p)
	argv, input, err := c.arguments(p)
	if err != nil {
		return Completion{}, err
	}
	ctx, cancel := c.config.limit(ctx)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out := &limited{left: c.config.MaxOutputBytes, full: func() { stop(errTooLong) }}
	if out.left == 0 {
		out.left = defaultOutput
	}
	errs := &tail{}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.dir, strings.NewReader(input), out, errs
	cmd.WaitDelay = pipeDelay
	err = runGroup(cmd)
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it succeeded, and left something that holds its output open
	}
	if err != nil || context.Cause(ctx) != nil {
		return Completion{}, c.failure(ctx, err, errs)
	}
	return Completion{Text: strings.TrimRight(out.kept.String(), "\r\n"), Model: p.Model}, nil
}

// program is the command's name, without the folder it is in.
func (c command) program() string { return filepath.Base(c.config.Command[0]) }

var errTooLong = errors.New("the answer is too long")

func (c command) failure(ctx context.Context, err error, errs *tail) error {
	var exit *exec.ExitError
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTooLong):
		return fatal(StepFailed, "provider %q: the answer is too long", c.name).hint("raise providers.%s.maxOutputBytes", c.name)
	case errors.Is(cause, errTimeout):
		return failf(TimedOut, "provider %q took longer than it may", c.name).hint("raise timeoutMs of the provider or the step")
	case cause != nil:
		return cause
	case errors.As(err, &exit):
		return failf(StepFailed, "provider %q: %s ended with %s%s", c.name, c.program(), exit.ProcessState, errs.told())
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission):
		return fatal(ProviderUnavailable, "provider %q: %s cannot be started: is it installed?", c.name, c.program())
	}
	return failf(StepFailed, "provider %q: %s: %v%s", c.name, c.program(), err, errs.told())
}

// arguments fills in the argument vector and says what goes to standard
// input. A prompt that asks for what the command has no place for is refused.
func (c command) arguments(p Prompt) (argv []string, input string, err error) {
	input = p.Text
	given := []struct{ name, value string }{{"{system}", p.System}, {"{model}", p.Model}, {"{maxTokens}", ""}}
	if p.MaxTokens > 0 {
		given[2].value = strconv.Itoa(p.MaxTokens)
	}
	argv = append(argv, c.config.Command...)
	for _, g := range given {
		placed := false
		for i, argument := range c.config.Command {
			if i == 0 || !strings.Contains(argument, g.name) {
				continue
			}
			if argument == g.name && strings.HasPrefix(g.value, "-") {
				return nil, "", fatal(StepFailed, "provider %q: the value for %s begins with a dash, which the command could take for an option", c.name, g.name)
			}
			placed = true
			argv[i] = strings.ReplaceAll(argv[i], g.name, g.value)
		}
		switch {
		case placed && g.value == "" && g.name != "{system}":
			return nil, "", fatal(ProviderUnavailable, "provider %q: nothing says what %s is", c.name, g.name).
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

// limited keeps what is written up to a number of bytes, and tells when more
// comes. Only one goroutine writes to it. The buffer is not embedded: its
// ReadFrom would read past the limit.
type limited struct {
	kept bytes.Buffer
	left int
	full func()
}

// Write implements [io.Writer].
func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		l.full()
		return 0, errTooLong
	}
	l.left -= len(p)
	return l.kept.Write(p)
}

// tail keeps the end of what is written.
type tail struct {
	end []byte
}

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.end = append(t.end, p...)
	if more := len(t.end) - tailOfErrors; more > 0 {
		t.end = append(t.end[:0], t.end[more:]...)
	}
	return len(p), nil
}

// told quotes the end of what a command wrote to standard error.
func (t *tail) told() string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.end), ""))
	if text == "" {
		return ""
	}
	return fmt.Sprintf("; it said: %s", text)
}
