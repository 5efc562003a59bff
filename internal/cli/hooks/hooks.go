// Package hooks edits the files that run toolfold hook: the script of git and the hooks of clients.
package hooks

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/code/git"
	"github.com/toolfold/toolfold/internal/code/policy"
	"github.com/toolfold/toolfold/internal/text/shell"
)

// Command returns the command hook without its action: setup writes its options into the files.
func Command() *cli.Command {
	return &cli.Command{
		Name:      "hook",
		Usage:     "judge a commit or an edit; git and clients run it, see setup --hooks",
		ArgsUsage: strings.Join(Names(), "|"),
		Description: "For git it runs guard.check on the staged lines, and exits with 1 if the commit is refused.\n" +
			"For a client it reads the edit from standard input, checks the lines that are not\n" +
			"committed, and exits with 2 if the model has to correct them.",
		BashComplete: func(c *cli.Context) { fmt.Fprintln(c.App.Writer, strings.Join(Names(), "\n")) },
		Flags: append(settings.Flags(),
			&cli.StringFlag{Name: "policy", Usage: "policy for guard.check: a built-in policy or one in " + policy.Folder,
				Value: policy.Commit},
			&cli.StringFlag{Name: "fail-on", Usage: "fail or warn: the status that stops", Value: "fail"}),
	}
}

// Hook is a program that runs toolfold hook.
type Hook struct {
	Name  string
	Event bool // it sends the edit on standard input

	Local bool // its program keeps the file out of commits

	// Path returns the path of the hook's file for a folder, or the reason why the folder has no such file.
	Path func(folder string) (string, error)

	// Skeleton is the text of an empty file. put returns a text with the hook, in place of a former
	// one. Take returns a text without the hook; the rest stays byte for byte.
	Skeleton string
	put      func(text []byte, call Call) ([]byte, error)
	Take     func(text []byte) ([]byte, error)

	Next string // remaining steps for the user
}

// Call is a call of toolfold hook by a hook.
type Call struct {
	Binary string   // an absolute path; empty = the toolfold on PATH
	Args   []string // options and the name of the hook
}

// line returns the POSIX shell command for the call.
func (c Call) line(program string) string {
	line := shell.Word(program) + " hook"
	for _, arg := range c.Args {
		line += " " + shell.Word(arg)
	}
	return line
}

// With returns the text of the hook's file, which may be empty, with the hook added.
func (h *Hook) With(text []byte, call Call) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte(h.Skeleton)
	}
	return h.put(text, call)
}

// Has reports whether a text of the hook's file has the hook.
func (h *Hook) Has(text []byte) bool {
	left, err := h.Take(text)
	return err != nil || !bytes.Equal(left, text)
}

// OnlyHook reports whether a file has changed only by the hook: adding the hook to before and removing
// it again gives left.
func (h *Hook) OnlyHook(before, left []byte) bool {
	put, err := h.With(before, Call{Args: []string{h.Name}})
	if err != nil {
		return false // it is another script now
	}
	taken, err := h.Take(put)
	return err == nil && bytes.Equal(taken, left)
}

// All returns the table of hooks. It is built on use, so that it costs nothing at start.
func All() []Hook {
	return []Hook{{
		Name: "git", Path: gitHook, Skeleton: "#!/bin/sh\n", put: putGitHook, Take: takeGitHook,
		Next: "a commit that must not be is refused with the reason; git commit --no-verify passes the hook by",
	}, {
		Name: "claude-code", Event: true, Local: true, Path: below(".claude", "settings.local.json"),
		Skeleton: "{}\n", put: putEvent("claude-code", "Edit|Write|MultiEdit|NotebookEdit"), Take: takeEvent("claude-code"),
		Next: "start Claude Code again; /hooks shows it",
	}, {
		Name: "codex", Event: true, Path: below(".codex", "hooks.json"),
		Skeleton: "{}\n", put: putEvent("codex", "apply_patch|Edit|Write"), Take: takeEvent("codex"),
		Next: "start Codex in this folder, let it trust the folder, and approve the hook with /hooks; until then, and if setup " +
			"changes the hook later, Codex runs without it, and codex exec does not report it",
	}}
}

// Names returns the names of the hooks.
func Names() []string {
	var names []string
	for _, h := range All() {
		names = append(names, h.Name)
	}
	return names
}

// Find returns the hook with that name; nil if there is no such hook.
func Find(name string) *Hook {
	for _, h := range All() {
		if h.Name == name || name == "claude" && h.Name == "claude-code" {
			return &h
		}
	}
	return nil
}

func below(names ...string) func(string) (string, error) {
	return func(folder string) (string, error) {
		top, _ := git.Top(folder)
		return filepath.Join(append([]string{top}, names...)...), nil
	}
}

// The lines around the part of a script that setup owns.
const (
	hookBegins = "# toolfold: what is staged is judged; toolfold setup --hooks --undo git takes this out\n"
	hookEnds   = "# toolfold: end\n"
)

// shells are the interpreters whose scripts accept the lines of the hook.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh"}

// gitHookLines returns the lines that check a commit. If toolfold is not installed, as for other users
// of the script, they let the commit pass.
func gitHookLines(call Call) string {
	condition := "if "
	lines := hookBegins
	if call.Binary != "" {
		lines += "if [ -x " + shell.Word(call.Binary) + " ]; then\n  " + call.line(call.Binary) + " || exit 1\n"
		condition = "elif "
	}
	return lines + condition + "command -v toolfold >/dev/null 2>&1; then\n  " + call.line("toolfold") + " || exit 1\n" +
		"else\n  echo \"toolfold is not here: this commit was not checked; install it, or take its lines out of $0\" >&2\nfi\n" + hookEnds
}

// putGitHook puts the hook after the first line of a script, before anything that may end it.
func putGitHook(text []byte, call Call) ([]byte, error) {
	had, err := takeGitHook(text)
	if err != nil {
		return nil, err
	}
	lines := []byte(gitHookLines(call))
	first, rest, _ := bytes.Cut(had, []byte("\n"))
	if !bytes.HasPrefix(first, []byte("#!")) { // husky's scripts, which it runs with sh
		return slices.Concat(lines, had), nil
	}
	words := strings.Fields(string(first[2:]))
	if len(words) > 0 && filepath.Base(words[0]) == "env" {
		words = words[1:]
	}
	if len(words) > 0 && slices.Contains(shells, filepath.Base(words[0])) {
		return slices.Concat(first, []byte("\n"), lines, rest), nil
	}
	return nil, fmt.Errorf("it is a script of %s, which setup does not edit: have it run %s, and end with 1 if that does",
		bytes.TrimSpace(first[2:]), call.line(cmp.Or(call.Binary, "toolfold")))
}

// takeGitHook removes the lines of the hook from a script, wherever they are.
func takeGitHook(text []byte) ([]byte, error) {
	for {
		before, after, has := bytes.Cut(text, []byte(hookBegins))
		if !has {
			return text, nil
		}
		if _, after, has = bytes.Cut(after, []byte(hookEnds)); !has {
			return nil, fmt.Errorf("the line %q is missing: take the hook out by hand", strings.TrimSpace(hookEnds))
		}
		text = slices.Concat(before, after)
	}
}
