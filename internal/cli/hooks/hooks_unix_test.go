//go:build unix

package hooks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The git hook runs the binary that it names, or else the one on PATH. Without either it lets a commit
// pass. The user's own script then continues.
func TestGitHookRuns(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"bin/toolfold", "my bin/toolfold", `it's "$HOME"/toolfold`, "C:/Program Files/toolfold.exe", `bin/C:\x y\toolfold`,
	} {
		for _, shell := range []string{"sh", "sh -eu", "bash -e", "dash", "zsh", "ksh"} {
			words := strings.Fields(shell)
			if _, err := exec.LookPath(words[0]); err != nil {
				continue
			}
			t.Run(shell+" "+path, func(t *testing.T) {
				t.Parallel()
				runGitHook(t, words, path)
			})
		}
	}
}

func runGitHook(t *testing.T, shell []string, path string) {
	dir := t.TempDir()
	program := func(path, name string, code int) {
		path = filepath.Join(dir, path)
		script := fmt.Sprintf("#!/bin/sh\necho %s \"$@\"\nexit %d\n", name, code)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	hook := Find("git")
	script, err := hook.With([]byte("#!/bin/sh\necho mine\n"), Call{Binary: path, Args: []string{"--policy=a b", "git"}})
	if err != nil {
		t.Fatal(err)
	}
	run := func(want string, wantCode int) {
		t.Helper()
		command := exec.CommandContext(t.Context(), shell[0], append(shell[1:], "-c", string(script), "pre-commit")...)
		command.Dir, command.Env = dir, []string{"PATH=" + filepath.Join(dir, "path") + ":/usr/bin:/bin", "HOME=" + dir}
		out, _ := command.CombinedOutput()
		if got, code := string(out), command.ProcessState.ExitCode(); got != want || code != wantCode {
			t.Errorf("exit code %d, want %d:\n%s\nwant:\n%s", code, wantCode, got, want)
		}
	}
	run("toolfold is not here: this commit was not checked; install it, or take its lines out of pre-commit\nmine\n", 0)
	program("path/toolfold", "by-name", 0)
	run("by-name hook --policy=a b git\nmine\n", 0)
	program("path/toolfold", "by-name", 3)
	run("by-name hook --policy=a b git\n", 1)
	program(path, "by-path", 0)
	run("by-path hook --policy=a b git\nmine\n", 0)
	program(path, "by-path", 3)
	run("by-path hook --policy=a b git\n", 1)
}
