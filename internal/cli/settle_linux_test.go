package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/test/testwait"
)

// restMegabytes is the limit for the resident private memory of a server that has answered its first
// list and waits. Its code is not counted: that is the file's, is shared by the system, and is mostly
// dropped after the start.
const restMegabytes = 10

// A waiting server stays within its memory budget, and still works afterwards.
func TestRest(t *testing.T) {
	t.Parallel()
	command := exec.Command(build(t, mainPackage), "serve")
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=")
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReaderSize(out, 1<<20)
	list := func(messages string) {
		t.Helper()
		if _, err := in.Write([]byte(messages)); err != nil {
			t.Fatal(err)
		}
		for {
			line, err := reader.ReadBytes('\n')
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(line, []byte(`"tools":[`)) {
				return
			}
		}
	}
	list(firstLists)
	resident := func(kinds ...string) (kilobytes int) {
		for _, kind := range kinds {
			kilobytes += residentKB(t, command.Process.Pid, kind)
		}
		return kilobytes
	}
	started := resident("RssFile", "RssShmem") // its code counts as shared memory if its file is in memory
	own, file := 0, 0
	for deadline := time.Now().Add(testwait.Limit); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		own, file = resident("RssAnon"), resident("RssFile", "RssShmem")
		if own <= restMegabytes*1000 && file <= started/2 {
			break
		}
	}
	t.Logf("%d kB of its own and %d kB of files resident, of files %d kB when it had started", own, file, started)
	if own > restMegabytes*1000 {
		t.Errorf("%d kB resident at rest, more than %d MB", own, restMegabytes)
	}
	if file > started/2 {
		t.Errorf("%d kB of files resident at rest, more than half of the %d kB of the start", file, started)
	}
	list(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}` + "\n")
	in.Close()
	if err := command.Wait(); err != nil {
		t.Error(err)
	}
}

// residentKB returns the resident memory of a kind of a process.
func residentKB(t *testing.T, pid int, kind string) (kilobytes int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "\n"+kind+":")
	if _, err := fmt.Sscan(after, &kilobytes); err != nil {
		t.Fatal(err)
	}
	return kilobytes
}
