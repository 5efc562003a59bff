package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/clientfile"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/code/git"
	"github.com/toolfold/toolfold/internal/text/jsonedit"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shell"
)

// setupHooks prints, writes or takes out the hook that a name stands for, in the repository
// that the current folder is in. Options go to toolfold hook.
func setupHooks(c *cli.Context, name string, options []string) error {
	h := findHook(name)
	switch {
	case name == "":
		return env.UsageError("--hooks needs what runs the hook: one of %s", strings.Join(hookNames(), ", "))
	case h == nil:
		return env.UsageError("unknown hook %q: one of %s", name, strings.Join(hookNames(), ", "))
	case c.IsSet("for"):
		return env.UsageError("--for and --hooks exclude each other: a hook serves no list")
	}
	if err := env.Of(c).Refused(hookCommand(), func(*cli.Context) error { return nil }, append(slices.Clone(options), h.name)); err != nil {
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
	if path, err = clientfile.Followed(path); err != nil {
		return err
	}
	if c.Bool("undo") {
		return undoHook(c, h, path)
	}
	call, note, err := callOf(h, folder, path, options)
	if err != nil {
		return err
	}
	if c.Bool("write") {
		err = writeHook(c, h, path, call)
	} else {
		err = showHook(c, h, path, call)
	}
	if err == nil && note != "" {
		fmt.Fprintf(c.App.ErrWriter, "note  %s\n", note)
	}
	return err
}

// callOf returns how a hook in a file runs toolfold: by the path of this binary, or by the name
// alone if others share the file or the binary will not last. The note, which can be empty, is
// what the user has to know of that.
func callOf(h *hook, folder, path string, options []string) (call hookCall, note string, err error) {
	call.args = append(slices.Clone(options), h.name)
	_, inTree := git.Top(folder)
	private := h.local || !inTree
	if !private {
		if private, err = git.Private(folder, path); err != nil {
			return call, "", err
		}
	}
	binary, why := lastingBinary()
	_, err = exec.LookPath("toolfold")
	onPath := err == nil
	switch {
	case why == "" && private:
		call.binary = binary
		return call, "", nil
	case why == "" && onPath:
		return call, "", nil
	case why == "":
		why = "others can share this file"
	}
	note = why + "; so the hook starts toolfold by its name"
	if !onPath {
		note += ", and checks nothing until it is on PATH"
	}
	return call, note, nil
}

// lastingBinary returns the path of this program, with slashes, or why none will last.
func lastingBinary() (path, why string) {
	binary, err := clientfile.Binary()
	if err != nil {
		return "", err.Error()
	}
	if temporary, err := filepath.EvalSymlinks(os.TempDir()); err == nil {
		real, err := filepath.EvalSymlinks(binary)
		if err != nil {
			return "", err.Error()
		}
		if below, err := filepath.Rel(temporary, real); err == nil && filepath.IsLocal(below) {
			return "", "this toolfold is in the folder of temporary files, " + temporary
		}
	}
	return filepath.ToSlash(binary), ""
}

// showHook prints the hook's file as --write would make it.
func showHook(c *cli.Context, h *hook, path string, call hookCall) error {
	text, err := clientfile.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	after, err := h.with(text, call)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if _, err := c.App.Writer.Write(after); err != nil {
		return err
	}
	fmt.Fprintf(c.App.ErrWriter, "goes into  %s, or: toolfold setup --hooks --write %s\n", path, h.name)
	return nil
}

// writeHook puts a hook into its file. The backup is of the text without the hook, so a file that
// has it gets no other.
func writeHook(c *cli.Context, h *hook, path string, call hookCall) error {
	ending := clientfile.Backup
	if text, err := clientfile.Read(path); err == nil && h.has(text) {
		ending = ""
	} else if err := clientfile.RemoveBackups(path); err != nil { // which are of another time
		return err
	}
	done, err := clientfile.Edit(path, ending, func(text []byte) ([]byte, error) { return h.with(text, call) })
	if err != nil {
		return err
	}
	if !done.Changed {
		_, err = fmt.Fprintf(c.App.Writer, "%s is as it should be\n", done.Path)
		return err
	}
	next := h.next
	if !h.event {
		if next, err = runByGit(done, next); err != nil {
			return err
		}
	}
	if done.Backup != "" {
		fmt.Fprintf(c.App.Writer, "backup   %s\n", done.Backup)
	}
	if _, err = fmt.Fprintf(c.App.Writer, "written  %s\n", done.Path); err == nil {
		fmt.Fprintf(c.App.ErrWriter, "next  %s\n", next)
	}
	return err
}

// runByGit makes a new script executable. The mode of one that was there stays, as its user may
// have switched it off by that: next, what is left to do, begins with it then.
func runByGit(done clientfile.Edited, next string) (string, error) {
	if done.IsNew {
		return next, os.Chmod(done.Path, 0o755) //nolint:gosec // git runs it
	}
	info, err := os.Stat(done.Path)
	isHusky := filepath.Base(filepath.Dir(done.Path)) == ".husky" // which runs it by sh
	if err == nil && !isHusky && runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
		next = "git does not run this file until it is executable: chmod +x " + shell.Word(done.Path) + "; then " + next
	}
	return next, err
}

// undoHook takes a hook out of its file. A file in which nothing else has changed since setup wrote
// to it is as it was then, or gone if there was none.
func undoHook(c *cli.Context, h *hook, path string) error {
	before, backup, err := clientfile.ReadBackup(path)
	if err != nil {
		return err
	}
	hadFile := backup != ""
	if hadFile && h.has(before) { // older versions backed up what they had written
		if before, err = h.take(before); err != nil {
			return fmt.Errorf("%s: %w", backup, err)
		}
		hadFile = string(before) != h.skeleton
	}
	done, err := clientfile.Edit(path, "", func(text []byte) ([]byte, error) {
		left, err := h.take(text)
		if err == nil && hadFile && !bytes.Equal(left, text) && h.onlyHook(before, left) {
			return before, nil
		}
		return left, err
	})
	if err != nil {
		return err
	}
	if !done.Changed {
		_, err = fmt.Fprintf(c.App.Writer, "%s is as it should be\n", done.Path)
		return err
	}
	what := "written "
	if !hadFile && string(done.After) == h.skeleton {
		what = "removed "
		if err := os.Remove(done.Path); err != nil {
			return err
		}
	}
	if err := clientfile.RemoveBackups(path); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s %s\n", what, done.Path)
	return err
}

// onlyHook reports whether the hook is all that has changed in a file: putting it into the text
// before and taking it out again gives the text that is left.
func (h *hook) onlyHook(before, left []byte) bool {
	put, err := h.with(before, hookCall{args: []string{h.name}})
	if err != nil {
		return false // somebody has made it another script since
	}
	taken, err := h.take(put)
	return err == nil && bytes.Equal(taken, left)
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

// ownEvents returns the entries for the tools of a client, and which of them are setup's, by index.
func ownEvents(text []byte, name string) (entries []json.RawMessage, own []int, err error) {
	raw, err := jsonedit.Get(text, eventMember, afterTool)
	if err != nil || raw == nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil, nil, fmt.Errorf("%s.%s is no list", eventMember, afterTool)
	}
	for i, entry := range entries {
		var e struct{ Hooks []struct{ Command string } }
		if json.Unmarshal(entry, &e) == nil && len(e.Hooks) == 1 && isOwnHook(e.Hooks[0].Command, name) {
			own = append(own, i)
		}
	}
	return entries, own, nil
}

// isOwnHook reports whether a command line is one of setup's for a hook.
func isOwnHook(command, name string) bool {
	program, rest, ok := strings.Cut(command, " hook ")
	return ok && strings.Contains(filepath.Base(strings.Trim(filepath.ToSlash(program), "'")), "toolfold") &&
		(rest == name || strings.HasSuffix(rest, " "+name))
}

func putEvent(name, matcher string) func([]byte, hookCall) ([]byte, error) {
	return func(text []byte, call hookCall) ([]byte, error) {
		entry := ordered.MustJSON(ordered.Map{{Key: "matcher", Value: matcher}, {Key: "hooks", Value: []ordered.Map{{
			{Key: "type", Value: "command"}, {Key: "command", Value: call.line(cmp.Or(call.binary, "toolfold"))},
		}}}})
		entries, own, err := ownEvents(text, name)
		if err != nil {
			return nil, err
		}
		if len(own) == 1 {
			var now bytes.Buffer
			if json.Compact(&now, entries[own[0]]) == nil && bytes.Equal(now.Bytes(), entry) {
				return text, nil
			}
		}
		for _, i := range slices.Backward(own) {
			if text, err = jsonedit.Drop(text, i, eventMember, afterTool); err != nil {
				return nil, err
			}
		}
		return jsonedit.Append(text, entry, eventMember, afterTool)
	}
}

// takeEvent takes the entries of setup out, and the list and the member that have nothing else.
func takeEvent(name string) func([]byte) ([]byte, error) {
	return func(text []byte) ([]byte, error) {
		if len(bytes.TrimSpace(text)) == 0 {
			return text, nil
		}
		entries, own, err := ownEvents(text, name)
		if err != nil || len(own) == 0 {
			return text, err
		}
		for _, i := range slices.Backward(own) {
			if text, err = jsonedit.Drop(text, i, eventMember, afterTool); err != nil {
				return nil, err
			}
		}
		if len(own) < len(entries) {
			return text, nil
		}
		if text, err = jsonedit.Remove(text, eventMember, afterTool); err != nil {
			return nil, err
		}
		if left, err := jsonedit.Get(text, eventMember); err != nil || string(left) != "{}" {
			return text, err
		}
		return jsonedit.Remove(text, eventMember)
	}
}
