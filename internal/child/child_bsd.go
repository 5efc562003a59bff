//go:build unix && !linux

package child

import (
	"os"
	"syscall"
)

// Executable is the program that this process runs.
func Executable() (string, error) { return os.Executable() }

func adoptOrphans() {}

func dieWithKeeper(*syscall.SysProcAttr) {}

// killAll kills a process group.
func killAll(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }
