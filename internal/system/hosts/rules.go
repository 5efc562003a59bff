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

	"github.com/toolfold/toolfold/internal/system/safefile"
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

	text string // behind mcp__, as the host writes names; deny and ask rules may have * in it
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
		text, err := readSettings(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading permission rules: %s: %w", file, err)
		}
		all, err := settings(text, h.format)
		if err != nil {
			return nil, fmt.Errorf("reading permission rules: %s: %v", file, err) // its place is in that file, not in the servers' one
		}
		for _, kind := range []string{"deny", "ask", "allow"} {
			for _, rule := range texts(object(all, "permissions")[kind]) {
				if text, ok := strings.CutPrefix(rule, "mcp__"); ok {
					list = append(list, Rule{Text: rule, File: file, Kind: kind, text: text})
				}
			}
		}
	}
	return list, nil
}

// maxSettings bounds a settings file in bytes.
const maxSettings = 1 << 20

// readSettings reads a settings file, which may be a link to one elsewhere.
func readSettings(file string) ([]byte, error) {
	path, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return safefile.Read(root, filepath.Base(path), maxSettings)
}

// unfitInRule matches characters that Claude Code replaces in names of servers and tools.
var unfitInRule = regex.Lazy(`[^A-Za-z0-9_-]`)

// fitting returns the name of a server or tool as rules have it.
func fitting(name string) string { return unfitInRule().ReplaceAllString(name, "_") }

// Names reports whether the rule is for tools of a server.
func (r Rule) Names(server string) bool { return len(r.tools(server)) > 0 }

// Denies reports whether the rule denies a tool of a server.
func (r Rule) Denies(server, tool string) bool {
	return r.Kind == "deny" && !r.Narrow() &&
		slices.ContainsFunc(r.tools(server), func(p string) bool { return pattern.Pattern(p).Match(fitting(tool)) })
}

// Narrow reports whether the rule is for some arguments of a tool only, which stand in parentheses. No rule of
// toolfold does the same.
func (r Rule) Narrow() bool { return strings.Contains(r.text, "(") }

// Restrict puts rules of the host into an entry: denied tools are left out of it, and approvals stand beside those of
// the entry. A server whose every tool is denied is switched off. Narrow rules are left to the caller.
func (e *Entry) Restrict(rules []Rule) {
	for _, r := range rules {
		if r.Narrow() {
			continue
		}
		for _, tool := range r.tools(e.Name) {
			switch {
			case r.Kind == "deny" && tool == "*":
				e.Off = true
			case r.Kind == "deny":
				e.Except = append(slices.Clip(e.Except), tool)
			case r.Kind == "ask":
				e.Asks = append(e.Asks, tool)
			default:
				if e.Approvals == nil {
					e.Approvals = map[string][]string{}
				}
				const member = "permissions.allow"
				e.Approvals[member] = append(e.Approvals[member], tool)
			}
		}
	}
}

// tools returns patterns of the tools of a server that the rule is for; nil if it is not for the server. A name of a
// server may have __ in it, so each __ may be where it ends: mcp__a__b__c is for b__c of a, and for c of a__b.
func (r Rule) tools(server string) (list []string) {
	text, _, _ := strings.Cut(r.text, "(")
	is := func(name string) bool {
		if r.Kind == "allow" { // the host takes no * for a server that it allows
			return name == fitting(server)
		}
		return pattern.Pattern(name).Match(fitting(server))
	}
	if is(text) {
		list = append(list, "*")
	}
	for at := range len(text) {
		if strings.HasPrefix(text[at:], "__") && is(text[:at]) {
			list = append(list, cmp.Or(text[at+2:], "*"))
		}
	}
	return list
}
