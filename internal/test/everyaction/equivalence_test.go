package everyaction_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/schema"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/migration"
	"github.com/toolfold/toolfold/surface"
)

// Every example succeeds, with the same result, on the legacy surface and on the consolidated one.
// Both are really served.
func TestSurfacesAreEquivalent(t *testing.T) {
	t.Parallel()
	for _, spec := range workbench.New(t, surface.Options{}).Families() {
		for i, a := range spec.Actions {
			if len(a.Legacy) == 0 {
				continue
			}
			t.Run(a.FullName(), func(t *testing.T) {
				t.Parallel()
				world := worldOf(t, spec, i)
				old := world.run(t, surface.Legacy)
				now := world.run(t, surface.Consolidated)
				if diff := cmp.Diff(string(now.content(t)), string(old.content(t))); diff != "" {
					t.Errorf("legacy and consolidated differ (-consolidated +legacy):\n%s", diff)
				}
				isCurrent := a.Apart || a.Legacy[0].Name == a.FullName() // the name is the current one too
				if (old.Meta["toolfold/deprecated"] == nil) != isCurrent || now.Meta["toolfold/deprecated"] != nil {
					t.Errorf("deprecation: legacy %s, consolidated %s", old.Meta["toolfold/deprecated"], now.Meta["toolfold/deprecated"])
				}
			})
		}
	}
}

// world is an action's example and the calls that must run before it: the previous examples of the
// family, or only the adding ones if another would remove what the example needs.
type world struct {
	before []*toolfold.Action
	action *toolfold.Action
}

func worldOf(t *testing.T, spec *toolfold.Family, i int) world {
	t.Helper()
	var adds []*toolfold.Action
	for _, a := range spec.Actions[:i] {
		if a.Effect == toolfold.Adds {
			adds = append(adds, a)
		}
	}
	for _, before := range [][]*toolfold.Action{spec.Actions[:i], adds} {
		w := world{before, spec.Actions[i]}
		if result := w.run(t, surface.Consolidated); !result.IsError {
			return w
		}
	}
	t.Fatalf("the example of %s is not a true call: it fails after the examples before it: %s",
		spec.Actions[i].FullName(), world{adds, spec.Actions[i]}.run(t, surface.Consolidated).content(t))
	return world{}
}

// run calls the examples on a fresh server and returns the last result.
func (w world) run(t *testing.T, mode surface.Mode) toolResult {
	t.Helper()
	s := serveBench(t, surface.Options{Mode: w.mode(mode)})
	var last toolResult
	for _, a := range append(w.before[:len(w.before):len(w.before)], w.action) {
		e := entry.Select(a)
		if mode == surface.Legacy && len(a.Legacy) > 0 {
			e = entry.Spell(a, a.Legacy[0])
		}
		last = s.callTool(t, e.Tool, e.Example())
		if last.content(t); last.StructuredContent != nil {
			t.Errorf("%s is answered twice: %s", e.Title(), last.StructuredContent)
		}
	}
	return last
}

// mode returns the mode to serve in. Discovery describes the surface itself, so its results are
// comparable only on the same surface.
func (w world) mode(m surface.Mode) surface.Mode {
	if w.action.Family.Category == callctx.Discovery {
		return surface.Consolidated
	}
	return m
}

// Migration turns every legacy call into exactly the consolidated one.
func TestMigrationRoundTrip(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	rewriter := migration.NewRewriter(b.Families())
	for _, e := range b.Entries() {
		want := entry.Select(e.Action)
		if e.Selector == "" && e.Tool != want.Tool && !e.Action.Apart { // otherwise it is not a legacy call
			want = want.In(entry.FormObject)
		}
		got, _, err := rewriter.Rewrite(migration.Call{Name: e.Tool, Arguments: e.Example()})
		if err != nil {
			t.Errorf("%s: %v", e.Title(), err)
			continue
		}
		if got.Name != want.Tool || string(got.Arguments) != string(want.Example()) {
			t.Errorf("%s became %s %s, want %s %s", e.Title(), got.Name, got.Arguments, want.Tool, want.Example())
		}
	}
}

// Parameters that only a legacy tool had are listed, and accepted with a warning, only under its
// name. Rewritten calls drop them with a note.
func TestObsoleteValues(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	rewriter := migration.NewRewriter(b.Families())
	consolidated, legacy := serveBench(t, surface.Options{Mode: surface.Consolidated}), serveBench(t, surface.Options{Mode: surface.Legacy})
	tried := 0
	for _, e := range b.Entries() {
		for _, p := range e.Action.Params() {
			for _, value := range slices.DeleteFunc(slices.Clone(p.OldEnum), func(v string) bool { return !p.Obsolete(v) }) {
				tried++
				var with ordered.Map
				if err := json.Unmarshal([]byte(e.Action.Example), &with); err != nil {
					t.Fatal(err)
				}
				with.Set(p.Name, value)
				args := e.FromCanonical(ordered.MustJSON(with))
				if !e.Legacy {
					refused := consolidated.callTool(t, e.Tool, args)
					if text := string(refused.content(t)); !refused.IsError || !strings.Contains(text, p.Enum[0]) || !strings.Contains(text, value) {
						t.Errorf("%s with %s %q is answered %s", e.Title(), p.Name, value, text)
					}
					continue
				}
				taken := legacy.callTool(t, e.Tool, args)
				var answer struct{ Warnings []string }
				want := fmt.Sprintf("%s %q has no effect: ignored", e.Spelling(p.Name), value)
				if err := json.Unmarshal(taken.content(t), &answer); err != nil || taken.IsError || !slices.Contains(answer.Warnings, want) {
					t.Errorf("%s with %s %q is answered %s", e.Tool, p.Name, value, taken.content(t))
				}
				now, dropped, err := rewriter.Rewrite(migration.Call{Name: e.Tool, Arguments: args})
				with = slices.DeleteFunc(with, func(m ordered.Member) bool { return m.Key == p.Name })
				without, _, failed := rewriter.Rewrite(migration.Call{Name: e.Tool, Arguments: e.FromCanonical(ordered.MustJSON(with))})
				if err != nil || failed != nil || string(now.Arguments) != string(without.Arguments) ||
					!slices.Equal(dropped, []string{"/" + p.Name}) {
					t.Errorf("%s with %s %q became %s without %q, %v", e.Tool, p.Name, value, now.Arguments, dropped, err)
				}
			}
		}
	}
	if tried == 0 {
		t.Error("no action has such values")
	}
}

// Every field of a real result is declared, and each declared field can be selected alone.
func TestProjection(t *testing.T) {
	t.Parallel()
	for _, spec := range workbench.New(t, surface.Options{}).Families() {
		for i, a := range spec.Actions {
			if a.Forwards() {
				continue // the result is another action's
			}
			t.Run(a.FullName(), func(t *testing.T) {
				t.Parallel()
				whole := worldOf(t, spec, i).run(t, surface.Consolidated).content(t)
				checkDeclared(t, a, whole)
				for _, path := range schema.Paths(a.Results()) {
					left := paths("", decode(t, call.Project(whole, []string{path})))
					for _, got := range left {
						if !isPrefix(got, path) && !isPrefix(path, got) {
							t.Errorf("keeping %s kept %s", path, got)
						}
					}
				}
			})
		}
	}
}

func checkDeclared(t *testing.T, a *toolfold.Action, whole json.RawMessage) {
	t.Helper()
	declared := schema.Paths(a.Results())
	for _, path := range paths("", decode(t, whole)) {
		if path != "warnings" && !schema.Declares(a.Results(), path) { // any answer may have warnings
			t.Errorf("the result has %s, which is not among the declared fields %v", path, declared)
		}
	}
}

func decode(t *testing.T, raw json.RawMessage) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

// paths lists the dotted paths of all members of a value.
func paths(prefix string, v any) []string {
	var list []string
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			list = append(list, prefix+name)
			list = append(list, paths(prefix+name+".", inner)...)
		}
	case []any:
		for _, inner := range v {
			list = append(list, paths(prefix, inner)...)
		}
	}
	return list
}

func isPrefix(short, long string) bool {
	return long == short || len(long) > len(short) && long[:len(short)+1] == short+"."
}
