//go:build unix

package main

import (
	"os"
	"syscall"
)

// pausing holds the signals that pause and resume a process.
var pausing = []os.Signal{syscall.SIGSTOP, syscall.SIGCONT}
