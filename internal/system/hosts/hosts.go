// Package hosts holds what the programs that start MCP servers want to know of
// one: where they keep their list of servers, how an entry looks, how calls are
// approved there. The page docs/clients.md and the command setup come from it.
package hosts

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/toolfold/toolfold/internal/text/jsonedit"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Server is the name of the entry.
const Server = "toolfold"

// Host is a program that starts MCP servers.
type Host struct {
	Name    string // as setup takes it
	Title   string
	Program string // its command; empty = its name

	// Path returns the user's file with the list of servers. Nil means that
	// setup cannot write it; Manual says what the user does instead.
	Path   func() (string, error)
	Manual string

	// Project are its files in a workspace, by path in it.
	Project []string

	format format
	key    string // of the list of servers
	entry  func(command string, args []string) ordered.Map

	// hand returns the member of an entry by which the server gets variables that the host keeps from
	// servers; nil where it gets those of the host. It was tried with the version that Sends names.
	hand func(variables []string) ordered.Member

	Add     string // the host's own command for an entry; empty without one
	Approve string // how calls are approved, with and without a person
	Rules   string // what its permission rules can say about actions
	Note    string // what else is different there; may be empty
	Sends   *Sends // nil where it was not seen
}

// Hosts lists the hosts.
var Hosts = []Host{{
	Name: "claude-code", Title: "Claude Code", Program: "claude", key: "mcpServers", entry: withType("stdio"),
	Path:    inHome("CLAUDE_CONFIG_DIR", "", ".claude.json"),
	Project: []string{".mcp.json"},
	Add:     "claude mcp add --scope user toolfold -- toolfold serve --for=claude-code",
	Approve: "Asks at the first call of each tool. Headless (`claude -p`): `--allowedTools mcp__toolfold`, or for one tool " +
		"`mcp__toolfold__memory` with `mcp__toolfold__tools`, which only reads and explains it.",
	Rules: "By tool, not by action: allowing `mcp__toolfold__memory` also allows `clear`.",
	Sends: &Sends{
		Version: "2.1.330", Instructions: true, MaxText: 2048, name: joined("mcp__", "__"), definition: anthropic, line: nameOnly,
		Also: "sends every definition with ENABLE_TOOL_SEARCH=false, and with models that cannot search",
	},
}, {
	Name: "codex", Title: "Codex", format: tomlFile, key: "mcp_servers", entry: plain,
	hand:    func(variables []string) ordered.Member { return ordered.Member{Key: "env_vars", Value: variables} },
	Path:    inHome("CODEX_HOME", ".codex", "config.toml"),
	Project: []string{".codex/config.toml"},
	Add:     "codex mcp add toolfold -- toolfold serve --for=codex",
	Approve: "Asks for every call of a tool that can remove something. `codex exec` refuses those unless the table " +
		"`[mcp_servers.toolfold]` has `default_tools_approval_mode = \"approve\"`.",
	Rules: "By tool, with `approval_mode` in a table such as `[mcp_servers.toolfold.tools.memory]`.",
	Note:  "It starts servers with little of the environment: put `TOOLFOLD_…` and `XDG_DATA_HOME` into `[mcp_servers.toolfold.env]`.",
	Sends: &Sends{
		Version: "0.169.0", Instructions: true, name: alone, schema: bare, definition: responses,
		Also: "puts the tools of a server into a namespace; drops formats, bounds and defaults",
	},
}, {
	Name: "gemini", Title: "Gemini CLI", key: "mcpServers", entry: plain,
	hand: func(variables []string) ordered.Member { // it keeps those back whose names are of secrets
		var env ordered.Map
		for _, name := range variables {
			env.Set(name, "$"+name)
		}
		return ordered.Member{Key: "env", Value: env}
	},
	Path:    inHome("", ".gemini", "settings.json"),
	Project: []string{".gemini/settings.json"},
	Add:     "gemini mcp add --scope user toolfold toolfold serve --for=gemini",
	Approve: "Asks; `\"trust\": true` in the entry allows all, `--approval-mode=yolo` everything. The folder must be trusted.",
	Rules:   "By tool, with `includeTools` and `excludeTools` in the entry.",
	Sends: &Sends{
		Version: "0.61.0", Instructions: true, name: joined("mcp_", "_"), schema: waiting, definition: gemini,
		Also: "adds wait_for_previous to every tool",
	},
}, {
	Name: "opencode", Title: "OpenCode", key: "mcp", entry: func(command string, args []string) ordered.Map {
		return ordered.Map{{Key: "type", Value: "local"}, {Key: "command", Value: append([]string{command}, args...)},
			{Key: "enabled", Value: true}}
	},
	Path:    orWithComments(inHome("XDG_CONFIG_HOME", ".config", "opencode/opencode.json")),
	Project: []string{"opencode.json", "opencode.jsonc"},
	Approve: "Allowed unless `permission` in its settings says `ask` or `deny`.",
	Rules:   "By tool name with patterns: `toolfold_memory`, `toolfold_*`.",
	Sends: &Sends{
		Version: "1.18.33", Instructions: true, name: joined("", "_"), schema: closed, definition: chat,
		Also: "adds additionalProperties: false to every tool",
	},
}, {
	Name: "qwen", Title: "Qwen Code", key: "mcpServers", entry: plain,
	Path:    inHome("", ".qwen", "settings.json"),
	Project: []string{".qwen/settings.json"},
	Add:     "qwen mcp add --scope user toolfold toolfold serve --for=qwen",
	Approve: "Asks; `\"trust\": true` in the entry or `--yolo` allows all.",
	Rules:   "By tool, with `includeTools` and `excludeTools` in the entry.",
	Sends: &Sends{
		Version: "0.15.10", name: joined("mcp__", "__"), definition: chat, line: boldName,
	},
}, {
	Name: "copilot", Title: "Copilot CLI", key: "mcpServers", entry: func(command string, args []string) ordered.Map {
		return append(ordered.Map{{Key: "tools", Value: []string{"*"}}}, withType("local")(command, args)...)
	},
	Path:    inHome("", ".copilot", "mcp-config.json"),
	Approve: "Asks; headless: `--allow-tool=toolfold`, or `--allow-tool='toolfold(memory)'` for one tool.",
	Rules:   "By tool.",
	Sends: &Sends{
		Version: "1.0.102", name: joined("", "-"), definition: chat,
		Also: "moves bounds and formats into descriptions, which is not counted: 4 to 10 % more with many of them",
	},
}, {
	Name: "cline", Title: "Cline", key: "mcpServers", entry: func(command string, args []string) ordered.Map {
		return ordered.Map{{Key: "transport", Value: withType("stdio")(command, args)}}
	},
	Path:    inHome("", ".cline", "data/settings/cline_mcp_settings.json"),
	Add:     "cline mcp add --yes toolfold -- toolfold serve --for=cline",
	Approve: "Asks; `autoApprove` in the entry lists tools that need no question.",
	Rules:   "By tool, with `autoApprove`.",
	Sends: &Sends{
		Version: "3.0.65", name: joined("", "__"), definition: chat,
	},
}, {
	Name: "cursor", Title: "Cursor", key: "mcpServers", entry: plain,
	Path:    inHome("", ".cursor", "mcp.json"),
	Project: []string{".cursor/mcp.json"},
	Approve: "Asks, unless auto-run is on in its settings.",
	Rules:   "By tool.",
}, {
	Name: "vscode", Title: "VS Code", Program: "code", key: "servers", entry: withType("stdio"),
	Path:    inConfig("Code/User/mcp.json"),
	Project: []string{".vscode/mcp.json"},
	Add:     `code --add-mcp '{"name":"toolfold","command":"toolfold","args":["serve","--for=vscode"]}'`,
	Approve: "Asks, with the choice to allow a tool for the session, the workspace or always.",
	Rules:   "By tool.",
}, {
	Name: "claude-desktop", Title: "Claude Desktop", key: "mcpServers", entry: plain,
	Path:    inConfig("Claude/claude_desktop_config.json"),
	Approve: "Asks, with the choice to allow a tool always.",
	Rules:   "By tool.",
	Note:    "It does not use the PATH of a shell: the command is an absolute path.",
}, {
	Name: "continue", Title: "Continue", format: yamlFile, key: "mcpServers", entry: plain,
	Manual:  "paste it into ~/.continue/config.yaml: as YAML with comments it is not rewritten",
	Approve: "By its tool policies: ask, automatic or excluded, for each tool.",
	Rules:   "By tool.",
}, {
	Name: "n8n", Title: "n8n", format: nothing,
	Manual: "add an MCP Client Tool node: endpoint http://127.0.0.1:8137/mcp, HTTP streamable, bearer authentication with the token of " +
		"--http-token-file",
	Approve: "None: a workflow calls what its agent asks for. Choose the tools in the node.",
	Rules:   "By tool.",
	Note: "Serve with `toolfold serve --for=n8n --http 127.0.0.1:8137`. From a container, name the host's address in `--http` and " +
		"`--allowed-hosts`.",
}}

// Find returns the host of a name; nil when there is none.
func Find(name string) *Host {
	for i := range Hosts {
		if Hosts[i].Name == name || Hosts[i].Name == "claude-code" && name == "claude" { // as its command is called
			return &Hosts[i]
		}
	}
	return nil
}

// Args returns the arguments of the program in the host's entry: the surface is
// left to the program, so that the entry stays right when a release knows better.
func (h *Host) Args() []string { return []string{"serve", "--for=" + h.Name} }

// Names lists the names of the hosts.
func Names() []string {
	names := make([]string, len(Hosts))
	for i, h := range Hosts {
		names[i] = h.Name
	}
	return names
}

// inHome returns the path of a file in a folder of the user's home. A variable
// that is set names another folder in its place.
func inHome(variable, folder, file string) func() (string, error) {
	return func() (string, error) {
		if dir := os.Getenv(variable); variable != "" && dir != "" {
			return filepath.Join(dir, filepath.FromSlash(file)), nil
		}
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("finding the home directory: %w", err)
		}
		return filepath.Join(home, folder, filepath.FromSlash(file)), nil
	}
}

// orWithComments returns the path of a .json file, or of the .jsonc file in its place
// where there is only that.
func orWithComments(path func() (string, error)) func() (string, error) {
	return func() (string, error) {
		file, err := path()
		if err != nil {
			return "", err
		}
		if _, err := os.Stat(file); err != nil {
			if _, err := os.Stat(file + "c"); err == nil {
				return file + "c", nil
			}
		}
		return file, nil
	}
}

// Installed reports whether the host seems to be installed: its file is there, or the
// folder that it made for it, or its program.
func (h *Host) Installed() bool {
	if h.Path == nil {
		return false
	}
	path, err := h.Path()
	if err != nil {
		return false
	}
	if _, err := os.Stat(path); err == nil {
		return true
	}
	dir := filepath.Dir(path)
	if home, err := os.UserHomeDir(); err == nil && dir != home {
		if _, err := os.Stat(dir); err == nil {
			return true
		}
	}
	_, err = exec.LookPath(cmp.Or(h.Program, h.Name))
	return err == nil
}

// inConfig returns the path of a file in the folder that the system has for
// the settings of programs.
func inConfig(file string) func() (string, error) {
	return func() (string, error) {
		dir, err := os.UserConfigDir()
		if err != nil {
			return "", fmt.Errorf("finding the settings directory: %w", err)
		}
		return filepath.Join(dir, filepath.FromSlash(file)), nil
	}
}

func plain(command string, args []string) ordered.Map {
	if args == nil {
		args = []string{}
	}
	return ordered.Map{{Key: "command", Value: command}, {Key: "args", Value: args}}
}

// withType is plain with a member type in front.
func withType(kind string) func(string, []string) ordered.Map {
	return func(command string, args []string) ordered.Map {
		return append(ordered.Map{{Key: "type", Value: kind}}, plain(command, args)...)
	}
}

// Snippet returns what a user pastes into the host's file; empty for a host
// that has none.
func (h *Host) Snippet(command string, args []string) string {
	switch h.format {
	case tomlFile:
		return h.table(command, args)
	case yamlFile:
		list := ""
		for _, arg := range args {
			list += "\n      - " + quoted(arg)
		}
		return fmt.Sprintf("%s:\n  - name: %s\n    command: %s\n    args:%s\n", h.key, Server, quoted(command), list)
	case nothing:
		return ""
	}
	text, _ := jsonedit.Set([]byte("{}"), ordered.MustJSON(h.entry(command, args)), h.key, Server) // an empty object takes any
	return string(text) + "\n"
}

// Syntax names the language of the host's file, for readers of the snippet.
func (h *Host) Syntax() string {
	switch h.format {
	case tomlFile:
		return "toml"
	case yamlFile:
		return "yaml"
	}
	return "json"
}

// table returns the entry in TOML. Its strings are written as JSON has them,
// which is TOML too.
func (h *Host) table(command string, args []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s.%s]\n", h.key, Server)
	for _, member := range h.entry(command, args) {
		text := string(ordered.MustJSON(member.Value))
		fmt.Fprintf(&b, "%s = %s\n", member.Key, strings.ReplaceAll(text, `","`, `", "`))
	}
	return b.String()
}

func quoted(text string) string { return string(ordered.MustJSON(text)) }
