package hosts

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The programs of a user are read from the list of any system. Scripts have their own name.
func TestProcesses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for id, files := range map[string][2]string{
		"1": {"/usr/local/bin/claude\x00--resume\x00", "Name:\tclaude\nUid:\t7\t7\t7\t7\n"},
		"2": {"node\x00/usr/bin/gemini\x00", "Name:\tnode\nUid:\t7\t7\t7\t7\n"},
		"3": {"codex\x00", "Name:\tcodex\nUid:\t8\t8\t8\t8\n"},
		"4": {"", "Name:\tkthreadd\nUid:\t7\t7\t7\t7\n"},
	} {
		dir := filepath.Join(folder, id)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"cmdline", "status"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(files[i]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for from, list := range map[string]Processes{
		"proc":     readProc(folder, 7),
		"ps":       readLines([]byte("claude --resume\nnode /usr/bin/gemini\n\n/Applications/Codex.app/Codex\n")),
		"tasklist": readTasks([]byte("\"claude.exe\",\"12\",\"Console\",\"1\",\"9 K\"\n\"gemini\",\"13\",\"Console\",\"1\",\"9 K\"\n")),
	} {
		var running []string
		for i := range Hosts {
			if list.Has(&Hosts[i]) {
				running = append(running, Hosts[i].Name)
			}
		}
		if want := []string{"claude-code", "gemini"}; !slices.Equal(running, want) {
			t.Errorf("%s: %q run, want %q", from, running, want)
		}
	}
}
