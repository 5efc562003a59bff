//go:build unix

package child

import (
	"syscall"
	"time"
)

// Used returns the processor time that this process and its children have used. On systems other
// than Linux, running children do not count.
func Used() time.Duration {
	sum := runningTime()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if syscall.Getrusage(who, &usage) == nil {
			sum += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		}
	}
	return sum
}
