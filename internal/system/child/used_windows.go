package child

import (
	"syscall"
	"time"
)

// Used returns the processor time that this process has used. The time of its children is unknown.
func Used() time.Duration {
	var created, exited, system, user syscall.Filetime
	self, err := syscall.GetCurrentProcess()
	if err != nil || syscall.GetProcessTimes(self, &created, &exited, &system, &user) != nil {
		return 0
	}
	return lasting(system) + lasting(user)
}

// lasting converts a time in units of 100 ns.
func lasting(f syscall.Filetime) time.Duration {
	return time.Duration(uint64(f.HighDateTime)<<32|uint64(f.LowDateTime)) * 100
}
