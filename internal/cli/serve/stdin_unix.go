//go:build unix

package serve

import (
	"io/fs"
	"os"
	"syscall"
)

// polledStdin returns standard input so that a read which waits occupies no thread: of
// a call over a pipe, waking one costs a sixth. Restore undoes it for other processes
// that read there afterwards. A terminal is left as it is, as other processes read and
// write it meanwhile.
func polledStdin() (in *os.File, restore func()) {
	info, err := os.Stdin.Stat()
	if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 || syscall.SetNonblock(0, true) != nil {
		return os.Stdin, func() {}
	}
	return os.NewFile(0, os.Stdin.Name()), func() { _ = syscall.SetNonblock(0, false) }
}
