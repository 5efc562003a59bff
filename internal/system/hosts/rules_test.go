package hosts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A rule of a settings file restricts the entries of all servers that it may be for.
func TestRulesRestrictEntries(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind, rule, server string
		names, off, narrow bool
		except, asks       []string
	}{
		{kind: "deny", rule: "mcp__a", server: "a", names: true, off: true},
		{kind: "deny", rule: "mcp__a__t", server: "a", names: true, except: []string{"t"}},
		{kind: "deny", rule: "mcp__a__t", server: "b"},
		{kind: "deny", rule: "mcp__a__b__t", server: "a__b", names: true, except: []string{"t"}},
		{kind: "deny", rule: "mcp__a__b__t", server: "a", names: true, except: []string{"b__t"}},
		{kind: "deny", rule: "mcp__a__b", server: "a__b", names: true, off: true},
		{kind: "deny", rule: "mcp__a*", server: "abc", names: true, off: true},
		{kind: "deny", rule: "mcp__*__delete", server: "abc", names: true, except: []string{"*__delete", "_delete", "delete"}},
		{kind: "deny", rule: "mcp__*delete*", server: "files", names: true, except: []string{"*delete*"}},
		{kind: "deny", rule: "mcp__git*create", server: "github", names: true, except: []string{"*create"}},
		{kind: "deny", rule: "mcp__github_*", server: "github", names: true, off: true},
		{kind: "deny", rule: "*", server: "files", names: true, off: true},
		{kind: "deny", rule: "mcp__git*", server: "slack"},
		{kind: "ask", rule: "mcp__a*__t", server: "abc", names: true, asks: []string{"*__t", "_t", "t"}},
		{kind: "allow", rule: "mcp__a*__t", server: "abc"},
		{kind: "deny", rule: "mcp__a__t(x:*)", server: "a", names: true, narrow: true},
		{kind: "deny", rule: "mcp__a(x)", server: "a", names: true, narrow: true},
	} {
		folder := t.TempDir()
		text := `{"permissions": {"` + test.kind + `": ["` + test.rule + `"]}}`
		write(t, filepath.Join(folder, ".claude", "settings.json"), text)
		rules, err := Find("claude-code").ToolRules(folder)
		if err != nil || len(rules) != 1 {
			t.Fatalf("%s: %v, %v", test.rule, rules, err)
		}
		e := Entry{Name: test.server}
		e.Restrict(rules)
		if rules[0].Names(test.server) != test.names || rules[0].Narrow() != test.narrow || e.Off != test.off ||
			!slices.Equal(e.Except, test.except) || !slices.Equal(e.Asks, test.asks) || len(e.Approvals) > 0 {
			t.Errorf("%s %s for %s: %+v", test.kind, test.rule, test.server, e)
		}
	}
}

// An administrator's rules are also in the folder beside the file. A folder that cannot be read is an error, not an
// empty one.
func TestManagedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "managed-settings.json")
	if list, err := managedFiles(file); err != nil || len(list) > 0 {
		t.Errorf("without a folder: %v, %v", list, err)
	}
	want := filepath.Join(dir, "managed-settings.d", "10-tools.json")
	write(t, want, "{}")
	write(t, filepath.Join(dir, "managed-settings.d", "README"), "")
	if list, err := managedFiles(file); err != nil || !slices.Equal(list, []string{want}) {
		t.Errorf("got %v, %v", list, err)
	}
	if list, err := managedFiles(filepath.Join(dir, "settings.json")); err != nil || len(list) > 0 {
		t.Errorf("beside a user's settings: %v, %v", list, err)
	}
	broken := filepath.Join(dir, "other", "managed-settings.json")
	write(t, filepath.Join(dir, "other", "managed-settings.d"), "no folder")
	if _, err := managedFiles(broken); err == nil {
		t.Error("a file in place of the folder is accepted")
	}
}

// Settings may be a link to another file. A file that is not a regular file or is too large is
// rejected.
func TestRulesAreReadSafely(t *testing.T) {
	t.Parallel()
	folder, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "dotfiles.json")
	write(t, elsewhere, `{"permissions": {"deny": ["mcp__a"]}}`)
	write(t, filepath.Join(folder, ".claude", "settings.local.json"), "{}")
	settings := filepath.Join(folder, ".claude", "settings.json")
	if err := os.Symlink(elsewhere, settings); err != nil {
		t.Skip("no links here: ", err)
	}
	if rules, err := Find("claude-code").ToolRules(folder); err != nil || len(rules) != 1 {
		t.Errorf("behind a link: %v, %v", rules, err)
	}
	write(t, elsewhere, strings.Repeat(" ", maxSettings+1))
	if _, err := Find("claude-code").ToolRules(folder); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a file that is too large: %v", err)
	}
	if err := os.Remove(settings); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(settings, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Find("claude-code").ToolRules(folder); err == nil || !strings.Contains(err.Error(), settings) {
		t.Errorf("a folder: %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
