//go:build unix

package main

import (
	"os"
	"syscall"
)

// pausing are the signals that pause a process and let it go on.
var pausing = []os.Signal{syscall.SIGSTOP, syscall.SIGCONT}
