//go:build unix

package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/toolfold/toolfold/internal/system/child/keeper"
)

// run runs a program under a keeper.
func run(ctx context.Context, c Command) error {
	program := exec.Command(c.Argv[0])
	if program.Err != nil {
		return startError(program.Err)
	}
	self, err := Executable()
	if err != nil {
		return startError(err)
	}
	lifelineR, lifelineW, err := os.Pipe()
	if err != nil {
		return startError(err)
	}
	defer lifelineR.Close()
	defer lifelineW.Close()
	reportR, reportW, err := os.Pipe()
	if err != nil {
		return startError(err)
	}
	defer reportR.Close()
	defer reportW.Close()

	process := exec.CommandContext(ctx, self)
	process.Args = append([]string{keeper.Title(c.CPU), program.Path}, c.Argv...)
	process.Dir, process.Env, process.Stdin, process.Stdout, process.Stderr = c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr
	process.ExtraFiles = []*os.File{lifelineR, reportW}
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that a terminal's signals do not reach it
	process.Cancel = func() error {                           // SIGCONT: a stopped keeper must clean up
		return errors.Join(lifelineW.Close(), process.Process.Signal(syscall.SIGCONT))
	}
	process.WaitDelay = keeper.Grace
	if err := process.Start(); err != nil {
		return startError(err)
	}
	lifelineR.Close()
	reportW.Close()
	report := bufio.NewReader(io.LimitReader(reportR, 1000))
	reported, _ := report.ReadString('\n')
	if id, ok := strings.CutPrefix(reported, keeper.Started); ok {
		if pid, err := strconv.Atoi(strings.TrimSuffix(id, "\n")); err == nil && c.Started != nil {
			c.Started(pid)
		}
		last, _ := io.ReadAll(report)
		reported = string(last)
	}
	err = process.Wait()
	if reason, ok := strings.CutPrefix(reported, keeper.NotStarted); ok {
		return &StartError{Reason: reason}
	}
	if state, ok := strings.CutPrefix(reported, keeper.Ended); ok {
		if state == "" {
			return nil
		}
		return &ExitError{State: state}
	}
	return fmt.Errorf("the program was given up: %w", err)
}

// startError returns a [StartError] without paths of this machine.
func startError(err error) error {
	reason := keeper.Reason(err)
	var look *exec.Error
	if errors.As(err, &look) {
		reason = keeper.Reason(look.Err)
	}
	return &StartError{Reason: reason.Error(), Err: err}
}
