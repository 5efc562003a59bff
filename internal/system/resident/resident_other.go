//go:build !linux

// Package resident gives memory back to the system that a process has and does not need
// while it waits.
package resident

// DropFile does nothing where the system offers no such thing.
func DropFile() {}

// Own returns zero: it is not known here.
func Own() int { return 0 }
