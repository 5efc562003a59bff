//go:build unix

package child

import (
	"syscall"
	"time"
)

// LimitCPU bounds the processor time of each process that this one starts from now on, and of this one.
func LimitCPU(d time.Duration) error {
	seconds := uint64(d / time.Second)
	return syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: seconds, Max: seconds + 1})
}
