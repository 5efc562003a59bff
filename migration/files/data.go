package files

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/migration"
)

// data is a value in a settings file, a log or a definition, with its position.
type data struct {
	part
	keys []string // keys of the objects around the value
	near *node    // the object that contains it; may be nil

	// server is the owner of the entry around the value, in a list of servers.
	server scope
}

type scope int

const (
	noServer scope = iota
	ourServer
	theirServer
)

// value handles a value. Items of a list have the key of the list.
func (d data) value(n node) {
	switch n.kind {
	case textNode:
		d.string(n)
	case objectNode:
		if d.isDefinition(n) {
			return
		}
		d.call(n)
		for _, m := range n.members {
			d.member(n, m)
		}
	case listNode:
		if commandKey().MatchString(d.key(0)) && len(n.items) > 1 {
			d.words(n.items)
			return
		}
		for _, item := range n.items {
			d.value(item)
		}
	}
}

// key returns the key of the value, or of the object that many levels around it.
func (d data) key(up int) string {
	if up >= len(d.keys) {
		return ""
	}
	return d.keys[len(d.keys)-1-up]
}

// serverLists matches keys under which hosts list servers by name.
var serverLists = regex.Lazy(`^(mcpServers|mcp_servers|servers|context_servers|mcp|extensions|contextServers)$`)

func (d data) member(n node, m member) {
	inner := d
	inner.keys = append(slices.Clone(d.keys), m.key.text)
	inner.near = &n
	if serverLists().MatchString(d.key(0)) && m.value.kind == objectNode {
		if inner.server = theirServer; d.isOurServer(m.key.text) {
			inner.server = ourServer
		}
	}
	d.byKey(m)
	inner.value(m.value)
}

// saying matches values that allow or deny the tool in their key.
var saying = regex.Lazy(`(?i)^(allow|allowed|approve|approved|enabled?|always|on|ask|prompt|deny|denied|reject|never|` +
	`disabled?|exclude|off|block)$`)

// byKey handles a rule whose key is the tool. The value is false, "deny" or an object of settings.
func (d data) byKey(m member) {
	n, ok := d.nameIn(m.key)
	if !ok || d.server == theirServer {
		return
	}
	about := n.prefix != "" || d.server == ourServer || isAboutTools(d.key(0))
	value := strings.TrimSpace(m.value.text)
	if m.value.kind == otherNode {
		value = d.text[m.value.start:m.value.end]
	}
	switch {
	case !about || m.value.kind == otherNode && value != "true" && value != "false" && n.prefix == "" && d.server != ourServer:
	case value == "false" || m.value.kind == textNode && saying().MatchString(value) && effectOf(value) == forbids || value == "off":
		d.reportRule(n, forbids)
	case effectOf(d.key(0)) == forbids:
		d.reportRule(n, forbids)
	case value == "true" || m.value.kind == textNode && saying().MatchString(value):
		if g := effectOf(value); g == asks {
			d.reportRule(n, g)
		} else {
			d.reportRule(n, permits)
		}
	case m.value.kind == objectNode && (n.prefix != "" || d.server == ourServer):
		d.reportRule(n, d.ofSettings(m.value))
	case n.prefix != "":
		d.reportRule(n, effectOf(d.key(0)))
	}
}

// ofSettings returns the effect of a tool's settings, such as approval_mode = "approve".
func (d data) ofSettings(n node) ruleEffect {
	g := noEffect
	for _, m := range n.members {
		value := m.value.text
		if m.value.kind == otherNode {
			value = d.text[m.value.start:m.value.end]
		}
		switch {
		case m.value.kind == textNode && effectOf(value) != noEffect:
			g = effectOf(value)
		case value == "false" && effectOf(m.key.text) == permits, value == "true" && effectOf(m.key.text) == forbids:
			return forbids
		case value == "true":
			g = effectOf(m.key.text)
		}
	}
	return g
}

// isDefinition reports whether an object defines a tool, as in a saved list.
func (d data) isDefinition(n node) bool {
	if !n.has("name") || n.has("arguments", "input", "args") {
		return false
	}
	parameters := n.get("parameters")
	return n.has("inputSchema", "input_schema", "annotations") || parameters != nil && parameters.has("type", "properties") ||
		n.has("description") && slices.Contains([]string{"tools", "functions", "function"}, d.key(0))
}

// call rewrites an object with the name and the arguments of a legacy tool.
func (d data) call(n node) {
	called := n.get("name")
	if called == nil || called.kind != textNode {
		return
	}
	found, ok := d.nameIn(*called)
	request := d.near != nil && d.near.has("method") && d.key(0) == callctx.ArgParams
	arguments := n.get("arguments", "input", "args")
	if !ok || arguments == nil && !request {
		return
	}
	d.callWith(found, arguments, d.style(n))
}

// style returns the notation of an object's keys and strings.
func (d data) style(n node) literalStyle {
	s := literalStyle{quote: `"`, keyQuote: `"`, open: "{"}
	for _, m := range n.members {
		if m.key.text == "name" {
			s.keyQuote = d.text[m.key.start:m.key.from]
			s.quote = d.text[m.value.start:m.value.from]
		}
	}
	return s
}

// literalStyle is the notation of an object literal.
type literalStyle struct {
	quote, keyQuote string
	open            string // start of an object: {, or map[string]any{; empty if unknown
}

func (s literalStyle) member(key, value string) string {
	return s.keyQuote + key + s.keyQuote + ": " + value
}

// callWith rewrites a call: the name to the listed tool's, and the arguments to action and params.
// It leaves calls for the user that may not be equivalent.
func (p part) callWith(n name, arguments *node, s literalStyle) {
	selected := n.selected()
	u := Use{Kind: Calls, Now: n.call()}
	why := ""
	switch {
	case arguments == nil:
		if selected.Selector != "" {
			why = "it has no arguments to put the action into: change the call by hand"
		}
	case arguments.kind == textNode:
		p.callInText(n, *arguments)
		return
	case arguments.kind != objectNode && arguments.kind != nullNode:
		why = "its arguments stand elsewhere, or are no object: change the call by hand"
	case arguments.kind == nullNode && s.open == "" && selected.Selector != "":
		why = "its arguments are nil, of a type that is not known here: change the call by hand"
	case arguments.block && selected.Selector != "":
		why = "the arguments have no brackets: change the call by hand"
	default:
		why = p.refusal(n, *arguments)
	}
	if why != "" {
		u.ByHand, u.Note = true, why
		p.addUse(n, u)
		return
	}
	p.addUse(n, u)
	p.edit(n, n.start, n.end, n.as(n.tool()))
	if selected.Selector != "" && arguments != nil {
		p.wrap(n, *arguments, s)
	}
}

// refusal returns why the arguments of a call cannot be rewritten, or "". For example, the legacy
// name ignored an argument that the new name may reject.
func (p part) refusal(n name, arguments node) string {
	if arguments.loose {
		return "the value of ... is not known: change the call by hand"
	}
	_, dropped, err := p.Rewrite(migration.Call{Name: n.old.Name, Arguments: p.asJSON(arguments)})
	switch {
	case err != nil:
		return "it cannot be taken over: " + err.Error()
	case len(dropped) > 0:
		return "the legacy name ignored " + strings.Join(dropped, ", ") + ": take that out, and change the call by hand"
	}
	return ""
}

// asJSON returns a literal as JSON. Other expressions become a number.
func (p part) asJSON(n node) json.RawMessage {
	switch n.kind {
	case textNode:
		return ordered.MustJSON(n.text)
	case nullNode:
		return json.RawMessage("null")
	case objectNode:
		m := ordered.Map{}
		for _, member := range n.members {
			m.Set(member.key.text, p.asJSON(member.value))
		}
		return ordered.MustJSON(m)
	case listNode:
		items := []json.RawMessage{}
		for _, item := range n.items {
			items = append(items, p.asJSON(item))
		}
		return ordered.MustJSON(items)
	}
	return json.RawMessage("0")
}

// wrap moves the arguments of a call into params, next to the action.
func (p part) wrap(n name, arguments node, s literalStyle) {
	action := s.member(callctx.ArgAction, s.quote+n.selected().Selector+s.quote)
	switch {
	case arguments.kind == nullNode:
		p.edit(n, arguments.start, arguments.end, s.open+action+"}")
		return
	case len(arguments.members) == 0:
		p.edit(n, arguments.end-1, arguments.end-1, action)
		return
	case arguments.has(callctx.ArgParams):
		p.edit(n, arguments.members[0].key.start, arguments.members[0].key.start, action+", ")
	default:
		p.edit(n, arguments.start, arguments.start, s.open+action+", "+s.member(callctx.ArgParams, ""))
		p.edit(n, arguments.end, arguments.end, "}")
	}
	for _, m := range arguments.members {
		for _, rename := range n.old.Renames {
			if m.key.text == rename.Was {
				p.edit(n, m.key.from, m.key.to, rename.Field.Param().Name)
			}
		}
	}
}

// callInText rewrites a call whose arguments are a JSON string, as in model logs.
func (p part) callInText(n name, arguments node) {
	inner := p.content(arguments)
	object, ok := inner.object()
	if strings.TrimSpace(inner.text) == "" || !ok || object.kind != objectNode {
		p.addUse(n, Use{Kind: Calls, Now: n.call(), ByHand: true, Note: "its arguments are no JSON object: change the call by hand"})
		return
	}
	if why := inner.refusal(n, object); why != "" {
		p.addUse(n, Use{Kind: Calls, Now: n.call(), ByHand: true, Note: why})
		return
	}
	p.addUse(n, Use{Kind: Calls, Now: n.call()})
	p.edit(n, n.start, n.end, n.as(n.tool()))
	if n.selected().Selector != "" {
		inner.wrap(n, object, literalStyle{`"`, `"`, "{"})
	}
}

// ruleInBrackets matches a tool in a host's rule: Mcp(server:tool), server(tool).
var ruleInBrackets = regex.Lazy(`^(?i:mcp)\(([^()]*)\)$|^[A-Za-z0-9_-]+\([A-Za-z0-9_*-]+\)$`)

// nameIn returns the legacy name that makes up a string, except for additions of rules in brackets.
func (p part) nameIn(n node) (found name, ok bool) {
	inside := p.sub(n.from, n.to)
	for _, found := range inside.names() {
		rest := inside.text[found.end:]
		before := inside.text[:found.start]
		if (before == "" || ruleInBrackets().MatchString(inside.text) || before == "@") &&
			(rest == "" || rest[0] == '(' || rest == ")") {
			found.start, found.end = found.start+n.from, found.end+n.from
			return found, true
		}
	}
	return name{}, false
}

// Keys whose values have a known purpose.
var (
	commandKey = regex.Lazy(`(?i)^(args|command|cmd|run|scripts?|claude_args|postCreateCommand|postStartCommand|postAttachCommand|` +
		`entrypoint|before_script|after_script|test|exec|cli_args|extra_args|additional_args|shell)$`)
	promptKey = regex.Lazy(`(?i)^(.*prompts?|instructions?|.*_?instructions|system|.*description|rules?|message|persona|goal|backstory|` +
		`whentouse|customInstructions|roleDefinition|guidelines|summary|about)$`)
	patternKey = regex.Lazy(`(?i)^(matcher|pattern|regexp?|match|matches)$`)
	toolKey    = regex.Lazy(`(?i)^(tool|tool_?name)s?$`)
	stepKey    = regex.Lazy(`^(steps|workflow|config|then|else|stepId|input|do|catch)$`)
)

// string handles a string.
func (d data) string(n node) {
	if d.server == theirServer || d.isOption() {
		return
	}
	if found, ok := d.nameIn(n); ok {
		d.whole(found)
		return
	}
	inner := d.content(n)
	switch {
	case patternKey().MatchString(d.key(0)):
		for _, found := range inner.names() {
			if found.prefix != "" || strings.Contains(inner.text, "mcp_") || d.under("hooks") {
				inner.reportComparison(found)
			}
		}
	case commandKey().MatchString(d.key(0)) || commandKey().MatchString(d.key(1)) || runsTools().MatchString(inner.text):
		inner.shell()
	case promptKey().MatchString(d.key(0)) && strings.ContainsAny(inner.text, " \n"):
		inner.prose(true)
	default:
		d.several(inner)
	}
}

// runsTools matches a command that calls a tool, or has options for allowed tools.
var runsTools = regex.Lazy(`toolfold call |--(dis)?allow(ed)?-?[tT]ools?\b`)

// isOption reports whether the value is an option of this server, which also accepts legacy names.
func (d data) isOption() bool {
	return strings.HasPrefix(d.key(0), "TOOLFOLD_") || strings.HasSuffix(d.path, ".toolfold/config.json")
}

func (d data) under(key string) bool { return slices.Contains(d.keys, key) }

// governs returns the effect of the keys around a value on the tools in it; the nearest key wins.
func (d data) governs() ruleEffect {
	if d.near != nil && toolKey().MatchString(d.key(0)) {
		for _, key := range []string{"action", "decision", "permission", "effect", "policy", "level", "mode", "behavior"} {
			if value := d.near.get(key); value != nil && value.kind == textNode && effectOf(value.text) != noEffect {
				return effectOf(value.text)
			}
		}
	}
	g := noEffect
	for up := range d.keys {
		if g = effectOf(d.key(up)); g != noEffect {
			return g
		}
	}
	return g
}

// whole handles a string that is exactly a name.
func (d data) whole(n name) {
	g := d.governs()
	switch {
	case patternKey().MatchString(d.key(0)):
		d.reportComparison(n)
	case n.matched == nil && n.prefix == "" && toolKey().MatchString(d.key(0)) && d.isStep():
		d.step(n)
	case n.prefix != "":
		d.reportRule(n, g)
	case d.server == ourServer && g != noEffect:
		d.reportRule(n, g)
	case g != noEffect && isAboutTools(d.key(0)) && d.key(len(d.keys)-1) != "tool" && !d.isCalled():
		d.reportRule(n, g)
	}
}

// isCalled reports whether the value is the name in a call, which call handles.
func (d data) isCalled() bool { return d.key(0) == "name" }

// isStep reports whether the value belongs to an agent, a workflow or a task of this server.
func (d data) isStep() bool {
	return strings.Contains("/"+d.path, "/.toolfold/") || slices.ContainsFunc(d.keys[:max(0, len(d.keys)-1)], stepKey().MatchString) ||
		d.near != nil && d.near.has("stepId", "arguments")
}

// step handles the tool of a step, or a list of tools that a step's model may call.
func (d data) step(n name) {
	if strings.HasSuffix(strings.ToLower(d.key(0)), "s") {
		d.rewriteListed(n)
		return
	}
	if arguments := d.near.get("arguments"); arguments != nil && arguments.kind == objectNode {
		if why := d.refusal(n, *arguments); why != "" {
			d.addUse(n, Use{Kind: Calls, Now: n.action.FullName(), ByHand: true, Note: why})
			return
		}
	}
	d.rewriteName(n)
}

// several handles a string that may list names: a,b c.
func (d data) several(p part) {
	g := d.governs()
	for _, n := range p.names() {
		inList := g != noEffect && isAboutTools(d.key(0)) || n.prefix != ""
		if !inList || !standsInList(p.text, n) {
			continue
		}
		p.reportRule(n, g)
	}
}

// standsInList reports whether a name is an item of a list in a text.
func standsInList(text string, n name) bool {
	before := strings.TrimRight(text[:n.start], " \t\r\n@(")
	after := strings.TrimLeft(text[n.end:], " \t\r\n)")
	return (before == "" || strings.ContainsRune(",;[|'\"", rune(before[len(before)-1])) || before != text[:n.start]) &&
		(after == "" || strings.ContainsRune(",;]|('\"", rune(after[0])) || after != text[n.end:])
}
