package child

import "os"

// Executable returns the program that this process runs, even if its file was replaced or removed.
func Executable() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	return os.Executable()
}
