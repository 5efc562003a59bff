package files

import (
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	gmtext "github.com/yuin/goldmark/text"

	"github.com/toolfold/toolfold/internal/code/lex"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// frontMatter matches the text between lines of dashes at the start of a page.
var frontMatter = regex.Lazy(`(?s)\A---[ \t]*\r?\n(.*?\n)---[ \t]*(?:\r?\n|\z)`)

// markdown handles the front matter of a page, its code blocks and its prose. Link targets and link
// texts stay unchanged.
func (p part) markdown() {
	if front := frontMatter().FindStringSubmatchIndex(p.text); front != nil {
		p.sub(front[2], front[3]).yaml(false)
		p = p.sub(front[1], len(p.text))
	}
	source := []byte(p.text)
	root := pages().Parse(gmtext.NewReader(source))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			p.block(n.Lines()).fenced(strings.ToLower(string(n.Language(source))))
		case *ast.CodeBlock:
			p.block(n.Lines()).fenced("")
		case *ast.HTMLBlock:
			p.block(n.Lines()).betweenTags()
		case *ast.Link:
			p.link(n)
			return ast.WalkSkipChildren, nil
		case *ast.Image, *ast.AutoLink, *ast.RawHTML:
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			p.run(n)
		}
		return ast.WalkContinue, nil
	})
}

// pages returns a CommonMark parser. Leaving out the HTML renderer shortens the start of the
// program.
var pages = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...))
})

// link reports prefixed names in the text of a link for the user to check, because the link target
// may have that name.
func (p part) link(link *ast.Link) {
	_ = ast.Walk(link, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if text, ok := n.(*ast.Text); ok && entering {
			shown := p.sub(text.Segment.Start, text.Segment.Stop)
			for _, n := range shown.names() {
				if n.prefix != "" {
					shown.addUse(n, Use{Kind: Text, Now: n.call(), ByHand: true, Note: "what a link shows is changed by hand"})
				}
			}
		}
		return ast.WalkContinue, nil
	})
}

// run handles a text together with the texts that directly follow it: the parser starts a new text
// at each possible mark, such as _. It ignores texts that follow another one.
func (p part) run(n *ast.Text) {
	if before, ok := n.PreviousSibling().(*ast.Text); ok && before.Segment.Stop == n.Segment.Start {
		return
	}
	end := n.Segment.Stop
	for next, ok := n.NextSibling().(*ast.Text); ok && next.Segment.Start == end; next, ok = next.NextSibling().(*ast.Text) {
		end = next.Segment.Stop
	}
	p.sentence(n.Segment.Start, end)
}

// block returns the lines of a block as one part.
func (p part) block(lines *gmtext.Segments) part {
	var stretches [][2]int
	for i := range lines.Len() {
		s := lines.At(i)
		stretches = append(stretches, [2]int{s.Start, s.Stop})
	}
	return p.lines(stretches)
}

// mdx handles a page with components, whose code stays unchanged.
func (p part) mdx() {
	blank := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r == '\n' || r == '\r' {
				return r
			}
			return ' '
		}, s)
	}
	// A multi-byte character becomes several spaces, so that offsets stay valid.
	p.text = mdxCode().ReplaceAllStringFunc(p.text, func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			b.WriteString(blank(s[i : i+1]))
		}
		return b.String()
	})
	p.markdown()
}

// mdxCode matches code in a page with components: imports, exports and comments.
var mdxCode = regex.Lazy(`(?m)^(import|export)\s.*$|(?s:\{/\*.*?\*/\})`)

// tags matches the parts of HTML that are not text.
var tags = regex.Lazy(`(?s)<!--.*?-->|<(?:script|style)\b.*?</(?:script|style)>|<[^>]*>`)

// betweenTags handles the text in HTML.
func (p part) betweenTags() {
	at := 0
	for _, tag := range append(tags().FindAllStringIndex(p.text, -1), []int{len(p.text), len(p.text)}) {
		if tag[0] > at {
			p.sentence(at, tag[0])
		}
		at = max(at, tag[1])
	}
}

// fenced handles a code block of a page.
func (p part) fenced(language string) {
	if p.depth > maxNested {
		return
	}
	switch language {
	case "json", "jsonc", "json5", "jsonl":
		p.json()
	case "yaml", "yml":
		p.yaml(true)
	case "toml":
		p.toml()
	case "md", "markdown", "mdx", "mdc":
		p.markdown()
	case "sh", "bash", "shell", "zsh", "console", "shell-session":
		p.pseudocode(part.shell)
	case "dockerfile", "docker":
		p.dockerfile()
	case "env", "dotenv":
		p.variables()
	case "", "text", "txt", "plain":
		if n, ok := p.object(); ok {
			data{part: p}.value(n)
		} else {
			p.pseudocode(part.shell)
		}
	default:
		p.pseudocode(func(p part) {
			if code := languageOf("." + alias(language)); code != "" {
				p.code(code).uses()
			}
		})
	}
}

// pseudocode handles a block that may contain calls in pseudocode, name {arguments} or
// name({arguments}). It passes the block to read for everything else, and reports every prefixed
// name that is left.
func (p part) pseudocode(read func(part)) {
	c := p.code(javascript)
	var rest []name
	for _, n := range p.names() {
		if n.prefix == "" || n.matched != nil {
			continue
		}
		i := slices.IndexFunc(c.tokens, func(t lex.Token) bool { return t.Start >= n.end })
		if c.at(i) == "(" {
			i++
		}
		if c.at(i) == "{" && c.partner[i] > i && strings.Trim(p.text[n.end:c.tokens[i].Start], " (") == "" {
			if arguments := c.value(i, c.partner[i]+1); arguments.kind == objectNode {
				style := c.writing(&arguments, `"`)
				if len(arguments.members) == 0 {
					style.keyQuote = `"`
				}
				c.callWith(n, &arguments, style)
				continue
			}
		}
		rest = append(rest, n)
	}
	read(p)
	for _, n := range rest {
		if !slices.ContainsFunc(p.uses, func(u Use) bool { return u.Offset == n.place }) {
			p.reportMention(n)
		}
	}
}

// alias returns the file ending of a language.
func alias(language string) string {
	switch language {
	case "javascript", "node":
		return "js"
	case "typescript":
		return "ts"
	case "python", "python3":
		return "py"
	case "golang":
		return "go"
	}
	return language
}

// prose handles a whole text for models and people.
func (p part) prose(rewrite bool) {
	for _, n := range p.names() {
		p.inProse(n, rewrite)
	}
}

// sentence handles a stretch of prose within its context.
func (p part) sentence(start, end int) {
	for _, at := range word().FindAllStringIndex(p.text[start:end], -1) {
		if n, ok := p.nameAt(start+at[0], start+at[1]); ok {
			p.inProse(n, true)
		}
	}
}

// aloneBefore and aloneAfter match the surroundings of a name in prose that is not part of a path,
// a call, an address or quoted code.
var (
	aloneBefore = regex.Lazy("(^|[\\s(*>\"'“‘,:–—]|(^|\\s)#)`*$")
	aloneAfter  = regex.Lazy("^`*([\\s,;:)*!?\"'”’<|]|[.…](\\s|$|\\W)|$)")

	// The word before or after a name may show that it is not a tool.
	thingBefore = regex.Lazy("(?i)\\b(" + things + "|import|from|def|func|cd|into)\\s+[`*\"']*$")
	thingAfter  = regex.Lazy("(?i)^[`*\"']*\\s+(" + things + ")\\b")
)

const things = `tables?|columns?|fields?|index|indexes|functions?|class|classes|methods?|modules?|packages?|endpoints?|` +
	`routes?|files?|folders?|director(?:y|ies)|databases?|views?|apis?|pages?|structs?|types?|interfaces?|variables?|` +
	`events?|topics?|branch|branches|repositor(?:y|ies)|repos?|crates?|librar(?:y|ies)|scripts?|keys?|propert(?:y|ies)|` +
	`attributes?|collections?|components?|services?|queues named`

// A line of settings in prose: a key with a list, which may continue on the next lines.
var (
	ruleLine = regex.Lazy("^[\\s>*-]*[`*\"]*([a-z][A-Za-z_-]*)[`*\"]*:[`*]*[\\s\\[]*(?:[\"'`]?[\\w@/(*:.-]+\\)?[\"'`]?,\\s*)*[\"'`]?$")
	ruleItem = regex.Lazy("^\\s*[-*]\\s+[\"'`]?$")
)

// ruleAround returns the effect of a tool list in prose on a name in it, such as allowed-tools: a,
// b.
func (p part) ruleAround(n name) ruleEffect {
	lines := strings.Split(p.text[max(0, n.start-maxAround):n.start], "\n")
	last := len(lines) - 1
	if ruleItem().MatchString(lines[last]) {
		for last > 0 && strings.HasPrefix(strings.TrimSpace(lines[last]), "-") {
			last--
		}
	}
	m := ruleLine().FindStringSubmatch(strings.TrimRight(lines[last], " \t\r"))
	if m == nil || !isAboutTools(m[1]) {
		return noEffect
	}
	return effectOf(m[1])
}

// inProse handles a name in text for models and people.
func (p part) inProse(n name, rewrite bool) {
	before, after := p.text[max(0, n.start-60):n.start], p.text[n.end:min(len(p.text), n.end+60)]
	switch {
	case strings.HasSuffix(before, "toolfold call ") && n.prefix == "":
		p.rewriteName(n)
		return
	case n.matched != nil || n.prefix != "" && strings.ContainsAny(n.prefix, "(/:@"):
		p.reportRule(n, noEffect)
		return
	case p.ruleAround(n) != noEffect:
		p.reportRule(n, p.ruleAround(n))
		return
	case n.prefix == "" && (thingBefore().MatchString(before) || thingAfter().MatchString(after)):
		return
	case !aloneBefore().MatchString(before) || !aloneAfter().MatchString(after):
		if n.prefix != "" || strings.HasPrefix(after, "(") && strings.HasSuffix(before, "`") {
			p.addUse(n, Use{Kind: Text, Now: n.call(), ByHand: true, Note: "the text that it is part of is changed by hand"})
		}
		return
	}
	marks := len(before) - len(strings.TrimRight(before, "`"))
	if marks > 0 && !strings.HasPrefix(after, before[len(before)-marks:]) || strings.HasPrefix(after, "`") && marks == 0 {
		p.addUse(n, Use{Kind: Text, Now: n.call(), ByHand: true, Note: "the text that it is part of is changed by hand"})
		return
	}
	mark := before[len(before)-marks:]
	now := mark + n.prefix + n.tool() + mark
	tool, action := now, "action "+mark+n.selected().Selector+mark
	if n.selected().Selector != "" {
		now += " (" + action + ")"
	}
	u := Use{Kind: Text, Now: now}
	if renames := n.renames(); renames != "" {
		u.Note = "its parameters are renamed: " + renames
	}
	switch bracket := n.end + marks + len(" ("); {
	case rewrite && now != tool && strings.HasPrefix(p.text[n.end+marks:], " ("): // both go into one pair of brackets
		p.edit(n, n.start-marks, n.end+marks, tool)
		p.edit(n, bracket, bracket, action+", ")
	case rewrite:
		p.edit(n, n.start-marks, n.end+marks, now)
	default:
		u.ByHand, u.Note = true, "text in code is changed by hand"
	}
	p.addUse(n, u)
}
