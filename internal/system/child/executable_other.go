//go:build !linux

package child

import "os"

// Executable returns the program that this process runs.
func Executable() (string, error) { return os.Executable() }
