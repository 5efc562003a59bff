package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/test/testwait"
)

// Servers in two workspaces share a store, and the one whose task runs a command is killed repeatedly.
// The command runs in its own workspace, one at a time, and never after its server has ended.
func TestKilledServers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for leases to run out")
	}
	onStores(t, killServers)
}

// killServers uses the default store if store is empty.
func killServers(t *testing.T, store string) {
	kills := 1
	if os.Getenv("TOOLFOLD_LOAD") != "" {
		kills = 5
	}
	m := newSandbox(t)
	m.store = store
	diary, release := filepath.Join(m.home, "diary"), filepath.Join(m.home, "release")
	script := fmt.Sprintf(`echo $$ $(cut -d" " -f4 /proc/$PPID/stat) $(pwd -P) >> %s; while [ ! -e %s ]; do sleep 0.1; done; echo done`,
		diary, release)
	m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"),
		fmt.Sprintf(`{"defaultProvider":"sh","providers":{"sh":{"type":"command","command":["sh","-c",%q]}}}`, script))
	here, there := m, m
	there.workspace = t.TempDir()
	call := func(m sandbox, name, args string) string {
		out, err := m.command(t, "call", name, args).Output()
		if err != nil {
			t.Fatalf("%s: %v, %s", name, err, out)
		}
		return string(out)
	}
	call(here, "agent.register", `{"agentId":"runner","description":"d","workflow":[{"stepId":"s","type":"prompt","config":{"prompt":"x"}}]}`)
	call(here, "task.submit", `{"name":"here","agentId":"runner"}`)
	servers := map[int]process{}
	serve := func(m sandbox) {
		p := start(t, m.command(t, "serve"), nil)
		fmt.Fprint(p.in, hello)
		servers[p.Process.Pid] = p
	}
	serve(here)
	serve(here)
	serve(there)

	type run struct {
		pid, server int
		dir         string
	}
	runs := func() (list []run) {
		text, _ := os.ReadFile(diary)
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line)
			if len(words) != 3 {
				t.Fatalf("a line of the diary is broken: %q", line)
			}
			pid, _ := strconv.Atoi(words[0])
			server, _ := strconv.Atoi(words[1])
			list = append(list, run{pid, server, words[2]})
		}
		return list
	}
	gone := func(pid int) bool { return syscall.Kill(pid, 0) != nil }
	dir, err := filepath.EvalSymlinks(here.workspace)
	if err != nil {
		t.Fatal(err)
	}
	for n := range kills + 1 {
		testwait.Until(t, fmt.Sprintf("run %d begins", n+1), func() bool { return len(runs()) > n })
		list := runs()
		last := list[n]
		if len(list) != n+1 || last.dir != dir {
			t.Fatalf("after %d kills there were %v, want the last in %s", n, list, dir)
		}
		for _, before := range list[:n] {
			if !gone(before.pid) {
				t.Errorf("process %d of an earlier run runs beside the next", before.pid)
			}
		}
		if n == kills {
			break
		}
		server, ok := servers[last.server]
		if !ok {
			t.Fatalf("process %d that runs it is no server of %v", last.server, servers)
		}
		if err := server.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-server.ended
		testwait.Until(t, "the command ends with its server", func() bool { return gone(last.pid) })
		serve(here)
	}
	m.write(t, release, "")
	call(there, "task.submit", `{"name":"there","agentId":"runner"}`)
	testwait.Until(t, "both tasks have completed",
		func() bool { return strings.Contains(call(here, "task.list", `{"status":["completed"]}`), `"total":2`) })
	if list := runs(); len(list) != kills+2 || list[kills+1].dir == dir {
		t.Errorf("the runs were %v", list)
	}
	if shown := call(here, "task.list", `{"include_fields":["tasks.name","tasks.interruptions"]}`); !strings.Contains(shown,
		fmt.Sprintf(`"interruptions":%d`, kills)) {
		t.Errorf("the interruptions are not shown: %s", shown)
	}

	// A server whose client closes its input, or that gets a signal, ends its command and gives the
	// task back.
	if err := os.Remove(release); err != nil {
		t.Fatal(err)
	}
	for i, stop := range []func(process){
		func(p process) { _ = p.in.Close() },
		func(p process) { p.signal(t, syscall.SIGTERM) },
	} {
		n := len(runs())
		call(here, "task.submit", fmt.Sprintf(`{"name":"stopped %d","agentId":"runner"}`, i))
		testwait.Until(t, "a command runs", func() bool { return len(runs()) > n })
		last := runs()[n]
		stopped := time.Now()
		stop(servers[last.server])
		if !servers[last.server].ends(testwait.Limit) {
			t.Fatal("the server did not end")
		}
		t.Logf("stopped within %v", time.Since(stopped).Round(time.Millisecond))
		if !gone(last.pid) {
			t.Error("a command outlived its server")
		}
		serve(here)
		testwait.Until(t, "another server runs it at once", func() bool { return len(runs()) > n+1 })
		m.write(t, release, "")
		testwait.Until(t, "it completes", func() bool {
			return strings.Contains(call(here, "task.list", `{"status":["completed"]}`), fmt.Sprintf(`"total":%d`, 3+i))
		})
		if err := os.Remove(release); err != nil {
			t.Fatal(err)
		}
	}
}
