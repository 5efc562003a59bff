package app_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/cmd/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/golden"
	"github.com/toolfold/toolfold/migration"
)

// A repository written against the legacy tools: every planted use is found and
// nothing else, what can be rewritten is, and a second run changes nothing but
// still names what is left.
func TestUses(t *testing.T) {
	t.Parallel()
	r := migration.NewRewriter(app.Families())
	var report strings.Builder
	err := fs.WalkDir(os.DirFS("../../../../migration/testdata/before"), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		before, err := os.ReadFile(filepath.Join("../../../../migration/testdata/before", path))
		if err != nil {
			return err
		}
		uses, after := r.Uses(path, before)
		for _, u := range uses {
			fmt.Fprintf(&report, "%s:%d: %s → %s %s by hand: %v\n", path, u.Line, u.Name, u.Now, u.Note, u.ByHand)
		}
		golden.Compare(t, "../../../../migration/testdata/after/"+path, string(after))
		again, twice := r.Uses(path, after)
		if string(twice) != string(after) {
			t.Errorf("%s changes again:\n%s", path, twice)
		}
		for _, u := range again {
			if !u.ByHand {
				t.Errorf("%s:%d: %s is still there", path, u.Line, u.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "../../../../migration/testdata/uses.txt", report.String())
}

// Every legacy tool is found as a rule, a call and a word; a rewritten call is
// the one that Rewrite makes of it.
func TestEveryLegacyTool(t *testing.T) {
	t.Parallel()
	r := migration.NewRewriter(app.Families())
	for _, f := range app.Families() {
		for _, a := range f.Actions {
			for _, old := range a.Legacy {
				call := migration.Call{Name: old.Name, Arguments: json.RawMessage(`{"key": "a b",   "z": [1.0]}`)}
				want, _, err := r.Rewrite(call)
				if err != nil {
					t.Fatal(err)
				}
				if want.Name == old.Name {
					continue // it is called as it was
				}
				uses, now := r.Uses("a.jsonl", fmt.Appendf(nil, `{"name": %q, "arguments": %s}`, call.Name, call.Arguments))
				var got migration.Call
				if err := json.Unmarshal(now, &got); err != nil || len(uses) != 1 || got.Name != want.Name {
					t.Errorf("%s became %s (%v, %v), want %s", old.Name, now, uses, err, want.Arguments)
				}
				if uses, _ := r.Uses("a.json", fmt.Appendf(nil, `{"deny": ["mcp__x__%s"]}`, old.Name)); len(uses) != 1 || !uses[0].ByHand {
					t.Errorf("a rule that forbids %s: %v", old.Name, uses)
				}
				if uses, _ := r.Uses("a.md", fmt.Appendf(nil, "Call %s.", old.Name)); len(uses) != 1 {
					t.Errorf("a prompt with %s: %v", old.Name, uses)
				}
			}
		}
	}
}

func FuzzUses(f *testing.F) {
	r := migration.NewRewriter(app.Families())
	for _, ending := range []string{"a.md", "a.json", "a.jsonl", "a.yaml", "a.ts"} {
		f.Add(ending, "---\ntools: memory_store\n---\n`memory_store` {\"name\":\"memory_store\"}\ntool: memory_store\n")
	}
	for _, arguments := range []string{`null`, `{}`, `[1]`, `7`, `"{\"key\":1}"`, `{"key":"a"}`} {
		f.Add("a.json", `{"name":"memory_store","arguments":`+arguments+`}`)
	}
	f.Fuzz(func(t *testing.T, path, text string) {
		_, after := r.Uses(path, []byte(text))
		if json.Valid([]byte(text)) && strings.HasSuffix(path, ".json") && !json.Valid(after) {
			t.Errorf("%q is JSON and became %q", text, after)
		}
		if _, twice := r.Uses(path, after); string(twice) != string(after) {
			t.Errorf("%s: %q became %q and then %q", path, text, after, twice)
		}
	})
}
