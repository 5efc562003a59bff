package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/toolfold/toolfold/internal/test/testwait"
)

// sharers lists the host processes of the pool with a socket below a folder.
func sharers(folder string) (pids []int) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		line, err := os.ReadFile(name)
		if err == nil && bytes.Contains(line, []byte("upstream\x00share\x00"+folder+"/")) {
			pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

// processesWith lists the processes with an environment variable, except keepers.
func processesWith(variable string) (programs []int) {
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		environ, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(environ, []byte(variable)) {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		if len(line) > 0 && !bytes.HasPrefix(line, []byte("toolfold: keeper")) { // a process that has ended has no command line
			programs = append(programs, pid)
		}
	}
	return programs
}

// Twenty sessions with five upstreams run five programs. Five seconds after their clients, the servers
// or the host are killed, no program runs.
func TestOneProcessForEachUpstream(t *testing.T) {
	const sessions, programs = 20, 5
	for _, killed := range []string{"client", "server", "host"} {
		t.Run(killed, func(t *testing.T) {
			m := newSandbox(t)
			m.store = "memory:"
			mark := fmt.Sprintf("SHARED_BY=%s%d", killed, os.Getpid())
			var upstreams []string
			for i := range programs {
				upstreams = append(upstreams, fmt.Sprintf(`"up%d":{"command":"toolfold","args":["serve","--store=memory:","--tier=core"],`+
					`"env":{"SHARED_BY":%q,"N":"%d"}}`, i, strings.TrimPrefix(mark, "SHARED_BY="), i))
			}
			m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"), `{"upstreams":{`+strings.Join(upstreams, ",")+`}}`)
			m.learn(t)
			first := m.client(t)
			for i := range programs {
				first.expect(t, "tool_call", fmt.Sprintf(`{"name":"up%d.memory","arguments":{"action":"list"}}`, i))
			}
			clients := []*client{first}
			var mu sync.Mutex
			var wait sync.WaitGroup
			for range sessions - 1 {
				wait.Go(func() {
					c := m.client(t)
					mu.Lock()
					defer mu.Unlock()
					clients = append(clients, c)
				})
			}
			wait.Wait()
			for _, c := range clients {
				for i := range programs {
					c.expect(t, "tool_call", fmt.Sprintf(`{"name":"up%d.memory","arguments":{"action":"list"}}`, i))
				}
			}
			running := processesWith(mark)
			if len(running) != programs {
				t.Errorf("%d processes for %d sessions with %d upstreams", len(running), sessions, programs)
			}
			sharing := sharers(filepath.Join(m.home, "run"))
			if len(sharing) != 1 {
				t.Fatalf("%d processes share them", len(sharing))
			}
			switch killed {
			case "client": // the system closes its ends of the pipes
				for _, c := range clients {
					c.in.Close()
				}
			case "server":
				for _, c := range clients {
					c.signal(t, syscall.SIGKILL)
				}
			case "host":
				_ = syscall.Kill(sharing[0], syscall.SIGKILL)
			}
			testwait.Until(t, "no upstream runs", func() bool { return len(processesWith(mark)) == 0 })
			if killed == "host" { // the sessions go on
				clients[3].expect(t, "tool_call", `{"name":"up2.memory","arguments":{"action":"list"}}`)
				return
			}
			testwait.Until(t, "no host runs", func() bool { return len(sharers(filepath.Join(m.home, "run"))) == 0 })
		})
	}
}
