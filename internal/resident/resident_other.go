//go:build !linux

// Package resident gives memory back to the system that a process has and does not need
// while it waits.
package resident

// DropFile does nothing where the system offers no such thing.
func DropFile() {}

// Size returns zero: it is not known how much a process has resident.
func Size() int { return 0 }
