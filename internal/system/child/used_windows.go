package child

import (
	"syscall"
	"time"
)

// Used returns the processor time that this process has used. That of what it started is not known.
func Used() time.Duration {
	var created, exited, system, user syscall.Filetime
	self, err := syscall.GetCurrentProcess()
	if err != nil || syscall.GetProcessTimes(self, &created, &exited, &system, &user) != nil {
		return 0
	}
	return lasting(system) + lasting(user)
}

// lasting returns a time that the system counts in steps of 100 ns.
func lasting(f syscall.Filetime) time.Duration {
	return time.Duration(uint64(f.HighDateTime)<<32|uint64(f.LowDateTime)) * 100
}
