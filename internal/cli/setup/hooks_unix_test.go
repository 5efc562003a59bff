//go:build unix

package setup

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/hooks"
	"github.com/toolfold/toolfold/internal/text/jsonedit"
)

// hookFiles has typical files of hooks; empty for a missing file.
var hookFiles = map[string][]string{
	"git":         {"", "#!/bin/sh\n", "#!/usr/bin/env bash\nset -e\necho a\n", "npm test\n", "#!/bin/sh"},
	"claude-code": {"", "{}", "{\"hooks\": {}}\n", "{\n  // mine\n  \"hooks\": {\"PostToolUse\": []}\n}\n", compactHooks, spreadHooks},
	"codex":       {"", "{}\n", compactHooks, spreadHooks},
}

// emptyHooks lists files with empty lists or members.
var emptyHooks = map[string]bool{"{\"hooks\": {}}\n": true, "{\n  // mine\n  \"hooks\": {\"PostToolUse\": []}\n}\n": true}

const (
	compactHooks = `{"hooks":{"PostToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"x"}]}]}}`
	spreadHooks  = "{\n\t\"hooks\": {\n\t\t\"PostToolUse\": [\n\t\t\t{\n\t\t\t\t\"matcher\": \"Bash\", // mine\n\t\t\t\t\"hooks\": [\n" +
		"\t\t\t\t\t{\"type\": \"command\", \"command\": \"x\"}\n\t\t\t\t]\n\t\t\t},\n\t\t]\n\t},\n\t\"model\": \"y\"\n}\n"
)

// foreignEdit edits a file of hooks like another program.
func foreignEdit(t *testing.T, h *hooks.Hook, text string, n int) string {
	if !h.Event {
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
			"hooks", "PostToolUse")
	} else {
		edited, err = jsonedit.Set([]byte(text), fmt.Appendf(nil, `{"n":%d}`, n), fmt.Sprintf("m%d", n))
	}
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return string(edited)
}

// After any writes, with edits by other programs in between, one undo keeps those edits. Without edits
// it restores the file.
func TestUndoLeavesForeignChanges(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := cli.NewContext(&cli.App{Writer: io.Discard, ErrWriter: io.Discard}, nil, nil)
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 0))
		for _, h := range hooks.All() {
			path := filepath.Join(dir, fmt.Sprintf("%s-%d", h.Name, random.IntN(5))) // some files exist already
			starts := hookFiles[h.Name]
			start := starts[random.IntN(len(starts))]
			others := playHook(t, c, &h, path, start, random)
			normal := strings.Clone
			if h.Event && others != start { // members keep the order in which they were added
				normal = sortedLines
			}
			got, err := os.ReadFile(path)
			switch {
			case others == "" && !os.IsNotExist(err):
				t.Fatalf("seed %d, %s: the file is there (%v):\n%s", seed, h.Name, err, got)
			case others != "" && (err != nil || normal(string(got)) != normal(others)):
				t.Fatalf("seed %d, %s from %q: %v\n%s", seed, h.Name, start, err, cmp.Diff(others, string(got)))
			}
			if list, err := filepath.Glob(filepath.Join(dir, "*.bak")); err != nil || len(list) > 0 {
				t.Fatalf("seed %d, %s: %v, %v are in the working tree", seed, h.Name, err, list)
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

// sortedLines returns the sorted lines of JSON, without trailing commas.
func sortedLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, ",\n", "\n"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// playHook writes and undoes a hook, with edits in between. It returns the expected text of the file;
// empty for no file.
func playHook(t *testing.T, c *cli.Context, h *hooks.Hook, path, start string, random *rand.Rand) (others string) {
	if others = start; start != "" {
		if err := os.WriteFile(path, []byte(start), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	arguments := [][]string{{h.Name}, {"--policy=api-only", h.Name}, {"--fail-on=warn", h.Name}}
	written := false
	for n := range 1 + random.IntN(8) {
		switch {
		case !written || random.IntN(3) > 0:
			binary := []string{"", "/opt/my bin/toolfold"}[random.IntN(2)]
			if err := writeHook(c, h, path, hooks.Call{Binary: binary, Args: arguments[random.IntN(len(arguments))]}); err != nil {
				t.Fatal(err)
			}
			written = true
		case random.IntN(4) == 0:
			if err := undoHook(c, h, path); err != nil {
				t.Fatal(err)
			}
			written = false
		case emptyHooks[start]: // undo removes them if it does not restore the file
		default:
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if others == "" {
				others = h.Skeleton
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
