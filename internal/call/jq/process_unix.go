//go:build unix

package jq

import "syscall"

// apart protects a process from signals of the terminal.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
