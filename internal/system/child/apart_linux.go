package child

import "syscall"

// apart protects a worker from signals of the terminal. The system kills it when the thread that
// starts it ends: no goroutine of this program ends while it is locked to a thread.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
