package child

import "syscall"

// LimitMemory bounds the data of this process, and of each that it starts, in bytes.
// Later calls may raise the limit to most, which only ever shrinks.
func LimitMemory(bytes, most uint64) error {
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: bytes, Max: most})
}
