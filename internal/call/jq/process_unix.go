//go:build unix

package jq

import "syscall"

// apart keeps the signals of a terminal from a process.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
