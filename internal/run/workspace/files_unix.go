//go:build unix

package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

// Flags for opening files. Opening a pipe or a terminal must not wait.
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
