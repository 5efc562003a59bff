package child

import "os"

// Executable is the program that this process runs, also where its file was
// replaced or removed since.
func Executable() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	return os.Executable()
}
