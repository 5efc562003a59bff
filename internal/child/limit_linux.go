package child

import "syscall"

// LimitMemory bounds the data of this process, and of each that it starts, in bytes.
func LimitMemory(bytes uint64) error {
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: bytes, Max: bytes})
}
