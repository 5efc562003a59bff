package scan

import "syscall"

// limitMemory bounds the data of this process, and of each that it starts.
func limitMemory(bytes uint64) error {
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: bytes, Max: bytes})
}
