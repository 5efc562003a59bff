//go:build unix

package js

import (
	"syscall"
	"time"

	"github.com/toolfold/toolfold/internal/system/child"
)

// confine limits this process. The engine keeps the limits of a program exactly; these hold for what it
// does not see. The Go runtime needs descriptors for pipes that block.
func confine(l Limits) error {
	const forRuntime = 1 << 30 // texts on their way, stacks, and the race detector
	most := uint64(l.Memory + forRuntime)
	if err := child.LimitMemory(most, most); err != nil {
		return err
	}
	if err := child.LimitCPU(3*l.Running + 10*time.Second); err != nil { // also of the collector's threads
		return err
	}
	for resource, limit := range map[int]uint64{syscall.RLIMIT_NOFILE: 16, syscall.RLIMIT_CORE: 0} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return nil
}
