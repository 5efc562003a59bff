// Package hosts describes the programs that start MCP servers: the file with their list of servers,
// the form of an entry, and how calls are approved. The pages docs/clients.md, docs/clients and
// docs/hosts.md and the command setup are based on it.
package hosts

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/jsonedit"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/yamlx"
)

// Server is the name of the entry.
const Server = "toolfold"

// Host is a program that starts MCP servers.
type Host struct {
	Name    string   // name for setup
	Aliases []string // other names for setup
	Title   string
	Program string // its command; empty = its name

	// Paths has the user's file with the list of servers. If it is empty, setup cannot write the
	// file, and Manual has instructions for the user.
	Paths  Paths
	Manual string

	// Path returns the file of Paths on this machine: the newest that exists, or the newest if no
	// file exists. It is nil without Paths.
	Path func() (string, error)

	// Project are its files in a workspace, by path in it.
	Project []string

	format format
	key    string // member with the list of servers
	entry  func(command string, args []string) ordered.Map
	forms  []form   // other layouts of the file; key and entry are for a new file
	within []string // path of the list of servers in another layout; nil = key

	// hand returns the member of an entry that passes variables to the server. It is nil if servers
	// get all variables of the host. It was tested with the version in Rewrite.
	hand func(variables []string) ordered.Member

	// allow is the path, in the host's file, path of the list of servers that may start; nil if
	// there is no such list.
	allow []string

	// process is the process name of the host; empty = its command.
	process string

	Add     string   // the host's own command that adds the entry; empty if there is no such command
	Approve string   // how calls are approved, interactively and headless
	Rules   string   // what its permission rules can select
	Note    string   // other differences; may be empty
	Rewrite *Rewrite // nil if not recorded
}

// form is another layout of a host's file.
type form struct {
	path  []string // of the list of servers
	entry func(command string, args []string) ordered.Map
}

// Hosts lists the hosts.
var Hosts = locate([]Host{{
	Name: "claude-code", Aliases: []string{"claude"}, Title: "Claude Code", Program: "claude", key: "mcpServers", entry: withType("stdio"),
	Paths:   everywhere("${CLAUDE_CONFIG_DIR:-~}/.claude.json"),
	Project: []string{".mcp.json"},
	Add:     "claude mcp add --scope user toolfold -- toolfold serve --for=claude-code",
	Approve: "Asks at the first call of each tool. Headless (`claude -p`): `--allowedTools mcp__toolfold`, or for one tool " +
		"`mcp__toolfold__memory` with `mcp__toolfold__tools`, which only reads and explains it.",
	Rules: "By tool, not by action: allowing `mcp__toolfold__memory` also allows `clear`.",
	Rewrite: &Rewrite{
		Version: "2.1.330", Instructions: true, MaxText: 2048, name: joined("mcp__", "__"), definition: anthropic, line: nameOnly,
		Also: "sends every definition with ENABLE_TOOL_SEARCH=false, and with models that cannot search",
	},
}, {
	Name: "codex", Title: "Codex", format: tomlFile, key: "mcp_servers", entry: plain,
	hand:    func(variables []string) ordered.Member { return ordered.Member{Key: "env_vars", Value: variables} },
	Paths:   everywhere("${CODEX_HOME:-~/.codex}/config.toml"),
	Project: []string{".codex/config.toml"},
	Add:     "codex mcp add toolfold -- toolfold serve --for=codex",
	Approve: "Asks for every call of a tool that can remove something. `codex exec` refuses those unless the table " +
		"`[mcp_servers.toolfold]` has `default_tools_approval_mode = \"approve\"`.",
	Rules: "By tool, with `approval_mode` in a table such as `[mcp_servers.toolfold.tools.memory]`.",
	Note:  "It starts servers with little of the environment: put `TOOLFOLD_…` and `XDG_DATA_HOME` into `[mcp_servers.toolfold.env]`.",
	Rewrite: &Rewrite{
		Version: "0.171.0", Instructions: true, name: alone, schema: bare, definition: responses, serverLine: namespace,
		searches: func(model string) bool { return codexModel().MatchString(model) },
		Also: "puts the tools of a server into a namespace; drops formats, bounds and defaults; sends every definition to models that it " +
			"does not know, such as local ones",
	},
}, {
	Name: "gemini", Title: "Gemini CLI", key: "mcpServers", entry: plain,
	hand: func(variables []string) ordered.Member { // it does not pass variables whose names look like secrets
		var env ordered.Map
		for _, name := range variables {
			env.Set(name, "$"+name)
		}
		return ordered.Member{Key: "env", Value: env}
	},
	Paths:   everywhere("~/.gemini/settings.json"),
	allow:   []string{"mcp", "allowed"},
	Project: []string{".gemini/settings.json"},
	Add:     "gemini mcp add --scope user toolfold toolfold serve --for=gemini",
	Approve: "Asks; `\"trust\": true` in the entry allows all, `--approval-mode=yolo` everything. The folder must be trusted.",
	Rules:   "By tool, with `includeTools` and `excludeTools` in the entry.",
	Rewrite: &Rewrite{
		Version: "0.61.0", Instructions: true, name: joined("mcp_", "_"), schema: addWait, definition: gemini,
		Also: "adds wait_for_previous to every tool",
	},
}, {
	Name: "opencode", Title: "OpenCode", key: "mcp", entry: enabled(local),
	forms:   []form{{path: []string{"mcp", "servers"}, entry: local}}, // of OpenCode 2
	Paths:   everywhere(xdgConfig+"/opencode/opencode.json", xdgConfig+"/opencode/opencode.jsonc"),
	Project: []string{"opencode.json", "opencode.jsonc"},
	Approve: "Allowed unless `permission` in its settings is `ask` or `deny`.",
	Rules:   "By tool name with patterns: `toolfold_memory`, `toolfold_*`.",
	Rewrite: &Rewrite{
		Version: "1.18.33", Instructions: true, name: joined("", "_"), schema: closed, definition: chat,
		Also: "adds additionalProperties: false to every tool",
	},
}, {
	Name: "qwen", Title: "Qwen Code", key: "mcpServers", entry: plain,
	Paths:   everywhere("~/.qwen/settings.json"),
	allow:   []string{"mcp", "allowed"},
	Project: []string{".qwen/settings.json"},
	Add:     "qwen mcp add --scope user toolfold toolfold serve --for=qwen",
	Approve: "Asks; `\"trust\": true` in the entry or `--yolo` allows all.",
	Rules:   "By tool, with `includeTools` and `excludeTools` in the entry.",
	Rewrite: &Rewrite{
		Version: "0.15.10", name: joined("mcp__", "__"), definition: chat, line: boldName,
	},
}, {
	Name: "copilot", Title: "Copilot CLI", key: "mcpServers", entry: func(command string, args []string) ordered.Map {
		return append(ordered.Map{{Key: "tools", Value: []string{"*"}}}, withType("local")(command, args)...)
	},
	Paths:   everywhere("~/.copilot/mcp-config.json"),
	Approve: "Asks; headless: `--allow-tool=toolfold`, or `--allow-tool='toolfold(memory)'` for one tool.",
	Rules:   "By tool.",
	Rewrite: &Rewrite{
		Version: "1.0.102", name: joined("", "-"), definition: chat,
		Also: "moves bounds and formats into descriptions, which is not counted: 4 to 10 % more with many of them",
	},
}, {
	Name: "cline", Title: "Cline", key: "mcpServers", entry: func(command string, args []string) ordered.Map {
		return ordered.Map{{Key: "transport", Value: withType("stdio")(command, args)}}
	},
	Paths:   everywhere("~/.cline/data/settings/cline_mcp_settings.json"),
	Add:     "cline mcp add --yes toolfold -- toolfold serve --for=cline",
	Approve: "Asks; `autoApprove` in the entry lists tools that need no question.",
	Rules:   "By tool, with `autoApprove`.",
	Rewrite: &Rewrite{
		Version: "3.0.65", name: joined("", "__"), definition: chat,
	},
}, {
	Name: "cursor", Title: "Cursor", process: desktop("cursor", "Cursor"), key: "mcpServers", entry: plain,
	Paths:   everywhere("~/.cursor/mcp.json"),
	Project: []string{".cursor/mcp.json"},
	Approve: "Asks, unless auto-run is on in its settings.",
	Rules:   "By tool.",
}, {
	Name: "vscode", Title: "VS Code", Program: "code", process: desktop("code", "Code"), key: "servers", entry: withType("stdio"),
	Paths:   inConfig("Code/User/mcp.json"),
	Project: []string{".vscode/mcp.json"},
	Add:     `code --add-mcp '{"name":"toolfold","command":"toolfold","args":["serve","--for=vscode"]}'`,
	Approve: "Asks, with the choice to allow a tool for the session, the workspace or always.",
	Rules:   "By tool.",
}, {
	Name: "claude-desktop", Title: "Claude Desktop", process: desktop("claude-desktop", "Claude"), key: "mcpServers", entry: plain,
	Paths:   inConfig("Claude/claude_desktop_config.json"),
	Approve: "Asks, with the choice to allow a tool always.",
	Rules:   "By tool.",
	Note:    "It does not use the PATH of a shell: the command is an absolute path.",
}, {
	Name: "antigravity", Title: "Antigravity", Program: "agy", key: "mcpServers", entry: plain,
	Paths:   everywhere("~/.gemini/config/mcp_config.json", "~/.gemini/antigravity/mcp_config.json"),
	Project: []string{".agents/mcp_config.json"},
	Approve: "Asks, unless `toolPermission` in its settings is `always-proceed`.",
	Rules:   "By tool, with `disabledTools` in the entry.",
}, {
	Name: "devin", Aliases: []string{"windsurf", "devin-desktop"}, Title: "Devin Desktop (Windsurf)", key: "mcpServers", entry: plain,
	Paths: Paths{
		Linux:   []string{"~/.config/devin/mcp_config.json"},
		MacOS:   []string{"~/.config/devin/mcp_config.json"},
		Windows: []string{roamingData + "/devin/mcp_config.json"},
	}.or(everywhere("~/.codeium/windsurf/mcp_config.json")),
	Project: []string{".devin/mcp_config.json"},
	Approve: "Asks at the first call of a tool, with the choice to allow it, or the whole server, for the session or always.",
	Rules:   "By tool.",
	Note:    "Windsurf before its new name reads the older file, with `serverUrl` for servers at a URL.",
}, {
	Name: "zed", Title: "Zed", key: "context_servers", entry: plain,
	Paths:   apart(xdgConfig+"/zed/settings.json", "~/.config/zed/settings.json", roamingData+"/Zed/settings.json"),
	Project: []string{".zed/settings.json"},
	Approve: "In its agent settings.",
	Rules:   "By tool, in a profile: `tools` in `agent.profiles.NAME.context_servers.toolfold`.",
	Note:    "Servers that come with extensions have no command in the settings: they stay with Zed.",
}, {
	Name: "kiro", Title: "Kiro", key: "mcpServers", entry: plain,
	Paths:   everywhere("~/.kiro/settings/mcp.json"),
	Project: []string{".kiro/settings/mcp.json"},
	Approve: "Asks; `autoApprove` in the entry lists tools that need no question.",
	Rules:   "By tool, with `autoApprove` and `disabledTools` in the entry.",
}, {
	Name: "junie", Aliases: []string{"jetbrains"}, Title: "Junie (JetBrains)", key: "mcpServers", entry: plain,
	Paths:   everywhere("~/.junie/mcp/mcp.json"),
	Approve: "Asks, unless its action allowlist lets MCP tools run.",
	Rules:   "By its action allowlist.",
	Note: "AI Assistant keeps its servers in the settings of the IDE: paste the entry as JSON into Settings | Tools | AI Assistant | " +
		"Model Context Protocol (MCP).",
}, {
	Name: "warp", Title: "Warp", key: "mcpServers", entry: plain,
	Paths:   everywhere("~/.warp/.mcp.json"),
	Project: []string{".warp/.mcp.json"},
	Approve: "In its settings, Agents.",
	Rules:   "By server.",
}, {
	Name: "lm-studio", Aliases: []string{"lmstudio"}, Title: "LM Studio", key: "mcpServers", entry: plain,
	Paths:   everywhere("~/.lmstudio/mcp.json"),
	Approve: "In its settings.",
	Rules:   "By tool.",
	Note:    "Models here often run under a grammar: `--for=strict` suits them if calls lack parameters.",
}, {
	Name: "goose", Title: "Goose", format: yamlFile, key: "extensions", entry: extension,
	Paths:   apart(xdgConfig+"/goose/config.yaml", xdgConfig+"/goose/config.yaml", roamingData+"/Block/goose/config/config.yaml"),
	Approve: "By `GOOSE_MODE` in its settings: `auto`, the default, asks for nothing; `approve` and `smart_approve` ask.",
	Rules:   "By tool, in its `permission.yaml`; `available_tools` in the entry limits the list.",
}, {
	Name: "amp", Title: "Amp", key: "amp.mcpServers", entry: plain,
	Paths:   everywhere("~/.config/amp/settings.json", "~/.config/amp/settings.jsonc"),
	Project: []string{".amp/settings.json"},
	Add:     "amp mcp add toolfold -- toolfold serve --for=amp",
	Approve: "In its settings; servers in a workspace need approval.",
	Rules:   "By tool, with `includeTools` in the entry.",
}, {
	Name: "roo", Title: "Roo Code", Program: "roo", key: "mcpServers", entry: plain,
	Paths:   inConfig("Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
	Project: []string{".roo/mcp.json"},
	Approve: "Asks; `alwaysAllow` in the entry lists tools that need no question.",
	Rules:   "By tool, with `alwaysAllow` and `disabledTools` in the entry.",
}, {
	Name: "kilo", Title: "Kilo Code", key: "mcp", entry: enabled(local),
	forms: []form{{path: []string{"mcpServers"}, entry: plain}}, // of the extension before 2026
	Paths: everywhere(xdgConfig+"/kilo/kilo.jsonc", xdgConfig+"/kilo/kilo.json").
		or(inConfig("Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json")),
	Project: []string{"kilo.jsonc", "kilo.json", ".kilo/kilo.jsonc", ".kilo/kilo.json", ".kilocode/mcp.json"},
	Approve: "Asks; `permission` in its settings allows tools: `\"toolfold_*\": \"allow\"`.",
	Rules:   "By tool name with patterns: `toolfold_memory`, `toolfold_*`.",
}, {
	Name: "continue", Title: "Continue", format: yamlList, key: "mcpServers", entry: plain,
	Manual:  "paste it into ~/.continue/config.yaml: as YAML with comments it is not rewritten",
	Approve: "By its tool policies: ask, automatic or excluded, for each tool.",
	Rules:   "By tool.",
}, {
	Name: "n8n", Title: "n8n", format: nothing,
	Manual: "add an MCP Client Tool node: endpoint http://127.0.0.1:8137/mcp, HTTP streamable, bearer authentication with the token of " +
		"--http-token-file",
	Approve: "Does not ask: a workflow makes every call of its agent. Choose the tools in the node.",
	Rules:   "By tool.",
	Note: "Serve with `toolfold serve --for=n8n --http 127.0.0.1:8137`. From a container, name the host's address in `--http` and " +
		"`--allowed-hosts`.",
}})

// locate sets Path for each host with Paths.
func locate(hosts []Host) []Host {
	for i := range hosts {
		if paths := hosts[i].Paths; len(paths.Linux) > 0 {
			hosts[i].Path = paths.existing
		}
	}
	return hosts
}

// desktop returns the process name of a desktop program, for Linux or for macOS and Windows.
func desktop(linux, elsewhere string) string {
	if runtime.GOOS == "linux" {
		return linux
	}
	return elsewhere
}

// Find returns the host with a name or alias, or nil if there is no such host.
func Find(name string) *Host {
	for i := range Hosts {
		if Hosts[i].Name == name || slices.Contains(Hosts[i].Aliases, name) {
			return &Hosts[i]
		}
	}
	return nil
}

// OfFile returns the host with the name of a result of [Owner], or nil if there is no such host.
func OfFile(name string) *Host {
	if name == anybody.Name {
		return &anybody
	}
	return Find(name)
}

// Args returns the arguments of the program in the host's entry. They do not select a surface, so
// that a later release can choose a better one.
func (h *Host) Args() []string { return []string{"serve", "--for=" + h.Name} }

// Names lists the names of the hosts.
func Names() []string {
	names := make([]string, len(Hosts))
	for i, h := range Hosts {
		names[i] = h.Name
	}
	return names
}

// Installed reports whether the host seems to be installed: its file, the folder of the file or its
// program exists.
func (h *Host) Installed() bool {
	if h.Path == nil {
		return false
	}
	files, err := h.Paths.here()
	if err != nil {
		return false
	}
	home, homeErr := os.UserHomeDir()
	for _, file := range files {
		if _, err := os.Stat(file); err == nil {
			return true
		}
		if dir := filepath.Dir(file); homeErr == nil && dir != home {
			if _, err := os.Stat(dir); err == nil {
				return true
			}
		}
	}
	_, err = exec.LookPath(cmp.Or(h.Program, h.Name))
	return err == nil
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

// local is the entry of OpenCode 2, and with enabled of OpenCode.
func local(command string, args []string) ordered.Map {
	return ordered.Map{{Key: "type", Value: "local"}, {Key: "command", Value: append([]string{command}, args...)}}
}

// enabled adds the member enabled to an entry.
func enabled(entry func(string, []string) ordered.Map) func(string, []string) ordered.Map {
	return func(command string, args []string) ordered.Map {
		return append(entry(command, args), ordered.Member{Key: "enabled", Value: true})
	}
}

// extension is the entry of Goose.
func extension(command string, args []string) ordered.Map {
	return ordered.Map{{Key: "type", Value: "stdio"}, {Key: "name", Value: Server}, {Key: "enabled", Value: true},
		{Key: "cmd", Value: command}, {Key: "args", Value: plain(command, args)[1].Value}}
}

// Snippet returns the text to paste into the host's file, or an empty string if the host has no
// file.
func (h *Host) Snippet(command string, args []string) string {
	switch h.format {
	case tomlFile:
		return h.table(command, args)
	case yamlFile:
		return string(yamlx.FromJSON(ordered.MustJSON(ordered.Map{{Key: h.key, Value: ordered.Map{
			{Key: Server, Value: h.entry(command, args)},
		}}})))
	case yamlList:
		list := ""
		for _, arg := range args {
			list += "\n      - " + quote(arg)
		}
		return fmt.Sprintf("%s:\n  - name: %s\n    command: %s\n    args:%s\n", h.key, Server, quote(command), list)
	case nothing:
		return ""
	}
	text, _ := jsonedit.Set([]byte("{}"), ordered.MustJSON(h.entry(command, args)), h.list(Server)...) // this never fails for an empty object
	return string(text) + "\n"
}

// Syntax names the language of the host's file, for readers of the snippet.
func (h *Host) Syntax() string {
	switch h.format {
	case tomlFile:
		return "toml"
	case yamlFile, yamlList:
		return "yaml"
	}
	return "json"
}

// table returns the entry in TOML. Strings are in JSON syntax, which is valid TOML.
func (h *Host) table(command string, args []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s.%s]\n", h.key, Server)
	for _, member := range h.entry(command, args) {
		text := string(ordered.MustJSON(member.Value))
		fmt.Fprintf(&b, "%s = %s\n", member.Key, strings.ReplaceAll(text, `","`, `", "`))
	}
	return b.String()
}

func quote(text string) string { return string(ordered.MustJSON(text)) }
