package hosts

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The files of each client on each system, with and without the variables that change their folder.
func TestPaths(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	moved := func(name string) string { return "/moved/" + name }
	for _, test := range []struct {
		host, system string
		getenv       func(string) string
		want         []string
	}{
		{"claude-code", "linux", none, []string{"/h/.claude.json"}},
		{"claude-code", "windows", moved, []string{"/moved/CLAUDE_CONFIG_DIR/.claude.json"}},
		{"codex", "darwin", none, []string{"/h/.codex/config.toml"}},
		{"codex", "linux", moved, []string{"/moved/CODEX_HOME/config.toml"}},
		{"opencode", "windows", none, []string{"/h/.config/opencode/opencode.json", "/h/.config/opencode/opencode.jsonc"}},
		{"vscode", "linux", none, []string{"/h/.config/Code/User/mcp.json"}},
		{"vscode", "freebsd", moved, []string{"/moved/XDG_CONFIG_HOME/Code/User/mcp.json"}},
		{"vscode", "darwin", moved, []string{"/h/Library/Application Support/Code/User/mcp.json"}},
		{"vscode", "windows", none, []string{"/h/AppData/Roaming/Code/User/mcp.json"}},
		{"vscode", "windows", moved, []string{"/moved/APPDATA/Code/User/mcp.json"}},
		{"antigravity", "windows", none, []string{"/h/.gemini/config/mcp_config.json", "/h/.gemini/antigravity/mcp_config.json"}},
		{"devin", "linux", moved, []string{"/h/.config/devin/mcp_config.json", "/h/.codeium/windsurf/mcp_config.json"}},
		{"devin", "windows", moved, []string{"/moved/APPDATA/devin/mcp_config.json", "/h/.codeium/windsurf/mcp_config.json"}},
		{"zed", "linux", none, []string{"/h/.config/zed/settings.json"}},
		{"zed", "darwin", moved, []string{"/h/.config/zed/settings.json"}},
		{"zed", "windows", moved, []string{"/moved/APPDATA/Zed/settings.json"}},
		{"goose", "darwin", none, []string{"/h/.config/goose/config.yaml"}},
		{"goose", "windows", moved, []string{"/moved/APPDATA/Block/goose/config/config.yaml"}},
		{"amp", "windows", moved, []string{"/h/.config/amp/settings.json", "/h/.config/amp/settings.jsonc"}},
		{"roo", "darwin", none, []string{
			"/h/Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
		}},
		{"kilo", "linux", none, []string{"/h/.config/kilo/kilo.jsonc", "/h/.config/kilo/kilo.json",
			"/h/.config/Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json"}},
	} {
		if got := Find(test.host).Paths.Files(test.system, "/h", test.getenv); !slices.Equal(got, test.want) {
			t.Errorf("%s on %s: %q, want %q", test.host, test.system, got, test.want)
		}
	}
	for _, h := range Hosts {
		for _, system := range []string{"linux", "darwin", "windows"} {
			for _, file := range h.Paths.Files(system, "/h", none) {
				if filepath.ToSlash(filepath.Clean(file)) != file || file[:3] != "/h/" {
					t.Errorf("%s on %s has %s", h.Name, system, file)
				}
			}
		}
		if files := h.Paths; len(files.Linux) != len(files.MacOS) || len(files.MacOS) != len(files.Windows) {
			t.Errorf("%s has %d, %d and %d files", h.Name, len(files.Linux), len(files.MacOS), len(files.Windows))
		}
	}
	if got := Find("devin").Paths.Shown("windows"); got != "`%APPDATA%\\devin\\mcp_config.json`, or "+
		"`%USERPROFILE%\\.codeium\\windsurf\\mcp_config.json`" {
		t.Error(got)
	}
}

// The file of the host is the newest one that exists, or the newest if no file exists.
func TestNewestFile(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	p := everywhere("~/new/f.json", "~/old/f.json")
	for _, test := range []struct{ make, want string }{{"", "new"}, {"old", "old"}, {"new", "new"}} {
		if test.make != "" {
			dir := filepath.Join(home, test.make)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "f.json"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := p.existing(); err != nil || got != filepath.Join(home, test.want, "f.json") {
			t.Errorf("with %q: %s, %v", test.make, got, err)
		}
	}
}
