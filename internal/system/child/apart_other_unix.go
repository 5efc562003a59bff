//go:build unix && !linux

package child

import "syscall"

// apart protects a worker from signals of the terminal.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
