package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/internal/code/git"
	"github.com/toolfold/toolfold/internal/code/policy"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shell"
	"github.com/toolfold/toolfold/tools/guard"
)

// maxEvent bounds what a client tells its hook, in bytes: an edit has whole files.
const maxEvent = 64 << 20

// exitBlocked tells Claude Code and Codex to show the model what a hook wrote to standard error.
const exitBlocked = 2

func hookCommand() *cli.Command {
	return &cli.Command{
		Name:      "hook",
		Usage:     "judge a commit or an edit; git and clients run it, see setup --hooks",
		ArgsUsage: strings.Join(hookNames(), "|"),
		Description: "For git it runs guard.check on what is staged, and exits with 1 where the commit must not be.\n" +
			"For a client it reads what was edited from standard input, checks the lines that are not\n" +
			"committed, and exits with 2 where the model has to mend them.",
		BashComplete: func(c *cli.Context) { fmt.Fprintln(c.App.Writer, strings.Join(hookNames(), "\n")) },
		Flags: append(settings.Flags(),
			&cli.StringFlag{Name: "policy", Usage: "what guard.check holds changes to: a built-in policy or one in " + policy.Folder,
				Value: policy.Commit},
			&cli.StringFlag{Name: "fail-on", Usage: "fail or warn: the status that stops", Value: "fail"}),
		Action: hookAction,
	}
}

func hookAction(c *cli.Context) error {
	h, failOn := findHook(c.Args().First()), c.String("fail-on")
	switch {
	case c.NArg() != 1 || h == nil:
		return env.UsageError("hook takes one of %s", strings.Join(hookNames(), ", "))
	case failOn != "fail" && failOn != "warn":
		return env.UsageError("--fail-on must be fail or warn, got %q", failOn)
	}
	args := ordered.Map{{Key: "policyId", Value: c.String("policy")}, {Key: "since", Value: git.Staged}}
	stop := env.ExitFailed
	if h.event {
		folder, edited, err := editedFiles(os.Stdin)
		if err != nil {
			return err
		}
		if len(edited) == 0 {
			fmt.Fprintln(c.App.ErrWriter, "toolfold: what the client told names no file that was written: nothing is judged")
			return nil
		}
		if folder != "" && !c.IsSet(settings.WorkspaceFlag) {
			top, _ := git.Top(folder)
			if err := c.Set(settings.WorkspaceFlag, top); err != nil {
				return err
			}
		}
		args = ordered.Map{args[0], {Key: "changedPaths", Value: edited}}
		workspace, err := filepath.Abs(c.String(settings.WorkspaceFlag))
		if err != nil {
			return err
		}
		if _, ok := git.Top(workspace); ok { // else all of the files is judged
			args.Set("since", git.Uncommitted)
		}
		stop = exitBlocked
	}
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	if _, err := storage.DefaultURL(); err != nil && o.Store == "" {
		o.Store = "memory:" // git can run without HOME, and a check needs nothing that is stored
	}
	b, err := workbench.New(o, nil)
	if err != nil {
		return err
	}
	defer b.Close()
	ctx, done := env.UntilSignal(c, env.StopGrace)
	defer done()
	answer := b.Runner.Call(callctx.With(ctx, toolfold.Origin{Client: "the " + h.name + " hook"}), "guard.check", ordered.MustJSON(args))
	if answer.Err != nil {
		return fmt.Errorf("guard.check: %s; %s", answer.Err.Message, cmp.Or(answer.Err.Hint, "nothing was judged"))
	}
	var check guard.CheckOut
	if err := json.Unmarshal(answer.Content, &check); err != nil {
		return fmt.Errorf("reading the check: %w", err)
	}
	if check.Status == policy.Pass {
		return nil
	}
	text := judgement(check)
	if h.event { // Codex shows this in place of the answer of its tool
		text = "the edit is written; mend it. " + text
	}
	if check.Status != policy.Fail && failOn != "warn" {
		fmt.Fprintln(c.App.ErrWriter, "toolfold:", text)
		return nil
	}
	return cli.Exit(text, stop)
}

// judgement says what the gates that do not pass found, and what to do.
func judgement(check guard.CheckOut) string {
	text := fmt.Sprintf("guard.check of policy %s: %s", check.PolicyID, check.Summary)
	for _, gate := range check.Gates {
		if gate.Status == policy.Pass {
			continue
		}
		text += fmt.Sprintf("\n%s %s: %s", gate.Gate, gate.Status, gate.Message)
		for _, offence := range gate.Paths {
			text += fmt.Sprintf("\n  %s: %s", offence.Path, offence.Reason)
		}
		if gate.Suggestion != "" {
			text += "\n  " + gate.Suggestion
		}
	}
	return text
}

// editedFiles reads what a client tells of a call of its editing tool: the folder that it works
// in, and the files that it wrote, by the file_path of Claude Code's tools, and the headers of
// the patch of Codex's. There are none where the call wrote none.
func editedFiles(from io.Reader) (folder string, files []string, err error) {
	raw, err := io.ReadAll(io.LimitReader(from, maxEvent+1))
	if err != nil {
		return "", nil, fmt.Errorf("reading standard input: %w", err)
	}
	if len(raw) > maxEvent {
		return "", nil, fmt.Errorf("what is on standard input has more than %d bytes: the edit is not judged", maxEvent)
	}
	var event struct {
		Cwd   string          `json:"cwd"`
		Input json.RawMessage `json:"tool_input"`
	}
	if err := json.Unmarshal(raw, &event); err != nil {
		return "", nil, fmt.Errorf("standard input is not what a client tells its hooks: %w", err)
	}
	var input struct {
		FilePath     string          `json:"file_path"`
		NotebookPath string          `json:"notebook_path"`
		Command      json.RawMessage `json:"command"` // a text, or the words of a command
		Patch        string          `json:"patch"`
	}
	if len(event.Input) > 0 && event.Input[0] == '{' {
		if err := json.Unmarshal(event.Input, &input); err != nil {
			return "", nil, fmt.Errorf("tool_input is none of an editing tool: %w", err)
		}
	}
	for _, path := range []string{input.FilePath, input.NotebookPath} {
		if path != "" {
			files = append(files, path)
		}
	}
	texts := []string{input.Patch}
	var text string
	var words []string
	switch {
	case json.Unmarshal(input.Command, &text) == nil:
		texts = append(texts, text)
	case json.Unmarshal(input.Command, &words) == nil:
		texts = append(texts, words...)
	}
	for _, patch := range texts {
		if !strings.Contains(patch, "*** Begin Patch") {
			continue
		}
		for line := range strings.Lines(patch) {
			for _, header := range []string{"*** Add File: ", "*** Update File: ", "*** Move to: "} {
				if name, ok := strings.CutPrefix(strings.TrimSpace(line), header); ok {
					files = append(files, name)
				}
			}
		}
	}
	for i, name := range files {
		if !filepath.IsAbs(name) && event.Cwd != "" {
			files[i] = filepath.Join(event.Cwd, name)
		}
	}
	return event.Cwd, files, nil
}

// hook is something that runs toolfold hook.
type hook struct {
	name  string
	event bool // it tells what was edited on standard input

	local bool // its program keeps the file out of commits

	// path returns the file below a folder that holds the hook, or why there is none.
	path func(folder string) (string, error)

	// skeleton is the text of a file that has nothing in it. Put returns a text with the hook, in
	// place of the one that it had, and take returns a text without it: byte by byte as it was.
	skeleton string
	put      func(text []byte, call hookCall) ([]byte, error)
	take     func(text []byte) ([]byte, error)

	next string // what is left to do
}

// hookCall is a call of toolfold hook by a hook.
type hookCall struct {
	binary string   // an absolute path; empty = the toolfold on PATH
	args   []string // options and the name of the hook
}

// line returns the command line by which a POSIX shell runs the call with a program.
func (c hookCall) line(program string) string {
	line := shell.Word(program) + " hook"
	for _, arg := range c.args {
		line += " " + shell.Word(arg)
	}
	return line
}

// with returns a text of the hook's file, which can be empty, with the hook.
func (h *hook) with(text []byte, call hookCall) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte(h.skeleton)
	}
	return h.put(text, call)
}

// has reports whether a text of the hook's file has the hook.
func (h *hook) has(text []byte) bool {
	left, err := h.take(text)
	return err != nil || !bytes.Equal(left, text)
}

// knownHooks returns the table of hooks; it is made when it is used, so that a start pays for none.
func knownHooks() []hook {
	return []hook{{
		name: "git", path: gitHook, skeleton: "#!/bin/sh\n", put: putGitHook, take: takeGitHook,
		next: "a commit that must not be is refused with the reason; git commit --no-verify passes the hook by",
	}, {
		name: "claude-code", event: true, local: true, path: below(".claude", "settings.local.json"),
		skeleton: "{}\n", put: putEvent("claude-code", "Edit|Write|MultiEdit|NotebookEdit"), take: takeEvent("claude-code"),
		next: "start Claude Code again; /hooks shows it",
	}, {
		name: "codex", event: true, path: below(".codex", "hooks.json"),
		skeleton: "{}\n", put: putEvent("codex", "apply_patch|Edit|Write"), take: takeEvent("codex"),
		next: "start Codex in this folder, let it trust the folder, and approve the hook with /hooks; until then, and where setup " +
			"changes the hook later, Codex runs without it, and codex exec says nothing of it",
	}}
}

func hookNames() []string {
	var names []string
	for _, h := range knownHooks() {
		names = append(names, h.name)
	}
	return names
}

// findHook returns the hook of a name; nil for none.
func findHook(name string) *hook {
	for _, h := range knownHooks() {
		if h.name == name || name == "claude" && h.name == "claude-code" {
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

// The lines around what setup puts into a script of somebody else's.
const (
	hookBegins = "# toolfold: what is staged is judged; toolfold setup --hooks --undo git takes this out\n"
	hookEnds   = "# toolfold: end\n"
)

// shells are the interpreters whose scripts take the lines of the hook.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh"}

// gitHookLines returns the lines that judge a commit. Where toolfold is not installed, as with
// others who share the script, they let the commit pass.
func gitHookLines(call hookCall) string {
	condition := "if "
	lines := hookBegins
	if call.binary != "" {
		lines += "if [ -x " + shell.Word(call.binary) + " ]; then\n  " + call.line(call.binary) + " || exit 1\n"
		condition = "elif "
	}
	return lines + condition + "command -v toolfold >/dev/null 2>&1; then\n  " + call.line("toolfold") + " || exit 1\n" +
		"else\n  echo \"toolfold is not here: this commit was not checked; install it, or take its lines out of $0\" >&2\nfi\n" + hookEnds
}

// putGitHook puts the hook behind the first line of a script, before what may end it.
func putGitHook(text []byte, call hookCall) ([]byte, error) {
	had, err := takeGitHook(text)
	if err != nil {
		return nil, err
	}
	lines := []byte(gitHookLines(call))
	first, rest, _ := bytes.Cut(had, []byte("\n"))
	if !bytes.HasPrefix(first, []byte("#!")) { // as husky has them, which runs them with sh
		return slices.Concat(lines, had), nil
	}
	words := strings.Fields(string(first[2:]))
	if len(words) > 0 && filepath.Base(words[0]) == "env" {
		words = words[1:]
	}
	if len(words) > 0 && slices.Contains(shells, filepath.Base(words[0])) {
		return slices.Concat(first, []byte("\n"), lines, rest), nil
	}
	return nil, fmt.Errorf("it is a script of %s, which setup does not edit: have it run %s, and end with 1 where that does",
		bytes.TrimSpace(first[2:]), call.line(cmp.Or(call.binary, "toolfold")))
}

// takeGitHook takes the lines of the hook out of a script, wherever they stand.
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
