package heap

import (
	"syscall"
	"time"
)

// untouch returns the pages of an unused block to the system: if the block reuses memory, clearing it
// has made it resident.
func untouch(block []byte) {
	_ = syscall.Madvise(block, syscall.MADV_DONTNEED) // otherwise it takes memory
}

// worked returns the processor time of this process.
func worked() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
