// Package child runs programs that end with the call that runs them and with
// this process, however it ends.
//
// On Unix a second process of this program's own executable, the keeper,
// stands between (package keeper): it starts the program as a process group of its own and
// waits for either of two things, the program's end or that of this process,
// which it knows by a pipe that the system closes. Then it kills what is left
// of the group. On Linux it is also the reaper of orphans, so that what left
// the group is found too, and the program is killed where the keeper itself
// is. Elsewhere only the program is killed, and only while this process runs.
package child

import (
	"context"
	"errors"
	"io"
	"time"
)

// Command is a program to run. No shell is involved.
type Command struct {
	Argv   []string // the program, by path or as found in $PATH, and its arguments
	Dir    string   // empty = that of this process
	Env    []string // NAME=value, the last of a name counts; nil = that of this process
	Stdin  io.Reader
	Stdout io.Writer // Run gives up on the program at an error of either writer
	Stderr io.Writer

	// CPU bounds the processor time of each process of the program, in whole seconds, on Unix; 0 = there is no limit.
	CPU time.Duration
}

// ExitError is the error of a program that did not succeed.
type ExitError struct {
	State string // "exit status 3", "signal: killed"
}

// Error implements error.
func (e *ExitError) Error() string { return e.State }

// StartError is the error of a program that could not be started.
type StartError struct {
	Reason string // without paths of this machine
	Err    error  // nil where the reason is all that is known
}

// Error implements error.
func (e *StartError) Error() string { return e.Reason }

// Unwrap returns the reason as an error of the system.
func (e *StartError) Unwrap() error { return e.Err }

// ErrNUL is the error of an argument with a NUL character, which none can
// hold.
var ErrNUL = errors.New("an argument has a NUL character")

// Run runs a program to its end, or kills it and all that it started when the
// context ends; see the package for what that means on each system. The error
// is an [ExitError], a [StartError], [ErrNUL], or that of the context.
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
