//go:build unix

// Package keeper implements the process between this program and one that package child runs. It is
// the same executable, which becomes a keeper when this package is initialised. The package imports
// little, so that this happens before most other packages are: a keeper then starts faster and
// needs less memory.
package keeper

import (
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/toolfold/toolfold/internal/system/resident"
)

// Name is the prefix of argument zero that makes this executable a keeper. The program's path and
// its arguments follow.
const Name = "toolfold: keeper"

// The keeper's own file descriptors.
const (
	lifeline = 3 // a pipe without writes; it closes when the run ends
	report   = 4 // a pipe for lines of the kinds below
)

// Prefixes of the lines of the report. The line Started comes first, and only it ends with a line end.
const (
	Started    = "started: " // the process id of the program
	NotStarted = "not started: "
	Ended      = "ended: " // empty rest: success
)

// Grace bounds the time between cancelling a run and its end.
const Grace = 10 * time.Second

// most is the memory in bytes below which a keeper does not collect garbage.
const most = 16 << 20

// The process becomes a keeper before the rest of the program starts. This works in every program
// that links this package, including its tests.
func init() {
	if len(os.Args) > 2 && strings.HasPrefix(os.Args[0], Name) {
		limit(strings.TrimPrefix(os.Args[0], Name))
		keep(os.Args[1], os.Args[2:])
	}
}

// keep is the main function of a keeper.
func keep(path string, argv []string) {
	syscall.CloseOnExec(lifeline)
	syscall.CloseOnExec(report)
	debug.SetGCPercent(-1) // also avoids the periodic collection: a waiting keeper does nothing
	debug.SetMemoryLimit(most)
	// Signals to this process are meant for its parent, which ends the run by the lifeline. They
	// are caught instead of ignored, because the program would inherit ignored signals.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	adoptOrphans()

	attr := &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Setpgid: true}}
	dieWithKeeper(attr.Sys)
	program, err := os.StartProcess(path, argv, attr)
	if err != nil {
		tell(NotStarted + Reason(err).Error())
		os.Exit(1)
	}
	tell(Started + strconv.Itoa(program.Pid) + "\n")
	go func() {
		var none [1]byte
		for {
			if _, err := syscall.Read(lifeline, none[:]); err != syscall.EINTR {
				break
			}
		}
		killAll(program.Pid)
		os.Exit(1)
	}()
	resident.DropFile()
	state, err := program.Wait()
	killAll(program.Pid)
	switch {
	case err != nil:
		tell(Ended + err.Error())
	case state.Success():
		tell(Ended)
	default:
		tell(Ended + state.String())
	}
	os.Exit(0)
}

func tell(line string) { _, _ = syscall.Write(report, []byte(line)) }

// Reason returns the cause of an error without paths of this machine.
func Reason(err error) error {
	var path *fs.PathError
	var call *os.SyscallError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &call):
		return call.Err
	}
	return err
}

// Title returns the argument zero of a keeper that limits the processor time of each process, in
// whole seconds; 0 means no limit.
func Title(cpu time.Duration) string {
	if cpu <= 0 {
		return Name
	}
	return Name + " " + strconv.FormatInt(int64(max(cpu/time.Second, 1)), 10)
}

// limit limits the processor time of this process and of the processes that it starts. seconds is
// the end of a title.
func limit(seconds string) {
	if n, err := strconv.ParseUint(strings.TrimSpace(seconds), 10, 32); err == nil {
		_ = syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: n, Max: n + 1})
	}
}
