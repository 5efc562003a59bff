//go:build unix

package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/test/testwait"
)

// TestMain is also the program that these tests run, and the process that is killed meanwhile.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "play" {
		os.Exit(play(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

func play(role string, args []string) int {
	switch role {
	case "sleep":
		time.Sleep(time.Hour)
	case "exit":
		fmt.Fprintln(os.Stderr, "bad luck")
		code, _ := strconv.Atoi(args[0])
		return code
	case "burn":
		for x := uint64(1); ; x *= 3 {
			_ = strconv.FormatUint(x, 10)
		}
	case "die":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "signals":
		// The keeper catches signals; the program gets them as usual.
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
		time.Sleep(time.Hour)
	case "family": // a child, and a grandchild that left the group and its parent
		return family(args[0], args[1] == "stay")
	case "used": // waits until its child has used that much processor time
		burning := exec.Command("sh", "-c", "while :; do :; done")
		if err := burning.Start(); err != nil {
			return 1
		}
		for before := Used(); Used()-before < time.Second; time.Sleep(20 * time.Millisecond) {
		}
		_ = burning.Process.Kill()
		_ = burning.Wait()
		if Used() < burning.ProcessState.UserTime() {
			return 1
		}
	case "daemon":
		cmd := exec.Command(os.Args[0], "play", "sleep")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return 1
		}
		fmt.Print(cmd.Process.Pid)
	case "server": // runs a family until it is killed
		if err := Run(context.Background(), Command{Argv: self("family", args[0], "stay")}); err != nil {
			return 1
		}
	}
	return 0
}

func family(file string, stay bool) int {
	near := exec.Command(os.Args[0], "play", "sleep")
	near.Stdout = os.Stdout // keeps the output open
	if err := near.Start(); err != nil {
		return 1
	}
	far, err := exec.Command(os.Args[0], "play", "daemon").Output()
	if err != nil {
		return 1
	}
	pids := fmt.Sprintf("%d %d %s", os.Getpid(), near.Process.Pid, far)
	if os.WriteFile(file+".new", []byte(pids), 0o600) != nil || os.Rename(file+".new", file) != nil {
		return 1
	}
	if stay {
		time.Sleep(time.Hour)
	}
	fmt.Println("done")
	return 0
}

func self(args ...string) []string { return append([]string{os.Args[0], "play"}, args...) }

// members waits for the processes of a family: the program, its child, and the one that left.
func members(t *testing.T, file string) (pids []int) {
	t.Helper()
	pids = testwait.Processes(t, file)
	if runtime.GOOS != "linux" {
		_ = syscall.Kill(pids[2], syscall.SIGKILL) // only Linux finds it
		pids = pids[:2]
	}
	return pids
}

func gone(t *testing.T, pids []int) {
	t.Helper()
	for i, pid := range pids {
		testwait.Until(t, fmt.Sprintf("process %d of the family has ended", i), func() bool { return !testwait.Alive(pid) })
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, test := range []struct {
		why  string
		argv []string
		out  string
		want error
	}{
		{"input and output", []string{"cat"}, "hello\x00", nil},
		{"its own folder", []string{"sh", "-c", "cat; pwd -P"}, "hello\x00" + real(t, dir) + "\n", nil},
		{"output after the input was left alone", []string{"echo", "a b"}, "a b\n", nil},
		{"exit", self("exit", "3"), "", &ExitError{State: "exit status 3"}},
		{"signal", self("die"), "", &ExitError{State: "signal: killed"}},
		{"signals are not ignored", self("signals"), "", &ExitError{State: "signal: interrupt"}},
		{"no such program", []string{"toolfold-no-such-program"}, "", &StartError{Reason: "executable file not found in $PATH"}},
		{"no such path", []string{"/nowhere/x"}, "", &StartError{Reason: "no such file or directory"}},
		{"not a program", []string{dir}, "", &StartError{Reason: "permission denied"}},
		{"NUL", []string{"echo", "a\x00b"}, "", ErrNUL},
	} {
		t.Run(test.why, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			err := Run(t.Context(), Command{Argv: test.argv, Dir: dir, Stdin: strings.NewReader("hello\x00"), Stdout: &out, Stderr: &errs})
			if fmt.Sprintf("%T %v", err, err) != fmt.Sprintf("%T %v", test.want, test.want) || out.String() != test.out {
				t.Errorf("%T %v, %q; want %v, %q; it said %q", err, err, out.String(), test.want, test.out, errs.String())
			}
			if test.why == "exit" && errs.String() != "bad luck\n" {
				t.Errorf("%q", errs.String())
			}
		})
	}
}

func real(t *testing.T, dir string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Cancelling a run ends the program and everything that it started, including processes that left
// its group.
func TestCancelledRunLeavesNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- Run(ctx, Command{Argv: self("family", file, "stay"), Stdout: &bytes.Buffer{}}) }()
	pids := members(t, file)
	for _, pid := range pids {
		if !testwait.Alive(pid) {
			t.Errorf("process %d does not run", pid)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	gone(t, pids)
}

// Cancelling a run also ends stopped processes, even if the keeper is stopped.
func TestStoppedRunEnds(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"program", "keeper", "all"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pids")
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- Run(ctx, Command{Argv: self("family", file, "stay"), Stdout: &bytes.Buffer{}}) }()
			pids := members(t, file)
			keeper, err := exec.Command("ps", "-o", "ppid=", "-p", strconv.Itoa(pids[0])).Output()
			if err != nil {
				t.Skipf("ps names no parents here: %v", err)
			}
			parent, err := strconv.Atoi(strings.TrimSpace(string(keeper)))
			if err != nil {
				t.Fatal(err)
			}
			for _, pid := range map[string][]int{"program": pids, "keeper": {parent}, "all": append([]int{parent}, pids...)}[who] {
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			gone(t, pids)
		})
	}
}

// Processes that a successful program leaves behind end with it, and do not delay its result.
func TestLeftoverProcessesEnd(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	var out bytes.Buffer
	if err := Run(t.Context(), Command{Argv: self("family", file, "leave"), Stdout: &out}); err != nil || out.String() != "done\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	gone(t, members(t, file))
}

// If a process is killed, the programs that it runs end, too.
func TestKilledServerLeavesNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	server := exec.Command(os.Args[0], "play", "server", file)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	pids := members(t, file)
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	gone(t, pids)
}

// The end of one run does not end another.
func TestRunsAreApart(t *testing.T) {
	t.Parallel()
	long := filepath.Join(t.TempDir(), "pids")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- Run(ctx, Command{Argv: self("family", long, "stay")}) }()
	pids := members(t, long)
	for range 3 {
		if err := Run(t.Context(), Command{Argv: []string{"true"}}); err != nil {
			t.Error(err)
		}
	}
	for _, pid := range pids {
		if !testwait.Alive(pid) {
			t.Error("the end of another run ended it")
		}
	}
	cancel()
	<-done
	gone(t, pids)
}

// The processor time of a program counts while it runs, and after it has ended.
func TestUsed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the time of a program that runs is not known here")
	}
	if err := Run(testwait.Context(t), Command{Argv: self("used")}); err != nil {
		t.Error(err)
	}
}

// BenchmarkRun prints the cost of the keeper.
func BenchmarkRun(b *testing.B) {
	b.Run("kept", func(b *testing.B) {
		for b.Loop() {
			if err := Run(b.Context(), Command{Argv: []string{"true"}}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A program ends when it has used its processor time.
func TestProcessorTime(t *testing.T) {
	err := Run(t.Context(), Command{Argv: self("burn"), CPU: time.Second})
	var exit *ExitError
	if !errors.As(err, &exit) || exit.State != "signal: "+syscall.SIGXCPU.String() && exit.State != "signal: killed" {
		t.Errorf("it ended with %v", err)
	}
}
