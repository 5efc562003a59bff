//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package config

import (
	"os"
	"syscall"
)

// lock waits until no other process has the folder locked. The lock is the
// handle's and ends with it, so a killed process leaves none behind. Where
// the file system cannot lock there is none.
func lock(folder *os.File) {
	for syscall.Flock(int(folder.Fd()), syscall.LOCK_EX) == syscall.EINTR {
	}
}
