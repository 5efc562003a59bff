package files_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/migration"
	"github.com/toolfold/toolfold/migration/files"
)

// Every legacy tool is found as a rule, a call and a word. A rewritten call equals the result of
// Rewrite.
func TestEveryLegacyTool(t *testing.T) {
	t.Parallel()
	s := files.Search{Rewriter: migration.NewRewriter(app.Families())}
	for _, f := range app.Families() {
		for _, a := range f.Actions {
			for _, old := range a.Legacy {
				call := migration.Call{Name: old.Name, Arguments: json.RawMessage(`{}`)}
				want, _, err := s.Rewrite(call)
				if err != nil {
					t.Fatal(err)
				}
				if want.Name == old.Name || f.Category == "discovery" {
					continue // its name is unchanged, or also common elsewhere
				}
				found := s.File("a.jsonl", fmt.Appendf(nil, `{"name": %q, "arguments": {}}`, call.Name))
				var got migration.Call
				if err := json.Unmarshal(found.Now, &got); err != nil || len(found.Uses) != 1 || got.Name != want.Name {
					t.Errorf("%s became %s (%v, %v), want %s", old.Name, found.Now, found.Uses, err, want.Arguments)
				}
				found = s.File("a.json", fmt.Appendf(nil, `{"deny": ["mcp__toolfold__%s"]}`, old.Name))
				if len(found.Uses) != 1 || !found.Uses[0].ByHand || found.Uses[0].Kind != files.Forbids {
					t.Errorf("a rule that forbids %s: %v", old.Name, found.Uses)
				}
				if found := s.File("a.md", fmt.Appendf(nil, "Call %s.", old.Name)); len(found.Uses) != 1 {
					t.Errorf("a prompt with %s: %v", old.Name, found.Uses)
				}
			}
		}
	}
}

// The prefix of a name determines whose tool it is.
func TestServersOfRules(t *testing.T) {
	t.Parallel()
	s := files.Search{Rewriter: migration.NewRewriter(app.Families()), Servers: []string{"my server", "work-*"}}
	for text, others := range map[string]string{
		"mcp__toolfold__memory_store": "", "mcp__toolfold-old__memory_store": "", "mcp__tool_fold__memory_store": "",
		"mcp__my_server__memory_store": "", "mcp__work_bench__memory_store": "", "mcp_toolfold_memory_store": "",
		"mcp__plugin_notes_toolfold__memory_store": "", "toolfold_memory_store": "", "toolfold-memory_store": "", "@toolfold/memory_store": "",
		"toolfold(memory_store)": "", "Mcp(toolfold:memory_store)": "", "mcp__toolfold__memory_sto*": "",
		"mcp__github__memory_store": "github", "Mcp(github:memory_store)": "github",
	} {
		found := s.File("a.json", fmt.Appendf(nil, `{"permissions": {"deny": [%q]}}`, text))
		wrong := len(found.Uses) != 1 || found.Uses[0].Rule.Deny != "memory.store"
		if others != "" {
			wrong = len(found.Uses) != 0 || len(found.OtherServers[others]) != 1
		}
		if wrong {
			t.Errorf("%s: %+v, others %v", text, found.Uses, found.OtherServers)
		}
	}
}

// A file that cannot be parsed stays unchanged. The names in it are reported, and rules as rules.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	s := files.Search{Rewriter: migration.NewRewriter(app.Families())}
	for path, text := range map[string]string{
		"a.json": `{"deny": ["mcp__toolfold__memory_clear"`, "a.yaml": "a: [\ndeny: [mcp__toolfold__memory_clear\n",
		"a.toml": "[a\ndisabled_tools = [\"mcp__toolfold__memory_clear\"]\n", "a.lua": "deny = {'mcp__toolfold__memory_clear'}\n",
	} {
		found := s.File(path, []byte(text))
		if string(found.Now) != text || len(found.Uses) != 1 || found.Uses[0].Now != "toolfold serve --deny memory.clear" {
			t.Errorf("%s: %+v, now %q", path, found.Uses, found.Now)
		}
	}
}

// Widen only changes rules that permit to rules for the whole tool.
func TestWiden(t *testing.T) {
	t.Parallel()
	s := files.Search{Rewriter: migration.NewRewriter(app.Families()), Widen: true}
	const before = `{"allow": ["mcp__toolfold__memory_retrieve"], "ask": ["mcp__toolfold__task_submit"],
		"deny": ["mcp__toolfold__memory_clear"]}`
	want := strings.Replace(before, "memory_retrieve", "memory", 1)
	if found := s.File("a.json", []byte(before)); string(found.Now) != want {
		t.Errorf("became %s, want %s", found.Now, want)
	}
	for _, path := range []string{"testdata/a.json", "src/__tests__/a.json", "a.spec.json", "test_a.json"} {
		if found := s.File(path, []byte(before)); string(found.Now) != before || len(found.Uses) != 3 {
			t.Errorf("%s, which a test expects, became %s", path, found.Now)
		}
	}
}

// In prose, a name's action joins an existing pair of brackets after the name.
func TestProse(t *testing.T) {
	t.Parallel()
	s := files.Search{Rewriter: migration.NewRewriter(app.Families())}
	for before, want := range map[string]string{
		"Call `memory_store`.":                       "Call `memory` (action `store`).",
		"Call `memory_store` (with a key) now.":      "Call `memory` (action `store`, with a key) now.",
		"Call memory_store (a key).":                 "Call memory (action store, a key).",
		"Start #workflow_run.":                       "Start #workflow (action run).",
		"```js\nmcp__toolfold__memory_list({})\n```": "```js\nmcp__toolfold__memory({\"action\": \"list\"})\n```",
	} {
		if found := s.File("a.md", []byte(before)); string(found.Now) != want {
			t.Errorf("%q became %q, want %q", before, found.Now, want)
		}
	}
}

// A use that cannot be rewritten stays, and does not prevent others in its file.
func TestOneLeft(t *testing.T) {
	t.Parallel()
	s := files.Search{Rewriter: migration.NewRewriter(app.Families())}
	for _, test := range []struct{ path, text, old, now string }{
		{
			"a.go", "package a\n\nvar _ = []any{call_tool(\"memory_list\", nil), %s, call_tool(\"memory_stats\", nil)}\n",
			`call_tool("memory_retrieve", map[string]interface{}{"key": "a"})`,
			`call_tool("memory", map[string]interface{}{"action": "get", "params": map[string]interface{}{"key": "a"}})`,
		},
		{
			"a.yaml", "calls: [{name: memory_list, arguments: {}}]\nprompt: Call %s.\n" +
				"later: [{name: memory_store, arguments: {key: a, value: 1}}]\n",
			"memory_search", "memory (action search)",
		},
	} {
		found := s.File(test.path, fmt.Appendf(nil, test.text, test.old))
		if want := fmt.Sprintf(test.text, test.now); string(found.Now) != want || len(found.Uses) != 3 {
			t.Errorf("%s became %s, want %s: %v", test.path, found.Now, want, found.Uses)
		}
		for _, u := range found.Uses {
			if left := u.Name != "memory_search" && u.Name != "memory_retrieve"; u.ByHand != left {
				t.Errorf("%s: by hand is %v: %v", test.path, u.ByHand, u)
			}
		}
	}
}

// If the server lists one tool per action, rules that stay valid are not uses.
func TestExact(t *testing.T) {
	t.Parallel()
	s := files.Search{Rewriter: migration.NewRewriter(app.Families()), Exact: true}
	const before = `{"allow": ["mcp__toolfold__memory_retrieve", "mcp__toolfold__task_list"],
		"deny": ["mcp__toolfold__memory_clear", "mcp__toolfold__memory_*"]}`
	found := s.File("a.json", []byte(before))
	if string(found.Now) != strings.Replace(before, "memory_retrieve", "memory_get", 1) || len(found.Uses) != 1 {
		t.Errorf("became %s, %+v", found.Now, found.Uses)
	}
}

// Deep nesting that is not an object in the end does not take longer: each level is read once.
func TestDeepNesting(t *testing.T) {
	t.Parallel()
	s := files.Search{Rewriter: migration.NewRewriter(app.Families())}
	for _, path := range []string{"a.json", "a.ts", "a.py"} {
		text := "x = " + strings.Repeat(`{"a":`, 200) + `"mcp__toolfold__memory_clear"` + strings.Repeat(`;}`, 200)
		if found := s.File(path, []byte(text)); len(found.Uses) != 1 {
			t.Errorf("%s: %v", path, found.Uses)
		}
	}
}

// Any file still parses afterwards, and a second search changes nothing.
func FuzzUses(f *testing.F) {
	s := files.Search{Rewriter: migration.NewRewriter(app.Families())}
	paths, _ := filepath.Glob("testdata/corpus/*.txtar")
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(file.Name, strings.NewReplacer("«", "", "»", "", "‹", "", "›", "").Replace(string(file.Data)))
		}
	}
	for _, arguments := range []string{`null`, `{}`, `[1]`, `7`, `"{\"key\":1}"`, `{"key":"a"}`, `"{}"`, `{"params":{"key":"a"}}`} {
		f.Add("a.json", `{"name":"memory_store","arguments":`+arguments+`}`)
	}
	f.Add("a.md", "---\ntools: memory_store\n---\n`memory_store` {\"name\":\"memory_store\"}\ntool: memory_store\n")
	f.Fuzz(func(t *testing.T, path, text string) {
		found := s.File(path, []byte(text))
		if json.Valid([]byte(text)) && strings.HasSuffix(path, ".json") && !json.Valid(found.Now) {
			t.Errorf("%q is JSON and became %q", text, found.Now)
		}
		if again := s.File(path, found.Now); string(again.Now) != string(found.Now) {
			t.Errorf("%s: %q became %q and then %q", path, text, found.Now, again.Now)
		}
		for _, u := range found.Uses {
			if u.Offset < 0 || u.Offset > len(text) || u.Line < 1 {
				t.Errorf("%s: a use at %d in line %d", path, u.Offset, u.Line)
			}
		}
	})
}
