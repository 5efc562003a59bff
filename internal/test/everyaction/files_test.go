package everyaction_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/guard"
)

// filesOf returns the texts of the files in a workspace, by path.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		texts[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// writing returns the example of an action, with the argument that makes it write a file if it has
// one.
func writing(t *testing.T, a *toolfold.Action) json.RawMessage {
	t.Helper()
	args := map[string]any{}
	if err := json.Unmarshal([]byte(a.Example), &args); err != nil {
		t.Fatal(err)
	}
	for _, p := range a.Params() {
		switch p.Name {
		case "outputPath":
			args[p.Name] = "docs/written.txt"
		case "dryRun":
			args[p.Name] = false
		case "autoApply":
			args[p.Name] = true
		case "scope":
			if slices.Contains(p.Enum, "local") {
				args[p.Name] = "local"
			}
		}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// nothing is a policy that forbids all writes.
const nothing = "gates: [path_violation]\nforbiddenPaths: [\"**\"]\n"

// Actions that write files declare them, and do not write in a session whose policy forbids it.
func TestActionsThatWriteFiles(t *testing.T) {
	t.Parallel()
	written := 0
	for _, spec := range workbench.New(t, surface.Options{}).Families() {
		for i, a := range spec.Actions {
			if a.Effect == toolfold.Reads || a.Forwards() || len(a.Family.Actions) == 0 {
				continue
			}
			args := writing(t, a)
			if !a.WritesFiles() && string(args) == a.Example {
				continue
			}
			fresh := func(t *testing.T) *workbench.Bench {
				b := workbench.New(t, surface.Options{})
				if err := os.MkdirAll(b.Workspace+"/.toolfold/policies", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(b.Workspace+"/.toolfold/policies/nothing.yaml", []byte(nothing), 0o644); err != nil {
					t.Fatal(err)
				}
				for _, before := range worldOf(t, spec, i).before {
					b.Call(entry.Select(before), entry.Select(before).Example())
				}
				return b
			}
			b := fresh(t)
			had := filesOf(t, b.Workspace)
			answer := b.Runner.Call(t.Context(), a.FullName(), args)
			var changed []string
			for name, text := range filesOf(t, b.Workspace) {
				if had[name] != text && !strings.HasPrefix(name, ".toolfold/backups/") {
					changed = append(changed, name)
				}
			}
			if (len(changed) > 0) != a.WritesFiles() {
				t.Errorf("%s changes %v, but WritesFiles is %v: %s", a.FullName(), changed, a.WritesFiles(), answer.Content)
			}
			if !a.WritesFiles() {
				continue
			}
			written++
			b = fresh(t)
			if out := b.Runner.Call(t.Context(), "guard.apply",
				json.RawMessage(`{"sessionId":"`+workbench.Session+`","policyId":"nothing"}`)); out.Err != nil {
				t.Fatal(out.Err)
			}
			had = filesOf(t, b.Workspace)
			answer = b.Runner.Call(work.InSessions(t.Context(), workbench.Session), a.FullName(), args)
			if answer.Err == nil || answer.Err.Code != guard.Violation || len(answer.Content) > 640 ||
				!strings.Contains(answer.Err.Message, "policy nothing of session "+workbench.Session) {
				t.Errorf("%s in a session that may write nothing: %s", a.FullName(), answer.Content)
			}
			if now := filesOf(t, b.Workspace); !maps.Equal(had, now) {
				t.Errorf("%s changed files though it was refused", a.FullName())
			}
		}
	}
	if written < 7 {
		t.Errorf("only %d actions write files", written)
	}
}
