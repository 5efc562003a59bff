package files_test

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/test/golden"
	"github.com/toolfold/toolfold/migration"
	"github.com/toolfold/toolfold/migration/files"
	"github.com/toolfold/toolfold/permission"
)

// effect is a host's action when a tool is called.
type effect string

const (
	allowed effect = "allowed"
	asked   effect = "asked"
	denied  effect = "denied"
)

// ruleSet holds the rules of a host by effect. Tools without a rule get otherwise.
type ruleSet struct {
	allow, ask, deny []string
	otherwise        effect
}

// of returns the effect for a tool, by the host's name for it.
func (r ruleSet) of(tool string) effect {
	matches := func(pattern string) bool { ok, _ := path.Match(pattern, tool); return ok }
	switch {
	case slices.ContainsFunc(r.deny, matches):
		return denied
	case slices.ContainsFunc(r.ask, matches):
		return asked
	case slices.ContainsFunc(r.allow, matches):
		return allowed
	}
	return r.otherwise
}

// ruleHost is a host's format of rules for tools.
type ruleHost struct {
	name, file string
	prefix     string // of tools in rules
	write      func(r ruleSet) string
	read       func(t *testing.T, text string) ruleSet
}

func quotedList(names []string) string {
	if names == nil {
		return "[]"
	}
	text, _ := json.Marshal(names)
	return string(text)
}

func settingsIn[T any](t *testing.T, decode func([]byte, any) error, text string) (v T) {
	t.Helper()
	if err := decode([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// inServer returns hosts with lists in the entry of a server. Tools in no list have the effect
// otherwise.
func inServer(name, file, permits, forbids string, otherwise effect) ruleHost {
	type entry = map[string]map[string]map[string][]string
	return ruleHost{
		name: name, file: file,
		write: func(r ruleSet) string {
			return fmt.Sprintf(`{"mcpServers": {"toolfold": {%q: %s, %q: %s}}}`, permits, quotedList(r.allow), forbids, quotedList(r.deny))
		},
		read: func(t *testing.T, text string) ruleSet {
			e := settingsIn[entry](t, json.Unmarshal, text)["mcpServers"]["toolfold"]
			return ruleSet{allow: e[permits], deny: e[forbids], otherwise: otherwise}
		},
	}
}

// ruleHosts returns the formats of twelve hosts.
func ruleHosts() []ruleHost {
	inMap := func(text func(pairs string) string, keys ...string) func(r ruleSet) string {
		return func(r ruleSet) string {
			var pairs []string
			for _, list := range []struct {
				names []string
				value string
			}{{r.allow, keys[0]}, {r.ask, keys[1]}, {r.deny, keys[2]}} {
				for _, n := range list.names {
					pairs = append(pairs, fmt.Sprintf("%q: %s", n, list.value))
				}
			}
			return text(strings.Join(pairs, ", "))
		}
	}
	fromMap := func(values map[string]any, otherwise effect) (r ruleSet) {
		r.otherwise = otherwise
		for name, value := range values {
			switch value {
			case "allow", true:
				r.allow = append(r.allow, name)
			case "ask":
				r.ask = append(r.ask, name)
			default:
				r.deny = append(r.deny, name)
			}
		}
		return r
	}
	hosts := []ruleHost{{
		name: "claude settings", file: ".claude/settings.json", prefix: "mcp__toolfold__",
		write: func(r ruleSet) string {
			return fmt.Sprintf("{\n  \"permissions\": {\n    \"allow\": %s,\n    \"ask\": %s,\n    \"deny\": %s\n  }\n}\n",
				quotedList(r.allow), quotedList(r.ask), quotedList(r.deny))
		},
		read: func(t *testing.T, text string) ruleSet {
			p := settingsIn[map[string]map[string][]string](t, json.Unmarshal, text)["permissions"]
			return ruleSet{p["allow"], p["ask"], p["deny"], asked}
		},
	}, {
		name: "claude agent", file: ".claude/agents/a.md", prefix: "mcp__toolfold__",
		write: func(r ruleSet) string {
			return "---\nname: a\ntools: " + strings.Join(r.allow, ", ") + "\ndisallowedTools: " + strings.Join(r.deny, ", ") + "\n---\nWork.\n"
		},
		read: func(t *testing.T, text string) ruleSet {
			front := settingsIn[map[string]string](t, yaml.Unmarshal, strings.Split(text, "---\n")[1])
			return ruleSet{allow: strings.Split(front["tools"], ", "), deny: strings.Split(front["disallowedTools"], ", "), otherwise: denied}
		},
	}, {
		name: "claude command line", file: "run.sh", prefix: "mcp__toolfold__",
		write: func(r ruleSet) string {
			return "claude -p go --allowedTools \"" + strings.Join(r.allow, ",") + "\" --disallowedTools \"" + strings.Join(r.deny, ",") + "\"\n"
		},
		read: func(t *testing.T, text string) ruleSet {
			parts := strings.Split(text, `"`)
			return ruleSet{allow: strings.Split(parts[1], ","), deny: strings.Split(parts[3], ","), otherwise: denied}
		},
	}, {
		name: "opencode", file: "opencode.json", prefix: "toolfold_",
		write: inMap(func(pairs string) string { return `{"permission": {` + pairs + `}}` }, `"allow"`, `"ask"`, `"deny"`),
		read: func(t *testing.T, text string) ruleSet {
			return fromMap(settingsIn[map[string]map[string]any](t, json.Unmarshal, text)["permission"], allowed)
		},
	}, {
		name: "cursor", file: ".cursor/cli.json", prefix: "Mcp(toolfold:",
		write: func(r ruleSet) string {
			closed := func(names []string) (list []string) {
				for _, n := range names {
					list = append(list, n+")")
				}
				return list
			}
			return fmt.Sprintf(`{"permissions": {"allow": %s, "deny": %s}}`, quotedList(closed(r.allow)), quotedList(closed(r.deny)))
		},
		read: func(t *testing.T, text string) ruleSet {
			p := settingsIn[map[string]map[string][]string](t, json.Unmarshal, strings.ReplaceAll(text, ")", ""))["permissions"]
			return ruleSet{allow: p["allow"], deny: p["deny"], otherwise: asked}
		},
	}, {
		name: "codex", file: ".codex/config.toml",
		write: func(r ruleSet) string {
			return "[mcp_servers.toolfold]\nenabled_tools = " + quotedList(append(slices.Clone(r.allow), r.ask...)) + "\ndisabled_tools = " +
				quotedList(r.deny) + "\n"
		},
		read: func(t *testing.T, text string) ruleSet {
			e := settingsIn[map[string]map[string]map[string][]string](t, toml.Unmarshal, text)["mcp_servers"]["toolfold"]
			return ruleSet{allow: e["enabled_tools"], deny: e["disabled_tools"], otherwise: denied}
		},
	}, {
		name: "zed", file: "zed.json",
		write: inMap(func(pairs string) string {
			return `{"agent": {"profiles": {"a": {"context_servers": {"toolfold": {"tools": {` + pairs + `}}}}}}}`
		}, "true", "true", "false"),
		read: func(t *testing.T, text string) ruleSet {
			i, j := strings.LastIndex(text, "{"), strings.Index(text, "}")
			return fromMap(settingsIn[map[string]any](t, json.Unmarshal, text[i:j+1]), denied)
		},
	}, {
		name: "goose", file: "permission.yaml", prefix: "toolfold__",
		write: func(r ruleSet) string {
			return fmt.Sprintf("user:\n  always_allow: %s\n  ask_before: %s\n  never_allow: %s\n", quotedList(r.allow), quotedList(r.ask),
				quotedList(r.deny))
		},
		read: func(t *testing.T, text string) ruleSet {
			u := settingsIn[map[string]map[string][]string](t, yaml.Unmarshal, text)["user"]
			return ruleSet{u["always_allow"], u["ask_before"], u["never_allow"], asked}
		},
	}, {
		name: "copilot", file: "copilot.sh", prefix: "toolfold(",
		write: func(r ruleSet) string {
			var b strings.Builder
			b.WriteString("copilot -p go")
			for _, n := range r.allow {
				fmt.Fprintf(&b, " --allow-tool '%s)'", n)
			}
			for _, n := range r.deny {
				fmt.Fprintf(&b, " --deny-tool '%s)'", n)
			}
			return b.String() + "\n"
		},
		read: func(t *testing.T, text string) (r ruleSet) {
			r.otherwise = asked
			words := strings.Fields(text)
			for i, w := range words {
				switch name := func() string { return strings.Trim(words[i+1], "')") }; w {
				case "--allow-tool":
					r.allow = append(r.allow, name())
				case "--deny-tool":
					r.deny = append(r.deny, name())
				}
			}
			return r
		},
	}}
	return append(hosts, inServer("gemini", ".gemini/settings.json", "includeTools", "excludeTools", denied),
		inServer("roo", ".roo/mcp.json", "alwaysAllow", "disabledTools", asked),
		inServer("cline", "cline_mcp_settings.json", "autoApprove", "disabledTools", asked))
}

// renamedAction is an action with its legacy name.
type renamedAction struct {
	action *toolfold.Action
	old    string
}

func legacyTools(t *testing.T) (list []renamedAction) {
	t.Helper()
	for _, f := range app.Families() {
		for _, a := range f.Actions {
			for _, old := range a.Legacy {
				if f.Category != "discovery" {
					list = append(list, renamedAction{a, old.Name})
				}
			}
		}
	}
	if len(list) != 64 {
		t.Fatalf("%d legacy tools, not 64", len(list))
	}
	return list
}

func toolIn(a *toolfold.Action, fold consolidate.Fold) string {
	return consolidate.Entries(a.Family, fold)[slices.Index(a.Family.Actions, a)].Tool
}

// The effects of a host's rules on all 64 tools stay the same with the suggested names, in each
// host's format. With --fold=none and the exact names they are identical. With the tools of the
// other folds, nothing more is permitted once the server has the suggested denials. Denied tools
// are denied by the server in every fold. The rules themselves stay. The page docs/rules.md shows
// the results.
func TestRulesAreKept(t *testing.T) {
	t.Parallel()
	tools := legacyTools(t)
	page := rulesPage{tools: tools}
	search := files.Search{Rewriter: migration.NewRewriter(app.Families())}
	for _, h := range ruleHosts() {
		var r ruleSet
		rules := 0
		for i, tool := range tools {
			if i%5 != 2 && i%5 != 4 && tool.old != toolIn(tool.action, consolidate.ByFamily) { // otherwise its rule now means the same
				rules++
			}
			switch name := h.prefix + tool.old; i % 5 {
			case 0, 1:
				r.allow = append(r.allow, name)
			case 2:
				r.ask = append(r.ask, name)
			case 3:
				r.deny = append(r.deny, name)
			}
		}
		text := h.write(r)
		found := search.File(h.file, []byte(text))
		if string(found.Now) != text {
			t.Errorf("%s: the rules became %s", h.name, found.Now)
		}
		if len(found.Uses) < rules {
			t.Errorf("%s: %d of %d rules are found", h.name, len(found.Uses), rules)
		}
		before := h.read(t, text)
		deny := serverDenials(found.Uses)
		outcome := hostOutcome{host: h, after: map[consolidate.Fold][]effect{}}
		for _, tool := range tools {
			outcome.before = append(outcome.before, before.of(h.prefix+tool.old))
		}
		for _, fold := range ruleFolds() {
			follow, more := answered(text, found.Uses, fold)
			after := h.read(t, follow)
			rights := permission.Rules{Deny: append(slices.Clone(deny), more...)}.Rights()
			for i, tool := range tools {
				was, is := outcome.before[i], after.of(h.prefix+toolIn(tool.action, fold))
				if !rights.Allows(tool.action) {
					is = denied
				}
				wider := is == allowed && was != allowed || is == asked && was == denied
				if fold == consolidate.None && is != was || wider {
					t.Errorf("%s, fold %s: %s was %s and is %s", h.name, fold, tool.old, was, is)
				}
				outcome.after[fold] = append(outcome.after[fold], is)
			}
		}
		page.hosts = append(page.hosts, outcome)
	}
	golden.Compare(t, "../../docs/rules.md", page.text())
}

func ruleFolds() []consolidate.Fold {
	return []consolidate.Fold{consolidate.None, consolidate.ByEffect, consolidate.ByFamily}
}

// hostOutcome holds a host's effects on each tool before and after, in order of the tools.
type hostOutcome struct {
	host   ruleHost
	before []effect
	after  map[consolidate.Fold][]effect
}

// rulesPage holds the results for the rules of every host.
type rulesPage struct {
	tools []renamedAction
	hosts []hostOutcome
}

const rulesHead = `# Rules of hosts, before and after

<!-- Written by a test that evaluates the rules; ` + "`make generate`" + ` writes it. -->

Every host below had rules for the 64 legacy tools in turn: two of five permitted, one asked for where
the host can say that, one denied, and one in no rule. Then they were written as
` + "`toolfold migrate check`" + ` says, and the server was started with the ` + "`--deny`" + ` that it names. Nothing was
permitted afterwards that was not before, and with ` + "`--fold=none`" + ` everything is as it was.
[migration.md](migration.md#permission-rules) has the three ways out.

` + "| host | file | a rule | of the tools, before | `--fold=none` | `--fold=effect` | default fold |" + `
|---|---|---|---|---|---|---|
`

func (p rulesPage) text() string {
	var b strings.Builder
	b.WriteString(rulesHead)
	for _, h := range p.hosts {
		fmt.Fprintf(&b, "| %s | `%s` | `%smemory_clear%s` | %s |", h.host.name, h.host.file, h.host.prefix,
			strings.Repeat(")", strings.Count(h.host.prefix, "(")), whatBecame(h.before, h.before))
		for _, fold := range ruleFolds() {
			fmt.Fprintf(&b, " %s |", whatBecame(h.before, h.after[fold]))
		}
		b.WriteString("\n")
	}
	first := p.hosts[0]
	fmt.Fprintf(&b, "\nTool by tool, for %s, where what no rule names is asked for:\n\n", first.host.name)
	b.WriteString("| tool | before | tool, `--fold=none` | then | tool, `--fold=effect` | then | tool, default fold | then |\n" +
		"|---|---|---|---|---|---|---|---|\n")
	for i, tool := range p.tools {
		fmt.Fprintf(&b, "| `%s` | %s |", tool.old, first.before[i])
		for _, fold := range ruleFolds() {
			fmt.Fprintf(&b, " `%s` | %s |", toolIn(tool.action, fold), first.after[fold][i])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// whatBecame counts the effects after the migration by those before.
func whatBecame(before, after []effect) string {
	var list []string
	for _, was := range []effect{allowed, asked, denied} {
		counts, all := map[effect]int{}, 0
		for i := range before {
			if before[i] == was {
				counts[after[i]]++
				all++
			}
		}
		if all == 0 {
			continue
		}
		text := fmt.Sprintf("%d %s", all, was)
		for _, is := range []effect{allowed, asked, denied} {
			if is != was && counts[is] > 0 {
				text += fmt.Sprintf(", %d of them %s", counts[is], is)
			}
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}

// serverDenials lists the actions that the server must deny according to the result.
func serverDenials(uses []files.Use) (list []string) {
	for _, u := range uses {
		if u.Rule.Deny != "" {
			list = append(list, strings.Split(u.Rule.Deny, ",")...)
		}
	}
	return list
}

// answered returns the rules as the result suggests them for a fold, and the actions that the
// server must deny so that the rules permit no more. Rules that forbid stay: the server's denials
// replace them.
func answered(text string, uses []files.Use, fold consolidate.Fold) (follow string, deny []string) {
	permitted := map[string]bool{} // by full name
	for _, u := range uses {
		for _, a := range u.Rule.Actions {
			permitted[a] = permitted[a] || u.Kind == files.Permits
		}
	}
	last := 0
	for _, u := range uses {
		now, also := u.Rule.Exact[0], []string(nil)
		switch {
		case u.Kind == files.Forbids && fold != consolidate.None:
			now = u.Name
		case fold == consolidate.ByEffect:
			now, also = u.Rule.ByEffect, u.Rule.AlsoByEffect
		case fold == consolidate.ByFamily:
			now, also = u.Rule.Tool, u.Rule.Also
		}
		for _, a := range also {
			if u.Kind == files.Permits && !permitted[a] {
				deny = append(deny, a)
			}
		}
		follow += text[last:u.Offset] + now
		last = u.Offset + len(u.Name)
	}
	return follow + text[last:], deny
}
