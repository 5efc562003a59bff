//go:build !linux

package child

// LimitMemory does nothing on systems without such a limit.
func LimitMemory(bytes, most uint64) error { return nil }
