//go:build !unix

package main

import "os"

// pausing is empty: this system has no signals that pause a process.
var pausing []os.Signal
