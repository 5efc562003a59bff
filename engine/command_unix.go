//go:build unix

package engine

import (
	"os/exec"
	"syscall"
)

// runGroup runs a command as a process group of its own, so that all that it
// started ends with it.
func runGroup(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Start(); err != nil {
		return err
	}
	group := cmd.Process.Pid
	err := cmd.Wait()
	// What it left behind; usually there is nothing, which is an error.
	_ = syscall.Kill(-group, syscall.SIGKILL)
	return err
}
