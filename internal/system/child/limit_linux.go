package child

import "syscall"

// LimitMemory limits the data of this process and of each that it starts, in bytes. Later calls may
// raise the limit to at most most, which can only shrink.
func LimitMemory(bytes, most uint64) error {
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: bytes, Max: most})
}
