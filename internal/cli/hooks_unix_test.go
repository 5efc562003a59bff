//go:build unix

package cli

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/text/jsonedit"
)

// The script of the git hook runs the binary that it names, else the one on PATH, and lets a commit
// pass where there is none. The script of its user goes on behind it.
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
	hook := findHook("git")
	script, err := hook.with([]byte("#!/bin/sh\necho mine\n"), hookCall{binary: path, args: []string{"--policy=a b", "git"}})
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

// hookFiles are files of hooks, as their users have them; empty for a file that is not there.
var hookFiles = map[string][]string{
	"git":         {"", "#!/bin/sh\n", "#!/usr/bin/env bash\nset -e\necho a\n", "npm test\n", "#!/bin/sh"},
	"claude-code": {"", "{}", "{\"hooks\": {}}\n", "{\n  // mine\n  \"hooks\": {\"PostToolUse\": []}\n}\n", compactHooks, spreadHooks},
	"codex":       {"", "{}\n", compactHooks, spreadHooks},
}

// emptyHooks are files with lists or members that have nothing in them.
var emptyHooks = map[string]bool{"{\"hooks\": {}}\n": true, "{\n  // mine\n  \"hooks\": {\"PostToolUse\": []}\n}\n": true}

const (
	compactHooks = `{"hooks":{"PostToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"x"}]}]}}`
	spreadHooks  = "{\n\t\"hooks\": {\n\t\t\"PostToolUse\": [\n\t\t\t{\n\t\t\t\t\"matcher\": \"Bash\", // mine\n\t\t\t\t\"hooks\": [\n" +
		"\t\t\t\t\t{\"type\": \"command\", \"command\": \"x\"}\n\t\t\t\t]\n\t\t\t},\n\t\t]\n\t},\n\t\"model\": \"y\"\n}\n"
)

// foreignEdit is an edit of a file of hooks by another program.
func foreignEdit(t *testing.T, h *hook, text string, n int) string {
	if !h.event {
		line := fmt.Sprintf("echo %d\n", n)
		if text = strings.TrimSuffix(text, "\n") + "\n"; text == "\n" {
			text = ""
		}
		if n%2 == 0 && strings.HasPrefix(text, "#!") && strings.Contains(text, "\n") {
			first, rest, _ := strings.Cut(text, "\n")
			return first + "\n" + line + rest
		}
		return text + line
	}
	var edited []byte
	var err error
	if n%2 == 0 {
		edited, err = jsonedit.Append([]byte(text), fmt.Appendf(nil, `{"matcher":"Read","hooks":[{"type":"command","command":"c%d"}]}`, n),
			eventMember, afterTool)
	} else {
		edited, err = jsonedit.Set([]byte(text), fmt.Appendf(nil, `{"n":%d}`, n), fmt.Sprintf("m%d", n))
	}
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return string(edited)
}

// After any writes, with edits of others between them, one undo leaves what the others have
// written, and the file as it was if there were no edits.
func TestUndoLeavesWhatOthersWrote(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := cli.NewContext(&cli.App{Writer: io.Discard, ErrWriter: io.Discard}, nil, nil)
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 0))
		for _, h := range knownHooks() {
			path := filepath.Join(dir, fmt.Sprintf("%s-%d", h.name, random.IntN(5))) // some have been there before
			starts := hookFiles[h.name]
			start := starts[random.IntN(len(starts))]
			others := playHook(t, c, &h, path, start, random)
			wanted := strings.Clone
			if h.event && others != start { // members stand in the order in which they came
				wanted = sortedLines
			}
			got, err := os.ReadFile(path)
			switch {
			case others == "" && !os.IsNotExist(err):
				t.Fatalf("seed %d, %s: the file is there (%v):\n%s", seed, h.name, err, got)
			case others != "" && (err != nil || wanted(string(got)) != wanted(others)):
				t.Fatalf("seed %d, %s from %q: %v\n%s", seed, h.name, start, err, cmp.Diff(others, string(got)))
			}
			if list, err := filepath.Glob(filepath.Join(dir, "*.bak")); err != nil || len(list) > 0 {
				t.Fatalf("seed %d, %s: %v, %v are in the working tree", seed, h.name, err, list)
			}
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	if left, err := filepath.Glob(filepath.Join(os.Getenv("XDG_DATA_HOME"), "toolfold", "backups", "*")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left", err, left)
	}
}

// sortedLines returns the lines of JSON without their last commas, in order.
func sortedLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, ",\n", "\n"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// playHook has a hook written and undone, with edits between, and returns what the file has by
// others at the end; empty for no file.
func playHook(t *testing.T, c *cli.Context, h *hook, path, start string, random *rand.Rand) (others string) {
	if others = start; start != "" {
		if err := os.WriteFile(path, []byte(start), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	arguments := [][]string{{h.name}, {"--policy=api-only", h.name}, {"--fail-on=warn", h.name}}
	written := false
	for n := range 1 + random.IntN(8) {
		switch {
		case !written || random.IntN(3) > 0:
			binary := []string{"", "/opt/my bin/toolfold"}[random.IntN(2)]
			if err := writeHook(c, h, path, hookCall{binary: binary, args: arguments[random.IntN(len(arguments))]}); err != nil {
				t.Fatal(err)
			}
			written = true
		case random.IntN(4) == 0:
			if err := undoHook(c, h, path); err != nil {
				t.Fatal(err)
			}
			written = false
		case emptyHooks[start]: // undo takes them out where it does not bring back the file
		default:
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if others == "" {
				others = h.skeleton
			}
			if err := os.WriteFile(path, []byte(foreignEdit(t, h, string(text), n)), 0o700); err != nil {
				t.Fatal(err)
			}
			others = foreignEdit(t, h, others, n)
		}
	}
	if err := undoHook(c, h, path); err != nil {
		t.Fatal(err)
	}
	return others
}
