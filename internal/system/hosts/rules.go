package hosts

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/pattern"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// ruleFiles has the files in which Claude Code has permission rules for all folders: the user's, and an administrator's.
var ruleFiles = []Paths{
	everywhere("${CLAUDE_CONFIG_DIR:-~/.claude}/settings.json"),
	apart("/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json",
		"C:/Program Files/ClaudeCode/managed-settings.json"),
}

// Rule is a permission rule for the tools of a server, in a settings file of the host.
type Rule struct {
	Text string // as the file has it
	File string
	Kind string // deny, ask or allow

	server, tool string // as the host writes names; the tool may have * in it
}

// ToolRules returns the rules of the host's settings that name tools of servers: those for all folders, or with a folder
// those of its own files. Only Claude Code has such rules outside of its entries. A missing file has no rules.
func (h *Host) ToolRules(folder string) (list []Rule, err error) {
	if !h.hasFolders() {
		return nil, nil
	}
	var files []string
	if folder != "" {
		for _, name := range []string{"settings.json", "settings.local.json"} {
			files = append(files, filepath.Join(folder, ".claude", name))
		}
	} else {
		for _, paths := range ruleFiles {
			file, err := paths.existing()
			if err != nil {
				return nil, err
			}
			files = append(files, file)
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading permission rules: %w", err)
		}
		all, err := settings(text, h.format)
		if err != nil {
			return nil, fmt.Errorf("reading permission rules: %s: %v", file, err) // its place is in that file, not in the servers' one
		}
		for _, kind := range []string{"deny", "ask", "allow"} {
			for _, rule := range texts(object(all, "permissions")[kind]) {
				server, tool, _ := strings.Cut(strings.TrimPrefix(rule, "mcp__"), "__")
				if strings.HasPrefix(rule, "mcp__") {
					list = append(list, Rule{Text: rule, File: file, Kind: kind, server: server, tool: tool})
				}
			}
		}
	}
	return list, nil
}

// unfitInRule matches characters that Claude Code replaces in names of servers and tools.
var unfitInRule = regex.Lazy(`[^A-Za-z0-9_-]`)

// fitting returns the name of a server or tool as rules have it.
func fitting(name string) string { return unfitInRule().ReplaceAllString(name, "_") }

// Names reports whether the rule is for tools of a server.
func (r Rule) Names(server string) bool { return r.server == fitting(server) }

// Denies reports whether the rule denies a tool of its server.
func (r Rule) Denies(tool string) bool {
	return r.Kind == "deny" && pattern.Pattern(r.tools()).Match(fitting(tool))
}

// Restrict puts rules of the host into an entry: denied tools are left out of it, and approvals stand beside those of
// the entry. A server whose every tool is denied is switched off.
func (e *Entry) Restrict(rules []Rule) {
	for _, r := range rules {
		switch {
		case !r.Names(e.Name):
		case r.Kind == "deny" && r.tools() == "*":
			e.Off = true
		case r.Kind == "deny":
			e.Except = append(slices.Clip(e.Except), r.tool)
		case r.Kind == "ask":
			e.Asks = append(e.Asks, r.tools())
		default:
			if e.Approvals == nil {
				e.Approvals = map[string][]string{}
			}
			const member = "permissions.allow"
			e.Approvals[member] = append(e.Approvals[member], r.tools())
		}
	}
}

// tools returns a pattern of the tools that the rule is for.
func (r Rule) tools() string { return cmp.Or(r.tool, "*") }
