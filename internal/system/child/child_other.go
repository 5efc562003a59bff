//go:build !unix

package child

import (
	"context"
	"errors"
	"os/exec"
	"time"
)

// grace bounds the time between the request to end a run and its end.
const grace = 10 * time.Second

// run runs a program. Only the program itself ends with the context: there
// are no process groups here.
func run(ctx context.Context, c Command) error {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr
	cmd.WaitDelay = grace
	err := cmd.Start()
	if err != nil {
		return &StartError{Reason: "it cannot be started", Err: err}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return &ExitError{State: exit.ProcessState.String()}
	case errors.Is(err, exec.ErrWaitDelay):
		return nil // it succeeded, and left something that holds its output open
	}
	return err
}
