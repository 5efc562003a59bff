package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/git"
	"github.com/toolfold/toolfold/internal/jsonedit"
	"github.com/toolfold/toolfold/internal/ordered"
)

// setupHooks prints, writes or takes out the hook that a name stands for, in the repository
// that the current folder is in. Options go to toolfold hook.
func setupHooks(c *cli.Context, name string, options []string) error {
	h := findHook(name)
	switch {
	case name == "":
		return usageError("--hooks needs what runs the hook: one of %s", strings.Join(hookNames(), ", "))
	case h == nil:
		return usageError("unknown hook %q: one of %s", name, strings.Join(hookNames(), ", "))
	case c.IsSet("for"):
		return usageError("--for and --hooks exclude each other: a hook serves no list")
	}
	if err := refusedBy(hookCommand(), func(*cli.Context) error { return nil }, append(slices.Clone(options), h.name)); err != nil {
		return err
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	path, err := h.path(folder)
	if err != nil {
		return err
	}
	if c.Bool("undo") {
		return undoHook(c, h, path)
	}
	binary, err := installed()
	if err != nil {
		return err
	}
	if found, err := exec.LookPath("toolfold"); err == nil && sameFile(found, binary) {
		binary = "toolfold" // so that a file that is shared says nothing of this machine
	}
	command := ""
	for _, word := range append(append([]string{binary, "hook"}, options...), h.name) {
		command += " " + shellWord(word)
	}
	command = command[1:]
	if !c.Bool("write") {
		text, err := readClient(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		after, err := h.put(text, command)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if _, err := c.App.Writer.Write(after); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "goes into  %s, or: toolfold setup --hooks --write %s\n", path, h.name)
		return nil
	}
	done, err := editFile(path, setupBackup, func(text []byte) ([]byte, error) { return h.put(text, command) })
	if err != nil {
		return err
	}
	if h.name == "git" {
		if err := os.Chmod(done.path, 0o755); err != nil { //nolint:gosec // git runs it
			return err
		}
	}
	switch {
	case !done.changed:
		_, err = fmt.Fprintf(c.App.Writer, "%s is as it should be\n", done.path)
		return err
	case done.backup != "":
		fmt.Fprintf(c.App.Writer, "backup   %s\n", done.backup)
	}
	if _, err = fmt.Fprintf(c.App.Writer, "written  %s\n", done.path); err == nil {
		fmt.Fprintf(stderr, "next  %s\n", h.next)
	}
	return err
}

// undoHook takes a hook out of its file, which goes where nothing else is in it. The backup goes
// where the file is as it was then.
func undoHook(c *cli.Context, h *hook, path string) error {
	text, err := readClient(path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = fmt.Fprintf(c.App.Writer, "%s is as it should be\n", path)
		return err
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	left, err := h.take(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	before, err := readClient(path + setupBackup)
	hadFile := err == nil
	if len(left) == 0 && !hadFile {
		if err := os.Remove(path); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.App.Writer, "removed  %s\n", path)
		return err
	}
	done, err := editFile(path, "", func(text []byte) ([]byte, error) {
		left, err := h.take(text)
		if err != nil || !hadFile {
			return left, err
		}
		if same, err := sameButFor(h, before, left); err != nil || same {
			return before, err
		}
		return left, nil
	})
	if err != nil {
		return err
	}
	if hadFile && bytes.Equal(done.after, before) {
		if err := os.Remove(path + setupBackup); err != nil {
			return err
		}
	}
	what := "written  %s\n"
	if !done.changed {
		what = "%s is as it should be\n"
	}
	_, err = fmt.Fprintf(c.App.Writer, what, done.path)
	return err
}

// sameButFor reports whether a file has not changed since but for the hook: putting the hook into
// before and taking it out again gives left.
func sameButFor(h *hook, before, left []byte) (bool, error) {
	put, err := h.put(before, "toolfold hook "+h.name)
	if err != nil {
		return false, nil // somebody has made it another script since
	}
	taken, err := h.take(put)
	return bytes.Equal(taken, left), err
}

func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// shellWord writes a word for a POSIX shell.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./=:@%+,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(filepath.ToSlash(word), "'", `'\''`) + "'"
}

// gitHook returns the script that git runs before a commit of the working tree that a folder is
// in: that of husky where it is in charge.
func gitHook(folder string) (string, error) {
	hooks, err := git.Hooks(folder)
	if err != nil {
		return "", err
	}
	if filepath.Base(hooks) == "_" && filepath.Base(filepath.Dir(hooks)) == ".husky" {
		hooks = filepath.Dir(hooks)
	}
	return filepath.Join(hooks, "pre-commit"), nil
}

// Claude Code and Codex keep hooks in JSON alike: {"hooks": {EVENT: [{"matcher": TOOLS, "hooks":
// [{"type": "command", "command": LINE}]}]}}.
const (
	eventMember = "hooks"
	afterTool   = "PostToolUse"
)

// events returns the entries of a file that are not those of toolfold's own hook.
func events(text []byte, name string) (others []json.RawMessage, own bool, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, false, nil
	}
	raw, err := jsonedit.Get(text, eventMember, afterTool)
	if err != nil || raw == nil {
		return nil, false, err
	}
	var all []json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, false, fmt.Errorf("%s.%s is no list", eventMember, afterTool)
	}
	for _, entry := range all {
		var e struct{ Hooks []struct{ Command string } }
		if json.Unmarshal(entry, &e) == nil && len(e.Hooks) == 1 && isOwnHook(e.Hooks[0].Command, name) {
			own = true
			continue
		}
		others = append(others, entry)
	}
	return others, own, nil
}

// isOwnHook reports whether a command line is one of setup's for a hook.
func isOwnHook(command, name string) bool {
	program, rest, ok := strings.Cut(command, " hook ")
	return ok && strings.Contains(filepath.Base(strings.Trim(filepath.ToSlash(program), "'")), "toolfold") &&
		(rest == name || strings.HasSuffix(rest, " "+name))
}

func putEvent(name, matcher string) func([]byte, string) ([]byte, error) {
	return func(text []byte, command string) ([]byte, error) {
		others, _, err := events(text, name)
		if err != nil {
			return nil, err
		}
		entry := ordered.MustJSON(ordered.Map{{Key: "matcher", Value: matcher}, {Key: "hooks", Value: []ordered.Map{{
			{Key: "type", Value: "command"}, {Key: "command", Value: command},
		}}}})
		if len(bytes.TrimSpace(text)) == 0 {
			text = []byte("{}\n")
		}
		return jsonedit.Set(text, ordered.MustJSON(append(others, entry)), eventMember, afterTool)
	}
}

func takeEvent(name string) func([]byte) ([]byte, error) {
	return func(text []byte) ([]byte, error) {
		others, own, err := events(text, name)
		switch {
		case err != nil || !own:
			return text, err
		case len(others) > 0:
			return jsonedit.Set(text, ordered.MustJSON(others), eventMember, afterTool)
		}
		if text, err = jsonedit.Remove(text, eventMember, afterTool); err != nil {
			return nil, err
		}
		if left, err := jsonedit.Get(text, eventMember); err != nil || string(left) != "{}" {
			return text, err
		}
		if text, err = jsonedit.Remove(text, eventMember); err != nil {
			return nil, err
		}
		var left map[string]json.RawMessage
		if json.Unmarshal(jsonedit.Plain(text), &left) == nil && len(left) == 0 && !bytes.Contains(text, []byte("//")) {
			return nil, nil
		}
		return text, nil
	}
}
