package hooks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/code/git"
	"github.com/toolfold/toolfold/internal/text/jsonedit"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// gitHook returns the path of git's pre-commit script for the working tree of a folder, or of husky's
// if that is in use.
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

// Claude Code and Codex store hooks in the same JSON form: {"hooks": {EVENT: [{"matcher": TOOLS,
// "hooks": [{"type": "command", "command": LINE}]}]}}.
const (
	eventMember = "hooks"
	afterTool   = "PostToolUse"
)

// ownEvents returns the client's entries after tool use, and the indexes of setup's entries.
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

// isOwnHook reports whether a command line is setup's for this hook.
func isOwnHook(command, name string) bool {
	program, rest, ok := strings.Cut(command, " hook ")
	return ok && strings.Contains(filepath.Base(strings.Trim(filepath.ToSlash(program), "'")), "toolfold") &&
		(rest == name || strings.HasSuffix(rest, " "+name))
}

func putEvent(name, matcher string) func([]byte, Call) ([]byte, error) {
	return func(text []byte, call Call) ([]byte, error) {
		entry := ordered.MustJSON(ordered.Map{{Key: "matcher", Value: matcher}, {Key: "hooks", Value: []ordered.Map{{
			{Key: "type", Value: "command"}, {Key: "command", Value: call.line(cmp.Or(call.Binary, "toolfold"))},
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

// takeEvent removes setup's entries, and the list and the member if they are then empty.
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
