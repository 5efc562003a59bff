//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The module that new writes is built, tested and run like by its author, with the packages of this
// folder. A Go workspace replaces go mod tidy, which downloads modules for other tests.
func TestNew(t *testing.T) {
	t.Parallel()
	clone, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	box := newSandbox(t)
	if out, err := box.command(t, "new", "example.com/me/recipes", "--replace", clone).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := filepath.Join(box.workspace, "recipes")
	work := filepath.Join(t.TempDir(), "go.work")
	if err := os.WriteFile(work, []byte("go 1.26.0\n\nuse (\n\t"+clone+"\n\t"+dir+"\n)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	inModule := func(want, input string, args ...string) {
		t.Helper()
		command := exec.Command("go", args...)
		command.Dir, command.Stdin = dir, strings.NewReader(input)
		command.Env = append(os.Environ(), "GOWORK="+work, "GOPROXY=off", "CGO_ENABLED=0")
		if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("go %s: %v\n%s\nwant %s", strings.Join(args, " "), err, out, want)
		}
	}
	inModule("", "", "vet", "./...")
	inModule("ok", "", "test", "./...")
	inModule(`"serverInfo":{"name":"recipes","version":"1.0.0"`, firstLists, "run", ".")
	inModule(`"name":"note_add"`, firstLists, "run", ".", "-for", "codex")
}
