package machine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/hooks"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/internal/code/git"
	"github.com/toolfold/toolfold/internal/code/policy"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/guard"
)

// maxEvent limits a client's input for its hook, in bytes. An edit contains whole files.
const maxEvent = 64 << 20

// exitBlocked is the exit code with which Claude Code and Codex show the standard error of a hook
// to the model.
const exitBlocked = 2

// HookCommand returns the command hook.
func HookCommand() *cli.Command {
	command := hooks.Command()
	command.Action = hookAction
	return command
}

func hookAction(c *cli.Context) error {
	h, failOn := hooks.Find(c.Args().First()), c.String("fail-on")
	switch {
	case c.NArg() != 1 || h == nil:
		return env.UsageError("hook takes one of %s", strings.Join(hooks.Names(), ", "))
	case failOn != "fail" && failOn != "warn":
		return env.UsageError("--fail-on must be fail or warn, got %q", failOn)
	}
	args := ordered.Map{{Key: "policyId", Value: c.String("policy")}, {Key: "since", Value: git.Staged}}
	stop := env.ExitFailed
	if h.Event {
		folder, edited, err := editedFiles(os.Stdin)
		if err != nil {
			return err
		}
		if len(edited) == 0 {
			fmt.Fprintln(c.App.ErrWriter, "toolfold: the client's input names no written file: nothing is judged")
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
		if _, ok := git.Top(workspace); ok { // otherwise the whole files are checked
			args.Set("since", git.Uncommitted)
		}
		stop = exitBlocked
	}
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	if _, err := storage.DefaultURL(); err != nil && o.Store == "" {
		o.Store = "memory:" // git can run without HOME, and a check does not need stored data
	}
	o.Tier = toolfold.Extended.String() // checks do not depend on the tier of clients
	b, err := workbench.New(o, nil)
	if err != nil {
		return err
	}
	defer b.Close()
	ctx, done := env.UntilSignal(c, env.StopGrace)
	defer done()
	answer := b.Runner.Call(callctx.With(ctx, toolfold.Origin{Client: "the " + h.Name + " hook"}), "guard.check", ordered.MustJSON(args))
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
	if h.Event { // Codex shows this instead of its tool's result
		text = "the edit is written; mend it. " + text
	}
	if check.Status != policy.Fail && failOn != "warn" {
		fmt.Fprintln(c.App.ErrWriter, "toolfold:", text)
		return nil
	}
	return cli.Exit(text, stop)
}

// judgement describes the failures of the gates that do not pass, with suggestions.
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

// editedFiles reads a client's input about a call of its editing tool. It returns the client's
// working folder and the written files: file_path or notebook_path of Claude Code's tools, and the
// headers of Codex's patches. There are no files if the call wrote no files.
func editedFiles(from io.Reader) (folder string, files []string, err error) {
	raw, err := io.ReadAll(io.LimitReader(from, maxEvent+1))
	if err != nil {
		return "", nil, fmt.Errorf("reading standard input: %w", err)
	}
	if len(raw) > maxEvent {
		return "", nil, fmt.Errorf("standard input has more than %d bytes: the edit is not judged", maxEvent)
	}
	var event struct {
		Cwd   string          `json:"cwd"`
		Input json.RawMessage `json:"tool_input"`
	}
	if err := json.Unmarshal(raw, &event); err != nil {
		return "", nil, fmt.Errorf("standard input is not a client's input for hooks: %w", err)
	}
	var input struct {
		FilePath     string          `json:"file_path"`
		NotebookPath string          `json:"notebook_path"`
		Command      json.RawMessage `json:"command"` // a string, or the words of a command
		Patch        string          `json:"patch"`
	}
	if len(event.Input) > 0 && event.Input[0] == '{' {
		if err := json.Unmarshal(event.Input, &input); err != nil {
			return "", nil, fmt.Errorf("tool_input does not belong to an editing tool: %w", err)
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
