package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// steering is a name that changes the screen if a terminal gets it unescaped.
const steering = "a\x1b]0;title\x07\x1b[2Jb\rc\x7f\u009b31m\u202egnp.\u2066d\u2069"

// steers reports the first character of a text that controls a terminal.
func steers(text []byte) (found string, ok bool) {
	for i, r := range string(text) {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return fmt.Sprintf("%q at %d: %q", r, i, text[max(0, i-40):min(len(text), i+20)]), true
		}
	}
	return "", !utf8.Valid(text)
}

// No command prints a name from another source unescaped.
func TestNamesSteerNoTerminal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("its folders cannot have such names")
		return
	}
	t.Parallel()
	home, folder := t.TempDir(), filepath.Join(t.TempDir(), steering+"\xff")
	write := func(path, text string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	named, _ := json.Marshal(steering)
	list := write(filepath.Join(folder, steering+".json"),
		fmt.Sprintf(`{"tools":[{"name":%s,"description":%[1]s,"inputSchema":{"type":"object","properties":{%[1]s:{}}}}]}`, named))
	settings := write(filepath.Join(folder, "settings.json"), fmt.Sprintf(`{"mcpServers":{%s:{"command":%[1]s}}}`, named))
	write(filepath.Join(folder, ".toolfold", "config.json"), fmt.Sprintf(`{%s:1,"workspaceName":%[1]s}`, named))
	write(filepath.Join(folder, ".toolfold", "agents", steering+".json"), fmt.Sprintf(`{"id":%s}`, named))
	calls := write(filepath.Join(folder, steering+".md"), "call `memory_set` "+steering+"\n")
	stored, _ := json.Marshal(map[string]any{"key": steering, "value": steering})
	shown := 0
	for _, args := range [][]string{
		{steering},
		{"serve", "--" + steering},
		{"call", steering}, {"call", "memory.get", steering}, {"call", "memory.store", string(stored)},
		{"call", "memory.list"}, {"call", "memory.get", "{" + steering},
		{"find", steering}, {"describe", steering}, {"tools", "--deny", steering}, {"tools", steering},
		{"doctor", list}, {"doctor", "--json", list}, {"doctor", steering}, {"doctor", "--compare", list, list},
		{"doctor", "--config", settings}, {"doctor", "--command", steering}, {"doctor", "--url", steering},
		{"migrate", steering}, {"migrate", "rewrite", calls}, {"migrate", "rewrite", steering},
		{"token", "add", steering}, {"token", "list"}, {"token", "remove", steering},
		{"status"}, {"status", "--json"}, {"status", "--store", steering},
		{"setup", steering}, {"completion", steering}, {"version", steering}, {"worker", "--workspace", steering},
		{"trust", steering}, {"trust"}, {"trust", "--list"}, {"untrust"},
	} {
		command := exec.CommandContext(t.Context(), "toolfold", args...)
		command.Dir = folder
		command.Env = append(os.Environ(), "HOME="+home, "XDG_DATA_HOME="+home, "XDG_CONFIG_HOME="+home, "TOOLFOLD_STORE=")
		var output bytes.Buffer
		command.Stdout, command.Stderr = &output, &output
		if err := command.Run(); err != nil && command.ProcessState == nil {
			t.Fatal(err)
		}
		if found, raw := steers(output.Bytes()); raw {
			t.Errorf("toolfold %q: %s", args, found)
		}
		if bytes.Contains(output.Bytes(), []byte(`\u001b`)) {
			shown++
		}
	}
	if shown < 10 {
		t.Errorf("%d commands show the name", shown)
	}
}

// All output of commands is escaped. The raw streams are used only to wrap them, and for the protocol.
func TestStreamsAreWrapped(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		isCode := strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go")
		if err != nil || !isCode || filepath.ToSlash(file) == "env/env.go" {
			return err
		}
		files++
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "os.Stderr") || strings.Contains(line, "fmt.Print") ||
				strings.Contains(line, "os.Stdout") && !strings.Contains(line, "os.Stdout.Stat()") {
				t.Errorf("%s prints past stdout and stderr of package env: %s", file, strings.TrimSpace(line))
			}
		}
		return nil
	})
	if err != nil || files < 40 {
		t.Errorf("%d files, %v", files, err)
	}
}

// A shell argument that is not UTF-8 is not stored as another text.
func TestCallRejectsInvalidUTF8(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, args := range [][]string{
		{"memory.store", "key=a\xff", "value=x"}, {"memory.store", "key:=\"a\xff\"", "value=x"}, {"memory.stor\xff"},
		{"memory.store", "{\"key\":\"a\xff\",\"value\":1}"},
	} {
		command := exec.CommandContext(t.Context(), "toolfold", append([]string{"call"}, args...)...)
		command.Env = append(os.Environ(), "HOME="+home, "XDG_DATA_HOME="+home, "XDG_CONFIG_HOME="+home)
		output, err := command.CombinedOutput()
		if err == nil || !strings.Contains(string(output), "is not UTF-8") {
			t.Errorf("toolfold call %q: %v: %s", args, err, output)
		}
	}
}
