//go:build !unix

package workspace

import (
	"io/fs"
	"os"
)

const (
	openFile   = os.O_RDONLY
	openFolder = os.O_RDONLY
)

func inode(fs.FileInfo) uint64 { return 0 }
