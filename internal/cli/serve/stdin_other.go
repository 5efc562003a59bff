//go:build !unix

package serve

import "os"

// polledStdin returns standard input as it is.
func polledStdin() (in *os.File, restore func()) { return os.Stdin, func() {} }
