package heap

import (
	"syscall"
	"time"
)

// untouch gives the pages of block, which holds nothing, back to the system: a block that
// lies where others were before was cleared, and takes memory.
func untouch(block []byte) {
	_ = syscall.Madvise(block, syscall.MADV_DONTNEED) // else it takes memory
}

// worked returns the processor time of this process.
func worked() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
