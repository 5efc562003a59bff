//go:build unix

package trust

import (
	"os"
	"strconv"
	"syscall"
)

// identity returns what tells a folder from others that stood at its path, empty
// where there is no folder. The device is no part of it: its number may change with
// every start of the machine.
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
