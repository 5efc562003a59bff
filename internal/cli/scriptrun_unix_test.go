//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolfold/toolfold/internal/test/testwait"
)

// A run of the shell that is interrupted or killed goes on with the printed line, after its last answer.
func TestScriptRunGoesOn(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]os.Signal{"interrupted": syscall.SIGINT, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newSandbox(t)
			m.store = "sqlite://" + filepath.Join(m.home, "store.db")
			m.write(t, filepath.Join(m.workspace, "s.js"), `const {total} = await memory.list({});
await memory.store({key: 'n' + total, value: 1});
while (!(await memory.get({key: 'go'})).found) await sleep(50);
return total;`)
			p := start(t, m.command(t, "script", "run", "s.js"), nil)
			const line = "toolfold script run "
			testwait.Until(t, "the run is kept, and has written", func() bool {
				out, _ := m.command(t, "call", "memory.list").Output()
				return strings.Contains(p.stderr.String(), line) && strings.Contains(string(out), `"key":"n0"`)
			})
			if err := p.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			<-p.ended
			has(t, p.stderr.String(), map[bool]string{true: "to go on: ", false: "after an interruption: "}[signal == syscall.SIGINT]+line)
			if out, err := m.command(t, "call", "memory.store", "key=go", "value=1").CombinedOutput(); err != nil {
				t.Fatalf("%s", out)
			}
			_, id, _ := strings.Cut(p.stderr.String(), line)
			again := m.command(t, append([]string{"script", "run"}, strings.Fields(strings.SplitN(id, "\n", 2)[0])...)...)
			if out, err := again.Output(); err != nil || string(out) != "0\n" {
				t.Errorf("%s: %v", out, err)
			}
			out, _ := m.command(t, "call", "memory.list").Output()
			lacks(t, string(out), `"key":"n1"`)
		})
	}
}

// The user answers a question of a script that the shell could not ask, and no call of an action does.
func TestScriptRunAsks(t *testing.T) {
	t.Parallel()
	m := newSandbox(t)
	m.store = "sqlite://" + filepath.Join(m.home, "store.db")
	m.write(t, filepath.Join(m.workspace, "s.js"),
		`await scripts.confirm("Store it?"); await memory.store({key: 'n', value: 1}); return 'stored'`)
	run := func(args ...string) string {
		out, _ := m.command(t, args...).CombinedOutput()
		return string(out)
	}
	stopped := run("script", "run", "s.js")
	_, line, found := strings.Cut(stopped, "to go on: toolfold ")
	line, _, _ = strings.Cut(line, "\n")
	if !found || !strings.HasSuffix(line, " --outcome 1=yes") {
		t.Fatal(stopped)
	}
	id := strings.Fields(line)[3]
	has(t, run("call", "script.run", "id="+id, `outcome:={"1":"yes"}`), "whom no argument answers for")
	lacks(t, run("call", "memory.list"), `"key":"n"`)
	has(t, run(strings.Fields(line)...), "stored")
	has(t, run("call", "memory.list"), `"key":"n"`)
}
