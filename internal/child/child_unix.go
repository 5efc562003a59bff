//go:build unix

package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

// keeperName is the argument zero by which this executable knows that it was
// started as a keeper. After it come the program's path and its arguments.
const keeperName = "toolfold: keeper"

// The keeper's own files.
const (
	lifeline = 3 // a pipe without writes; it closes when the run ends
	report   = 4 // a pipe for one line, of the kinds below
)

// Kinds of report.
const (
	notStarted = "not started: "
	ended      = "ended: " // empty for success
)

// The process is a keeper before anything else of the program begins, in any program
// that has this package: a test of it or the command.
func init() {
	if len(os.Args) > 2 && os.Args[0] == keeperName {
		keep(os.Args[1], os.Args[2:])
	}
}

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

	keeper := exec.CommandContext(ctx, self)
	keeper.Args = append([]string{keeperName, program.Path}, c.Argv...)
	keeper.Dir, keeper.Env, keeper.Stdin, keeper.Stdout, keeper.Stderr = c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr
	keeper.ExtraFiles = []*os.File{lifelineR, reportW}
	keeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // signals of a terminal are not for it
	keeper.Cancel = func() error {                           // it goes on to clear up where it was stopped
		return errors.Join(lifelineW.Close(), keeper.Process.Signal(syscall.SIGCONT))
	}
	keeper.WaitDelay = grace
	if err := keeper.Start(); err != nil {
		return startError(err)
	}
	lifelineR.Close()
	reportW.Close()
	reported, _ := io.ReadAll(io.LimitReader(reportR, 1000))
	err = keeper.Wait()
	if reason, ok := strings.CutPrefix(string(reported), notStarted); ok {
		return &StartError{Reason: reason}
	}
	if state, ok := strings.CutPrefix(string(reported), ended); ok {
		if state == "" {
			return nil
		}
		return &ExitError{State: state}
	}
	return fmt.Errorf("the program was given up: %w", err)
}

// startError leaves out the paths of this machine.
func startError(err error) error {
	reason := err
	var path *fs.PathError
	var look *exec.Error
	var call *os.SyscallError
	switch {
	case errors.As(err, &path):
		reason = path.Err
	case errors.As(err, &look):
		reason = look.Err
	case errors.As(err, &call):
		reason = call.Err
	}
	return &StartError{Reason: reason.Error(), Err: err}
}

// keep is the whole life of a keeper.
func keep(path string, argv []string) {
	syscall.CloseOnExec(lifeline)
	syscall.CloseOnExec(report)
	reportFile := os.NewFile(report, "report")
	// Signals to this process are for the one that started it, which ends the
	// run by the lifeline. They are caught, not ignored: what is ignored stays
	// so in the program.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	adoptOrphans()

	program := &exec.Cmd{Path: path, Args: argv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithKeeper(program.SysProcAttr)
	if err := program.Start(); err != nil {
		fmt.Fprintf(reportFile, "%s%v", notStarted, startError(err))
		os.Exit(1)
	}
	group := program.Process.Pid
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(lifeline, "lifeline"))
		killAll(group)
		os.Exit(1)
	}()
	err := program.Wait()
	killAll(group)
	state := ""
	if err != nil {
		state = err.Error()
	}
	fmt.Fprint(reportFile, ended, state)
	os.Exit(0)
}
