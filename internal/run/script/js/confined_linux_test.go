package js

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// peak returns the most memory that an ended process had, in bytes.
func peak(p *Process) int64 { return int64(p.worker.State().SysUsage().(*syscall.Rusage).Maxrss) << 10 }

func confined(t *testing.T, pid int) {
	t.Helper()
	dir := "/proc/" + strconv.Itoa(pid) + "/"
	env, err := os.ReadFile(dir + "environ")
	if err != nil || string(env) != "TZ=UTC\x00" {
		t.Errorf("environment %q, %v", env, err)
	}
	if folder, err := os.Readlink(dir + "cwd"); err != nil || folder != "/" {
		t.Errorf("in folder %s, %v", folder, err)
	}
	limits, err := os.ReadFile(dir + "limits")
	for line := range strings.Lines(string(limits)) {
		f := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "Max open files") && f[3] != "16",
			strings.HasPrefix(line, "Max core file size") && f[4] != "0",
			strings.HasPrefix(line, "Max data size") && f[3] == "unlimited",
			strings.HasPrefix(line, "Max cpu time") && f[3] == "unlimited":
			t.Errorf("%s", line)
		}
	}
	if err != nil {
		t.Error(err)
	}
}
