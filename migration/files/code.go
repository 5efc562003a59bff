package files

import (
	"strings"

	"github.com/toolfold/toolfold/internal/code/lex"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// uses handles the strings and keys of a source file. It only rewrites names whose arguments are
// next to them. For other names, the context decides whether they are tool names at all.
func (c *code) uses() {
	for i := range c.tokens {
		switch {
		case c.isText(i):
			c.text(i)
		case c.isWord(i) && (c.isKey(i) || strings.HasPrefix(c.at(i), "mcp_")):
			c.word(i)
		}
	}
}

// word handles a name outside of strings: a host's function or key for a tool, or a key in a table
// of tools.
func (c *code) word(i int) {
	n, ok := c.nameAt(c.tokens[i].Start, c.tokens[i].End())
	switch {
	case !ok:
	case strings.HasPrefix(n.prefix, "mcp_"), n.prefix == "" && c.isHandled(i):
		c.reportMention(n)
	}
}

// isKey reports whether a token is the key of an object member.
func (c *code) isKey(i int) bool {
	return c.at(i+1) == ":" && c.at(c.parent[i]) == "{" && (c.at(i-1) == "{" || c.at(i-1) == ",")
}

// isHandled reports whether the value of a key is a handler of the tool, in a table of tools.
func (c *code) isHandled(i int) bool {
	return c.governsTools(i) && !c.namesOtherThing(i) && c.isWord(i+2) && c.at(i+2) != "true" && c.at(i+2) != "True"
}

// magic handles the shell lines in the code of a notebook.
func (c *code) magic() {
	for _, t := range c.tokens {
		line := strings.TrimRight(c.part.text[:t.Start], " \t")
		if t.Kind == lex.Operator && (t.Text == "!" || t.Text == "%") && (line == "" || strings.HasSuffix(line, "\n")) {
			end := len(c.part.text)
			if n := strings.IndexByte(c.part.text[t.Start:], '\n'); n >= 0 {
				end = t.Start + n
			}
			c.sub(t.End(), end).shell()
		}
	}
}

// text handles a string in code.
func (c *code) text(i int) {
	n := c.literal(i)
	if found, ok := c.nameIn(n); ok {
		c.whole(i, found)
		return
	}
	inner := c.content(n)
	names := inner.names()
	switch {
	case len(names) == 0 || c.isTag(i) || isQuery().MatchString(inner.text):
	case c.isPattern(i):
		for _, found := range names {
			if found.prefix != "" || strings.Contains(inner.text, "mcp_") || c.strongly() {
				inner.reportComparison(found)
			}
		}
	case c.at(c.parent[i]) == "(" && c.depth < maxNested && jsonText().MatchString(inner.text):
		inner.json()
	case strings.Contains(inner.text, "toolfold call ") || c.argument(i, "toolfold"):
		inner.shell()
	default:
		c.words(i, inner, names)
	}
}

// jsonText matches JSON that contains a call.
var jsonText = regex.Lazy(`^\s*[{\[][^{]*"(name|method|jsonrpc|tool)"\s*:`)

// isQuery matches an SQL statement.
var isQuery = regex.Lazy(`(?is)\b(select|insert|update|delete|create|drop|alter)\b.*\b(from|into|table|set|index)\b`)

// isTag reports whether a string is a Go struct tag.
func (c *code) isTag(i int) bool {
	return c.language == golang && strings.HasPrefix(c.at(i), "`") && structTag().MatchString(c.at(i))
}

var structTag = regex.Lazy("^`\\w+:\"")

// words handles a string with names among other words: a list, or text for a model.
func (c *code) words(i int, inner part, names []name) {
	governs := c.governs(i)
	for _, n := range names {
		switch {
		case standsInList(inner.text, n) && (n.prefix != "" || governs != noEffect && !strings.Contains(inner.text, ". ")) &&
			!strings.Contains(strings.TrimSpace(inner.text), " "):
			inner.reportRule(n, governs)
		case n.prefix != "" && strings.ContainsAny(n.prefix, "(/:@"), n.matched != nil:
			inner.reportRule(n, governs)
		case n.prefix == "" && (c.namesOtherThing(i) || !c.weakly() && !forModels().MatchString(inner.text)):
		case n.prefix == "" && strings.ContainsAny(inner.text, "/\\") && !strings.ContainsAny(inner.text, " \n"):
		default:
			inner.inProse(n, false)
		}
	}
}

// forModels matches words that are typical of prompts.
var forModels = regex.Lazy(`(?i)\b(use|call|run|tools?|invoke)\b`)

// Words that show that a file is about tools of MCP servers.
var (
	strongSigns = regex.Lazy(`(?i)toolfold|(call|list|get|use|run|invoke|execute)_?tools?\b|tools/call|mcp|` +
		`tool[_ ]?(use|calls?|names?|choice)|allowed_?tools|permitted_?tools`)
	weakSigns = regex.Lazy(`(?i)\b(tools?|agents?|prompts?|claude|llm)\b`)
)

func (d *document) strongly() bool {
	if d.strong == nil {
		found := strongSigns().MatchString(d.file)
		d.strong = &found
	}
	return *d.strong
}

func (d *document) weakly() bool {
	if d.weak == nil {
		found := d.strongly() || weakSigns().MatchString(d.file)
		d.weak = &found
	}
	return *d.weak
}

// callee returns the function whose call has a token among its arguments, and the index of the
// call's bracket. It returns "" and -1 if there is no such call.
func (c *code) callee(i int) (called string, bracket int) {
	for open := c.parent[i]; open >= 0; open = c.parent[open] {
		if c.at(open) == "(" && c.isWord(open-1) {
			return c.at(open - 1), open
		}
		if c.at(open) == "{" && c.at(open-1) != ":" && c.at(open-1) != "(" && c.at(open-1) != "," && c.language != golang {
			return "", -1
		}
	}
	return "", -1
}

// Kinds of functions, by name.
var (
	callers = regex.Lazy(`(?i)^_?(do_?|try_?|mcp_?|safe_?|must_?)?(call|invoke|run|execute|use)(_?mcp)?_?tools?` +
		`(_?(by_?name|async|json|sync|raw))?$|^call$|^tool_?call$`)
	comparers = regex.Lazy(`(?i)^(starts_?with|ends_?with|has_?prefix|has_?suffix|includes|contains|match|full_?match|search|test|index_?of|` +
		`equals?|equal_?fold|to_?be|to_?equal|to_?contain|to_?match|assert_?equals?|assert_?in|has|in|compile|must_?compile)$`)
	ofData = regex.Lazy(`(?i)^(get|pop|emit|on|once|off|send|publish|subscribe|query|execute|exec_?sql|path|column|describe|it|test_?case|` +
		`getenv|` +
		`read_?csv|open|join|require|import|get_?item|set_?item|fetch|url|reverse|include|log|info|debug|warn|error|print|printf|println|` +
		`fatal|table|index|create_?table|select|insert|t|translate|gettext|counter|gauge|histogram|new_?counter|class_?name|` +
		`use_?state|dispatch)$`)
)

// whole handles a string that is exactly a name.
func (c *code) whole(i int, n name) {
	called, bracket := c.callee(i)
	switch {
	case c.isListed(i):
	case c.isTag(i):
	case c.comparedAt(i, called, bracket):
		if n.prefix != "" || c.comparesTools(i) {
			c.reportComparison(n)
		}
	case c.isKey(i):
		c.key(i, n)
	case n.matched == nil && c.calls(i, n, called, bracket):
	case c.isSubscript(i):
		if n.prefix != "" {
			c.reportMention(n)
		}
	case c.isOptionOfOurs(i):
	default:
		c.mention(i, n, called)
	}
}

// mention handles a name that is neither called nor compared: part of a rule, or a mention.
func (c *code) mention(i int, n name, called string) {
	g := c.governs(i)
	switch {
	case n.prefix != "" && g != noEffect, n.matched != nil:
		c.reportRule(n, g)
	case n.prefix != "":
		c.reportMention(n)
	case c.namesOtherThing(i) || ofData().MatchString(called) && c.parentIs(i, "("):
	case g == forbids || g == permits && c.governsTools(i):
		c.reportRule(n, g)
	case c.strongly():
		c.reportMention(n)
	}
}

func (c *code) parentIs(i int, bracket string) bool { return c.at(c.parent[i]) == bracket }

// isSubscript reports whether a string is a key in brackets: row["agent_list"].
func (c *code) isSubscript(i int) bool {
	open := c.parent[i]
	if open != i-1 || c.at(open) != "[" || c.partner[open] != i+1 {
		return false
	}
	before := c.at(open - 1)
	return before == ")" || before == "]" || c.isText(open-1) ||
		c.isWord(open-1) && !strings.Contains(" return in of case yield await not and or ", " "+before+" ")
}

// key handles a name that is a key in a literal. It counts as a rule if it has a host's prefix, or
// if its value allows or denies a tool; otherwise the literal is unrelated data.
func (c *code) key(i int, n name) {
	value := c.value(i+2, c.end(i+2))
	words := strings.Trim(c.part.text[value.start:value.end], "\"'`")
	g := c.governs(i)
	switch {
	case strings.EqualFold(words, "false") && (n.prefix != "" || c.governsTools(i)):
		c.reportRule(n, forbids)
	case value.kind == textNode && saying().MatchString(words) && (n.prefix != "" || c.governsTools(i)):
		if g = effectOf(words); g == noEffect {
			g = permits
		}
		c.reportRule(n, g)
	case n.prefix != "":
		c.reportRule(n, g)
	case c.isHandled(i):
		c.reportMention(n)
	}
}

// isListed reports whether a string is the name in a literal that defines a tool.
func (c *code) isListed(i int) bool {
	open := c.parent[i]
	return c.at(open) == "{" && data{part: c.part}.isDefinition(c.value(open, c.partner[open]+1))
}

// comparedAt reports whether a string is compared with a value.
func (c *code) comparedAt(i int, called string, bracket int) bool {
	const operators = " == === != !== in "
	is := func(at int) bool { return c.at(at) != "" && strings.Contains(operators, " "+c.at(at)+" ") }
	if is(i-1) || is(i+1) || c.at(i-1) == "case" {
		return true
	}
	for at := i; at > 0 && i-at < 64 && c.parent[at] == c.parent[i]; at-- { // case "a", "b":
		if c.at(at) == "case" {
			return true
		}
		if c.at(at) == ":" || c.at(at) == ";" {
			break
		}
	}
	open := c.parent[i]
	if open >= 0 && c.at(open-1) == "in" && c.at(open-3) != "for" {
		return true
	}
	if c.language == javascript && (strings.HasPrefix(c.at(i), "/") || c.isPattern(i)) {
		return true
	}
	return bracket >= 0 && bracket == open && comparers().MatchString(called)
}

// comparesTools reports whether the value that a name is compared with may be a tool name.
func (c *code) comparesTools(i int) bool {
	from := i
	for from > 0 && i-from < 24 && c.at(from) != ";" && c.at(from) != "{" {
		from--
	}
	around := c.part.text[c.tokens[from].Start:c.tokens[min(len(c.tokens)-1, i+4)].End()]
	if otherThings().MatchString(around) {
		return false
	}
	return c.strongly() || toolish().MatchString(around)
}

var (
	otherThings = regex.Lazy(`(?i)\b(type|kind|event|key|table|path|route|pathname|slug|column|field)\b`)
	toolish     = regex.Lazy(`(?i)tool|\bname\b|call`)
)

// isPattern reports whether a string is a regular expression.
func (c *code) isPattern(i int) bool {
	if c.language == javascript && strings.HasPrefix(c.at(i), "/") {
		return true
	}
	called, bracket := c.callee(i)
	return bracket >= 0 && bracket == c.parent[i] && patternTaker().MatchString(called)
}

var patternTaker = regex.Lazy(`(?i)^(match|full_?match|search|compile|must_?compile|match_?string|regexp?|findall|sub|test)$`)

// calls handles a name whose arguments are next to it. It reports whether the name is called.
func (c *code) calls(i int, n name, called string, bracket int) bool {
	if n.common() {
		return false
	}
	open := c.parent[i]
	if open >= 0 && c.at(open) == "{" && c.at(i-1) == ":" && strings.EqualFold(strings.Trim(c.at(i-2), `"'`), "name") {
		return c.callsIn(open, n)
	}
	if bracket < 0 || bracket != open || !callers().MatchString(called) {
		return false
	}
	keyword := c.at(i-1) == "=" || c.at(i-1) == ":"
	if keyword && c.at(i-2) != "name" && c.at(i-2) != "tool_name" {
		return false
	}
	var arguments *node
	if end := c.end(i + 1); c.at(end) == "," {
		at := end + 1
		if c.isWord(at) && (c.at(at+1) == "=" || c.at(at+1) == ":") {
			at += 2
		}
		value := c.value(at, c.end(at))
		arguments = &value
	}
	c.callWith(n, arguments, c.writing(arguments, c.at(i)[:1]))
	return true
}

// callsIn handles a name in a literal that also has the arguments.
func (c *code) callsIn(open int, n name) bool {
	literal := c.value(open, c.partner[open]+1)
	called := literal.get("name", "Name")
	arguments := literal.get("arguments", "Arguments", "input", "args")
	if literal.kind != objectNode || called == nil || arguments == nil {
		return false
	}
	c.callWith(n, arguments, c.writing(arguments, c.part.text[called.start:called.start+1]))
	return true
}

// writing returns the notation of a call's arguments.
func (c *code) writing(arguments *node, quote string) literalStyle {
	if quote != `"` && quote != "'" || c.language == golang {
		quote = `"`
	}
	s := literalStyle{quote: quote, keyQuote: quote, open: "{"}
	if c.language == javascript {
		s.keyQuote = ""
	}
	if arguments == nil || arguments.kind != objectNode {
		if c.language == golang {
			s.open = ""
		}
		return s
	}
	first := arguments.end
	if len(arguments.members) > 0 {
		key := arguments.members[0].key
		first = key.start
		if c.language != golang {
			s.keyQuote = c.part.text[key.start:key.from]
		}
	}
	if bracket := strings.LastIndexByte(c.part.text[arguments.start:first], '{'); c.language == golang && bracket >= 0 {
		s.open = c.part.text[arguments.start : arguments.start+bracket+1]
	}
	return s
}

// governors returns the names that a string belongs to, nearest first: keys, variables, options.
func (c *code) governors(i int) (list []string) {
	for at := i; at >= 0 && len(list) < 6; at = c.parent[at] {
		if name := c.assigned(at); name != "" {
			list = append(list, name)
		}
		if at != i && c.at(at) == "(" && c.isWord(at-1) { // new Set([…]), frozenset({…})
			if name := c.assigned(at - 1); name != "" {
				list = append(list, name)
			}
		}
	}
	if c.at(i-1) == "," && c.isText(i-2) && strings.HasPrefix(strings.Trim(c.at(i-2), `"'`), "-") { // "--allowedTools", "…"
		list = append([]string{strings.Trim(c.at(i-2), `"'`)}, list...)
	}
	return list
}

// assigned returns the key or variable to which the expression at a token is assigned.
func (c *code) assigned(at int) string {
	for at > 0 {
		switch before := c.at(at - 1); {
		case before == ":" || before == "=" || before == ":=" || before == "+=":
			if name := strings.Trim(c.at(at-2), "\"'`"); c.isWord(at-2) || c.isText(at-2) {
				return name
			}
			if c.at(at-2) == "]" || c.at(at-2) == ">" { // a type in between: x: string[] = …
				for back := at - 2; back > 0 && at-back < 12; back-- {
					if c.at(back) == ":" && c.isWord(back-1) {
						return c.at(back - 1)
					}
				}
			}
			return ""
		case c.isWord(at-1) && (before == "new" || before == "Set" || before == "frozenset" || before == "set" || before == "await"):
			at--
		case c.language == golang && (before == "]" || before == "string" || before == "bool" || before == "any"):
			at-- // []string{
		case c.language == golang && before == "[":
			at--
		default:
			return ""
		}
	}
	return ""
}

func (c *code) governs(i int) ruleEffect {
	for _, name := range c.governors(i) {
		if g := effectOf(name); g != noEffect {
			return g
		}
	}
	return noEffect
}

// governsTools reports whether a governor of a string is about tools.
func (c *code) governsTools(i int) bool {
	for _, name := range c.governors(i) {
		if isAboutTools(name) {
			return true
		}
	}
	return false
}

// namesOtherThing reports whether a string belongs to a name of something else, such as a table or
// a path.
func (c *code) namesOtherThing(i int) bool {
	for _, name := range c.governors(i) {
		for _, w := range wordsOf(name) {
			if otherKey().MatchString(w) {
				return true
			}
		}
	}
	called, bracket := c.callee(i)
	return bracket >= 0 && (titleOfTest().MatchString(called) || bracket == c.parent[i] && ofData().MatchString(called))
}

var (
	otherKey = regex.Lazy(`(?i)^(table|tablename|path|file|filename|dir|folder|url|route|slug|type|event|kind|key|column|topic|queue|cache|` +
		`classname|class|id|testid|bucket|index|collection|schema|module|package|cmd|image|repo|branch|metric)$`)
	titleOfTest = regex.Lazy(`^(it|describe|test|Run)$`)
)

// argument reports whether an earlier argument of the same call is this word.
func (c *code) argument(i int, word string) bool {
	for at := i - 1; at > c.parent[i] && at >= 0 && i-at < 64; at-- {
		if c.parent[at] == c.parent[i] && c.isText(at) && strings.Trim(c.at(at), `"'`) == word {
			return true
		}
	}
	return false
}

// isOptionOfOurs reports whether a string is the value of an option of this server, which also
// accepts legacy names.
func (c *code) isOptionOfOurs(i int) bool {
	option := strings.Trim(c.at(i-2), `"'`)
	return c.at(i-1) == "," && (option == "--deny" || option == "--allow")
}
