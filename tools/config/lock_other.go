//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package config

import "os"

// lock does nothing: this system has no lock that a killed process gives back
// without a file left behind.
func lock(*os.File) {}
