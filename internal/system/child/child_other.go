//go:build !unix

package child

import (
	"context"
	"errors"
	"os/exec"
	"time"
)

// grace bounds the time between cancelling a run and its end.
const grace = 10 * time.Second

// run runs a program. If the context ends, it only kills the program itself: there are no process
// groups.
func run(ctx context.Context, c Command) error {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr
	cmd.WaitDelay = grace
	err := cmd.Start()
	if err != nil {
		return &StartError{Reason: "it cannot be started", Err: err}
	}
	if c.Started != nil {
		c.Started(cmd.Process.Pid)
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return &ExitError{State: exit.ProcessState.String()}
	case errors.Is(err, exec.ErrWaitDelay):
		return nil // it succeeded, but one of its children keeps the output open
	}
	return err
}
