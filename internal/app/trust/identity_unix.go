//go:build unix

package trust

import (
	"os"
	"strconv"
	"syscall"
)

// identity returns an id that distinguishes a folder from others at the same path, or "" if there
// is no folder. It leaves out the device, whose number may change at every start of the machine.
func identity(dir string) string {
	info, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return strconv.FormatUint(uint64(stat.Ino), 10)
}
