//go:build unix

package child

import (
	"syscall"
	"time"
)

// LimitCPU limits the processor time of this process and of each process that it starts from now
// on.
func LimitCPU(d time.Duration) error {
	seconds := uint64(d / time.Second)
	return syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: seconds, Max: seconds + 1})
}
