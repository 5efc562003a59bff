// Package child runs programs that end with the call that runs them, and with this process, however
// it ends.
//
// On Unix a second process of this program's executable, the keeper, is in between (package
// keeper). It starts the program in its own process group, and waits for the end of the program or
// of this process, which it notices by a pipe that the system closes. Then it kills the rest of the
// group. On Linux it also adopts orphans, so that it finds processes that left the group, and the
// program is killed if the keeper is. On other systems only the program is killed, and only while
// this process runs.
package child

import (
	"context"
	"errors"
	"io"
	"time"
)

// Command is a program to run, without a shell.
type Command struct {
	Argv   []string // the program, as a path or a name in $PATH, and its arguments
	Dir    string   // empty = the working directory of this process
	Env    []string // NAME=value, the last of a name wins; nil = the environment of this process
	Stdin  io.Reader
	Stdout io.Writer // an error of either writer ends the program
	Stderr io.Writer

	// CPU limits the processor time of each process of the program, in whole seconds, on Unix; 0 =
	// no limit.
	CPU time.Duration

	// Started, if not nil, is called with the process id of the program.
	Started func(pid int)
}

// ExitError is the error of a program that failed.
type ExitError struct {
	State string // "exit status 3", "signal: killed"
}

// Error implements error.
func (e *ExitError) Error() string { return e.State }

// StartError is the error of a program that could not be started.
type StartError struct {
	Reason string // without paths of this machine
	Err    error  // nil if only the reason is known
}

// Error implements error.
func (e *StartError) Error() string { return e.Reason }

// Unwrap returns the system's error.
func (e *StartError) Unwrap() error { return e.Err }

// ErrNUL is the error for an argument with a NUL character, which no argument can contain.
var ErrNUL = errors.New("an argument has a NUL character")

// Run runs a program to its end. If the context ends, it kills the program and everything that it
// started; see the package for the limits on each system. The error is an [ExitError], a
// [StartError], [ErrNUL], or the context's.
func Run(ctx context.Context, c Command) error {
	for _, argument := range c.Argv {
		for i := range len(argument) {
			if argument[i] == 0 {
				return ErrNUL
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := run(ctx, c)
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	return err
}
