//go:build unix && !linux

package keeper

import "syscall"

func adoptOrphans() {}

func dieWithKeeper(*syscall.SysProcAttr) {}

// killAll kills a process group.
func killAll(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }
