package everyaction_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// The hints are true: a read-only action changes nothing that can be read, and a second call of an
// idempotent action changes nothing. If a second call of another action changes nothing, its hint
// is too weak.
func TestHintsAreTrue(t *testing.T) {
	t.Parallel()
	for _, spec := range workbench.New(t, surface.Options{}).Families() {
		for i, a := range spec.Actions {
			if a.Forwards() {
				continue // it forwards to another action
			}
			t.Run(a.FullName(), func(t *testing.T) {
				t.Parallel()
				w := worldOf(t, spec, i)
				b := workbench.New(t, surface.Options{})
				for _, before := range w.before {
					b.Call(entry.Select(before), entry.Select(before).Example())
				}
				fresh := readEverything(t, b)
				b.Call(entry.Select(a), entry.Select(a).Example())
				once := readEverything(t, b)
				b.Call(entry.Select(a), entry.Select(a).Example())
				twice := readEverything(t, b)
				hints := a.Hints()
				if hints.ReadOnly && fresh != once {
					t.Errorf("it only reads, but before and after differ: %s", cmp.Diff(strings.Split(fresh, "\n"), strings.Split(once, "\n")))
				}
				if hints.Idempotent && once != twice {
					t.Errorf("it is idempotent, but a second call changes something: %s", cmp.Diff(strings.Split(once, "\n"), strings.Split(twice, "\n")))
				}
				if !hints.Idempotent && once == twice && a.Effect != toolfold.Runs {
					t.Errorf("a second call changes nothing, but the hints say it may: is it Once?")
				}
			})
		}
	}
}

// readEverything returns the answers of all reading actions to their examples.
func readEverything(t *testing.T, b *workbench.Bench) string {
	t.Helper()
	var all strings.Builder
	for _, f := range b.Families() {
		for _, a := range f.Actions {
			if a.Effect != toolfold.Reads || f.Category == callctx.Discovery {
				continue
			}
			calls := demanding(a)
			for _, how := range slices.Sorted(maps.Keys(calls)) {
				answer := b.Runner.Call(t.Context(), a.FullName(), calls[how])
				all.WriteString(a.FullName() + string(answer.Content) + "\n")
			}
		}
	}
	return all.String()
}

// A tool with the read-only hint changes nothing, in any mode and fold and with any action name.
// Loading changes only the list of a session, and the client is notified.
func TestToolsThatReadOnlyRead(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, mode := range surface.Modes() {
		for _, fold := range consolidate.Folds() {
			b := workbench.New(t, surface.Options{Mode: mode, Fold: fold, Level: lazy.Lazy})
			for _, tool := range surface.Tools(b.Families(), surface.Options{Mode: mode, Fold: fold, Level: lazy.Lazy}) {
				if !tool.Hints.ReadOnly {
					continue
				}
				for _, f := range b.Families() {
					for _, a := range f.Actions {
						if a.Effect == toolfold.Reads || a.FullName() == "tools.load" {
							continue
						}
						args := workbench.Arguments(entry.New(a, a.FullName()))
						for _, name := range []string{a.Name, a.FullName(), f.Name + "_" + a.Name} {
							args[callctx.ArgAction] = name
							tried++
							target := b.Client.Refusal(t.Context(), tool.Name, ordered.MustJSON(args), "", func(string) bool { return false })
							if target == nil && !readsAs(b, tool, args) {
								t.Errorf("%s %s: %s takes %s", mode, fold, tool.Name, ordered.MustJSON(args))
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d calls", tried)
	b := workbench.New(t, surface.Options{})
	call := b.Client.Call(t.Context(), "tools", []byte(`{"action":"call","name":"memory.clear","arguments":{}}`))
	if call.Err == nil || !strings.Contains(call.Err.Message, "tool_call") || call.Err.Usage == "" {
		t.Errorf("tools call: %s", call.Content)
	}
}

// readsAs reports whether a tool without an action argument took a call as one of its only action,
// which reads.
func readsAs(b *workbench.Bench, tool entry.Tool, args map[string]any) bool {
	entries := b.Client.Lookup(tool.Name)
	return len(entries) == 1 && entries[0].Selector == "" && entries[0].Action.Effect == toolfold.Reads
}
