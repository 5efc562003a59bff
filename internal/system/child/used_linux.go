package child

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// tick is the unit of times in /proc, on all processors that Go supports.
const tick = time.Second / 100

// runningTime returns the processor time of the other processes in this process group, and of their
// children that they have waited for.
func runningTime() (sum time.Duration) {
	dir, err := os.Open("/proc")
	if err != nil {
		return 0
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	self, group := strconv.Itoa(os.Getpid()), strconv.Itoa(syscall.Getpgrp())
	for _, name := range names {
		if name[0] < '1' || name[0] > '9' || name == self {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		// Format: 42 (name) S parent group …; the name may contain brackets and spaces.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 15 || string(fields[2]) != group {
			continue
		}
		for _, field := range fields[11:15] { // user and system time, of itself and of children it waited for
			n, _ := strconv.ParseInt(string(field), 10, 64)
			sum += time.Duration(n) * tick
		}
	}
	return sum
}
