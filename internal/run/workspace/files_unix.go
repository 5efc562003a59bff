//go:build unix

package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

// Flags to open with. To open a pipe or a terminal must not wait for anybody.
const (
	openFile   = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY
	openFolder = openFile | syscall.O_DIRECTORY
)

func inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Ino)
	}
	return 0
}
