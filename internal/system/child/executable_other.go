//go:build !linux

package child

import "os"

// Executable is the program that this process runs.
func Executable() (string, error) { return os.Executable() }
