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

// ruleFiles has Claude Code's files with permission rules for all folders: the user's and the
// administrator's.
var ruleFiles = []Paths{
	everywhere("${CLAUDE_CONFIG_DIR:-~/.claude}/settings.json"),
	apart("/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json",
		"C:/Program Files/ClaudeCode/managed-settings.json"),
}

// Rule is a permission rule for the tools of a server, in a settings file of the host.
type Rule struct {
	Text string // as in the file
	File string
	Kind string // deny, ask or allow

	text string // after mcp__, in the host's spelling; deny and ask rules may contain *
}

// mcp is the prefix of the names of tools of servers: mcp__SERVER__TOOL.
const mcp = "mcp__"

// ToolRules returns the rules for tools of servers in the host's settings. If folder is empty, it
// returns the rules for all folders, otherwise the rules in the folder's own files. Only Claude
// Code has such rules outside of its entries. A missing file has no rules.
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
			more, err := managedFiles(file)
			if err != nil {
				return nil, fmt.Errorf("reading permission rules: %w", err)
			}
			files = append(append(files, file), more...)
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
			return nil, fmt.Errorf("reading permission rules: %s: %v", file, err) // not %w: the position is in this file, not in the servers'
		}
		for _, kind := range []string{"deny", "ask", "allow"} {
			for _, rule := range texts(object(all, "permissions")[kind]) {
				text, ok := strings.CutPrefix(rule, mcp)
				if front, _, hasStar := strings.Cut(rule, "*"); kind != "allow" && hasStar {
					ok = ok || strings.HasPrefix(mcp, front)
				}
				if ok {
					list = append(list, Rule{Text: rule, File: file, Kind: kind, text: text})
				}
			}
		}
	}
	return list, nil
}

// managedFiles returns the files in the folder managed-settings.d beside an administrator's
// managed-settings.json. It returns nil for other files and if there is no folder.
func managedFiles(file string) (list []string, err error) {
	front, ok := strings.CutSuffix(file, "managed-settings.json")
	if !ok {
		return nil, nil
	}
	entries, err := os.ReadDir(front + "managed-settings.d")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") {
			list = append(list, filepath.Join(front+"managed-settings.d", e.Name()))
		}
	}
	return list, nil
}

// maxSettings limits a settings file, in bytes.
const maxSettings = 1 << 20

// readSettings reads a settings file, which may be a symbolic link.
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

// fitting returns the name of a server or tool in the spelling of rules.
func fitting(name string) string { return unfitInRule().ReplaceAllString(name, "_") }

// Names reports whether the rule is for tools of a server.
func (r Rule) Names(server string) bool { return len(r.tools(server)) > 0 }

// Denies reports whether the rule denies a tool of a server.
func (r Rule) Denies(server, tool string) bool {
	return r.Kind == "deny" && !r.Narrow() &&
		slices.ContainsFunc(r.tools(server), func(p string) bool { return pattern.Pattern(p).Match(fitting(tool)) })
}

// Narrow reports whether the rule is only for some arguments of a tool, in parentheses. No toolfold
// rule has the same effect.
func (r Rule) Narrow() bool { return strings.Contains(r.text, "(") }

// Restrict applies rules of the host to an entry: it excludes denied tools and adds asks and
// approvals. A server whose tools are all denied is switched off. It skips narrow rules.
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

// tools returns patterns for the tools of a server that the rule applies to, or nil if it does not
// apply. The name of a server may contain __, so it may end at each __: mcp__a__b__c is for tool
// b__c of server a, and for tool c of server a__b.
func (r Rule) tools(server string) (list []string) {
	text, _, _ := strings.Cut(r.text, "(")
	if r.Kind == "allow" { // the host accepts no * for the server in allow rules
		if text == fitting(server) {
			return []string{"*"}
		}
		if tool, ok := strings.CutPrefix(text, fitting(server)+"__"); ok {
			return []string{cmp.Or(tool, "*")}
		}
		return nil
	}
	// A * may stand for a part of the server's name and of the tool's: the rule is split at each
	// place where its front matches the whole prefix of the server's tools.
	full, _, _ := strings.Cut(r.Text, "(")
	prefix := mcp + fitting(server)
	if pattern.Pattern(full).Match(prefix) {
		list = append(list, "*")
	}
	for at := range len(full) + 1 {
		if !pattern.Pattern(full[:at]).Match(prefix + "__") {
			continue
		}
		tool := full[at:]
		if strings.HasSuffix(full[:at], "*") {
			tool = "*" + strings.TrimLeft(tool, "*")
		}
		if tool = cmp.Or(tool, "*"); !slices.Contains(list, tool) {
			list = append(list, tool)
		}
	}
	return list
}
