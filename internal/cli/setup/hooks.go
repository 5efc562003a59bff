package setup

import (
	"bytes"
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
	"github.com/toolfold/toolfold/internal/cli/hooks"
	"github.com/toolfold/toolfold/internal/code/git"
	"github.com/toolfold/toolfold/internal/text/shell"
)

// setupHooks prints, writes or removes a hook in the repository of the current folder. options go to
// toolfold hook.
func setupHooks(c *cli.Context, name string, options []string) error {
	h := hooks.Find(name)
	switch {
	case name == "":
		return env.UsageError("--hooks needs a program that runs the hook: one of %s", strings.Join(hooks.Names(), ", "))
	case h == nil:
		return env.UsageError("unknown hook %q: one of %s", name, strings.Join(hooks.Names(), ", "))
	case c.IsSet("for"):
		return env.UsageError("--for and --hooks exclude each other: a hook serves no list")
	}
	read := func(*cli.Context) error { return nil }
	if err := env.Of(c).Refused(hooks.Command(), read, append(slices.Clone(options), h.Name)); err != nil {
		return err
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	path, err := h.Path(folder)
	if err != nil {
		return err
	}
	if path, err = clientfile.FollowLinks(path); err != nil {
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

// callOf returns how a hook in a file runs toolfold: by the path of this binary, or by its name if
// other people share the file or the binary will not last. note warns the user about that; it may be
// empty.
func callOf(h *hooks.Hook, folder, path string, options []string) (call hooks.Call, note string, err error) {
	call.Args = append(slices.Clone(options), h.Name)
	_, inTree := git.Top(folder)
	private := h.Local || !inTree
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
		call.Binary = binary
		return call, "", nil
	case why == "" && onPath:
		return call, "", nil
	case why == "":
		why = "other people can share this file"
	}
	note = why + "; so the hook starts toolfold by its name"
	if !onPath {
		note += ", and checks nothing until it is on PATH"
	}
	return call, note, nil
}

// lastingBinary returns the path of this program, with slashes, or the reason why it will not last.
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

// showHook prints the hook's file as --write would write it.
func showHook(c *cli.Context, h *hooks.Hook, path string, call hooks.Call) error {
	text, err := clientfile.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	after, err := h.With(text, call)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if _, err := c.App.Writer.Write(after); err != nil {
		return err
	}
	fmt.Fprintf(c.App.ErrWriter, "goes into  %s, or: toolfold setup --hooks --write %s\n", path, h.Name)
	return nil
}

// writeHook puts a hook into its file. The backup holds the text without the hook, so a file with the
// hook gets no new backup.
func writeHook(c *cli.Context, h *hooks.Hook, path string, call hooks.Call) error {
	ending := clientfile.Backup
	if text, err := clientfile.Read(path); err == nil && h.Has(text) {
		ending = ""
	} else if err := clientfile.RemoveBackups(path); err != nil { // outdated backups
		return err
	}
	done, err := clientfile.Edit(path, ending, func(text []byte) ([]byte, error) { return h.With(text, call) })
	if err != nil {
		return err
	}
	if !done.Changed {
		_, err = fmt.Fprintf(c.App.Writer, "%s is as it should be\n", done.Path)
		return err
	}
	next := h.Next
	if !h.Event {
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

// runByGit makes a new script executable. An existing script keeps its mode, because its user may have
// disabled it; the returned next steps then mention that.
func runByGit(done clientfile.EditResult, next string) (string, error) {
	if done.IsNew {
		return next, os.Chmod(done.Path, 0o755) //nolint:gosec // git runs it
	}
	info, err := os.Stat(done.Path)
	isHusky := filepath.Base(filepath.Dir(done.Path)) == ".husky" // husky runs its scripts with sh
	if err == nil && !isHusky && runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
		next = "git does not run this file until it is executable: chmod +x " + shell.Word(done.Path) + "; then " + next
	}
	return next, err
}

// undoHook removes a hook from its file. If nothing else has changed since setup wrote it, the former
// file is restored, or removed if there was none.
func undoHook(c *cli.Context, h *hooks.Hook, path string) error {
	before, backup, err := clientfile.ReadBackup(path)
	if err != nil {
		return err
	}
	hadFile := backup != ""
	if hadFile && h.Has(before) { // older versions backed up their own output
		if before, err = h.Take(before); err != nil {
			return fmt.Errorf("%s: %w", backup, err)
		}
		hadFile = string(before) != h.Skeleton
	}
	done, err := clientfile.Edit(path, "", func(text []byte) ([]byte, error) {
		left, err := h.Take(text)
		if err == nil && hadFile && !bytes.Equal(left, text) && h.OnlyHook(before, left) {
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
	if !hadFile && string(done.After) == h.Skeleton {
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
