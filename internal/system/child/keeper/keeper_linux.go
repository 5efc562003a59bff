package keeper

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// adoptOrphans makes this process the parent of descendants whose parents end
// (PR_SET_CHILD_SUBREAPER, since Linux 3.4).
func adoptOrphans() {
	const setChildSubreaper = 36
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0)
}

// dieWithKeeper makes the system kill the program when the thread that starts it ends. An init
// function runs on the main thread, which ends with its process.
func dieWithKeeper(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// killAll kills a process group and all children of this process, including adopted orphans, until
// none is left. It only kills children, not further descendants, because a child's id cannot be
// reused before this process has waited for it.
func killAll(group int) {
	_ = syscall.Kill(-group, syscall.SIGKILL)
	for end := time.Now().Add(Grace / 2); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, pid := range children() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if err == syscall.ECHILD {
				return
			}
			if pid <= 0 && err != syscall.EINTR {
				break
			}
		}
	}
}

// children lists the child processes of this process.
func children() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var list []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		// Format: 42 (name) S 41 …; the name may contain brackets and spaces.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 1 && string(fields[1]) == strconv.Itoa(os.Getpid()) {
			list = append(list, pid)
		}
	}
	return list
}
