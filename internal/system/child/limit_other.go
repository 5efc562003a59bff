//go:build !linux

package child

// LimitMemory does nothing where the system knows no such limit.
func LimitMemory(bytes, most uint64) error { return nil }
