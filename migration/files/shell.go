package files

import (
	"strings"

	sh "mvdan.cc/sh/v3/syntax"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// shell handles a script, or a transcript of a shell.
func (p part) shell() {
	if !strings.Contains(p.text, "_") {
		return
	}
	text := prompts().ReplaceAllStringFunc(p.text, func(s string) string { return strings.Repeat(" ", len(s)) })
	file, err := sh.NewParser(sh.KeepComments(false)).Parse(strings.NewReader(text), "")
	if err != nil {
		p.scriptLines()
		return
	}
	sh.Walk(file, func(n sh.Node) bool {
		switch n := n.(type) {
		case *sh.CallExpr:
			for _, a := range n.Assigns {
				p.assign(a)
			}
			p.command(p.wordsOf(n.Args))
		case *sh.DeclClause:
			for _, a := range n.Args {
				p.assign(a)
			}
		case *sh.CaseItem:
			for _, w := range p.wordsOf(n.Patterns) {
				p.comparedIn(w)
			}
		case *sh.TestClause:
			p.comparedIn(shellWord{from: int(n.Pos().Offset()), to: int(n.End().Offset())})
		case *sh.WordIter:
			p.loop(p.wordsOf(n.Items))
		case *sh.Redirect:
			if n.Hdoc != nil {
				p.sub(int(n.Hdoc.Pos().Offset()), min(int(n.Hdoc.End().Offset()), len(p.text))).prose(false)
			}
		}
		return true
	})
}

// prompts matches the prompt before a command in a transcript.
var prompts = regex.Lazy(`(?m)^[ \t]*[$>#%] `)

// shellWord is a word of a command, without its quotes.
type shellWord struct {
	from, to int
	text     string
	quoted   bool
}

func (p part) wordsOf(words []*sh.Word) (list []shellWord) {
	for _, w := range words {
		s := shellWord{from: int(w.Pos().Offset()), to: int(w.End().Offset())}
		s.text = p.text[s.from:s.to]
		if len(s.text) > 1 && (s.text[0] == '"' || s.text[0] == '\'') && s.text[len(s.text)-1] == s.text[0] && len(w.Parts) == 1 {
			s.from, s.to, s.quoted = s.from+1, s.to-1, true
			s.text = p.text[s.from:s.to]
		}
		list = append(list, s)
	}
	return list
}

// words handles the words of a command that is written as a list.
func (d data) words(items []node) {
	var list []shellWord
	for _, item := range items {
		if item.kind != textNode {
			d.value(item)
			continue
		}
		list = append(list, shellWord{item.from, item.to, item.text, true})
	}
	if d.server == ourServer { // options of this server also accept legacy names
		return
	}
	d.command(list)
}

// toolOption matches an option whose value lists tools.
var toolOption = regex.Lazy(`(?i)^-{1,2}((dis)?allow\w*|deny|exclude|include|enabled?|disabled?|block\w*|core|available)?` +
	`[-_]?tools?(=|$)|^--(deny|allow)(=|$)`)

// command handles the words of a command.
func (p part) command(words []shellWord) {
	if len(words) == 0 {
		return
	}
	ours, calls := false, false
	option := noEffect
	for i, w := range words {
		switch {
		case w.text == "toolfold" || strings.HasSuffix(w.text, "/toolfold"):
			ours = true
			continue
		case ours && w.text == "call":
			calls = true
			continue
		}
		if strings.HasPrefix(w.text, "-") && !w.quoted || strings.HasPrefix(w.text, "--") {
			option = noEffect
			if toolOption().MatchString(w.text) {
				option = effectOf(w.text)
			}
		}
		switch {
		case ours && calls:
			p.calledInShell(w)
			calls = false
		case ours && !p.hasPrefixed(w):
		case option == noEffect && i > 0 && (words[0].text == "[" || words[0].text == "test"):
			p.comparedIn(w)
		default:
			p.word(w, option)
		}
	}
}

// hasPrefixed reports whether a word contains a name with a host's prefix.
func (p part) hasPrefixed(w shellWord) bool {
	for _, n := range p.sub(w.from, w.to).names() {
		if n.prefix != "" {
			return true
		}
	}
	return false
}

// calledInShell handles the word after toolfold call.
func (p part) calledInShell(w shellWord) {
	inner := p.sub(w.from, w.to)
	for _, n := range inner.names() {
		if n.start == 0 && n.end == len(inner.text) && n.prefix == "" && n.matched == nil {
			inner.rewriteName(n)
		}
	}
}

// word handles a word of a command, as the value of an option.
func (p part) word(w shellWord, option ruleEffect) {
	inner := p.sub(w.from, w.to)
	names := inner.names()
	if len(names) == 0 {
		return
	}
	if jsonText().MatchString(w.text) {
		if n, ok := inner.object(); ok {
			data{part: inner}.value(n)
			return
		}
	}
	key, _, assigned := strings.Cut(w.text, "=")
	if assigned && effectOf(key) != noEffect {
		option = effectOf(key)
	}
	for _, n := range names {
		switch {
		case (option != noEffect) && (n.prefix != "" || standsInList(inner.text, n) || assigned):
			inner.reportRule(n, option)
		case strings.ContainsAny(inner.text, " \n") && w.quoted && !isQuery().MatchString(inner.text):
			inner.inProse(n, false)
		case n.prefix != "":
			inner.reportMention(n)
		}
	}
}

// assign handles an assignment. Options of this server also accept legacy names.
func (p part) assign(a *sh.Assign) {
	if a.Name == nil || strings.HasPrefix(a.Name.Value, "TOOLFOLD_") {
		return
	}
	words := []*sh.Word{a.Value}
	if a.Array != nil {
		words = nil
		for _, e := range a.Array.Elems {
			words = append(words, e.Value)
		}
	}
	for _, w := range words {
		if w != nil {
			for _, w := range p.wordsOf([]*sh.Word{w}) {
				p.variable(a.Name.Value, w)
			}
		}
	}
}

// variable handles the value of a variable.
func (p part) variable(name string, w shellWord) {
	if strings.HasPrefix(name, "TOOLFOLD_") {
		return
	}
	inner := p.sub(w.from, w.to)
	g := effectOf(name)
	for _, n := range inner.names() {
		switch {
		case strings.ContainsAny(inner.text, " \n") && n.prefix == "":
			inner.inProse(n, false)
		case !standsInList(inner.text, n) && n.prefix == "":
		case n.prefix != "" || g != noEffect && isAboutTools(name):
			inner.reportRule(n, g)
		}
	}
}

// comparedIn handles a case pattern, or a word of a test.
func (p part) comparedIn(w shellWord) {
	inner := p.sub(w.from, w.to)
	for _, n := range inner.names() {
		if n.prefix != "" || p.strongly() {
			inner.reportComparison(n)
		}
	}
}

// loop handles the words of a for loop. They count as tools if the script calls some.
func (p part) loop(words []shellWord) {
	for _, w := range words {
		inner := p.sub(w.from, w.to)
		for _, n := range inner.names() {
			if n.prefix != "" || n.end-n.start == len(inner.text) && strings.Contains(p.text, "toolfold call") {
				inner.reportMention(n)
			}
		}
	}
}

// scriptLines handles calls and options in a script that does not parse.
func (p part) scriptLines() {
	for _, n := range p.names() {
		line := p.text[strings.LastIndexByte(p.text[:n.start], '\n')+1 : n.start]
		switch {
		case strings.HasSuffix(line, "toolfold call ") && n.prefix == "":
			p.rewriteName(n)
		case n.prefix == "":
		case toolOption().MatchString(lastOption(line)):
			p.reportRule(n, effectOf(lastOption(line)))
		default:
			p.reportMention(n)
		}
	}
}

// lastOption returns the last option in a line, or "".
func lastOption(line string) string {
	if i := strings.LastIndex(line, " --"); i >= 0 {
		option, _, _ := strings.Cut(line[i+1:], " ")
		return option
	}
	if strings.HasPrefix(strings.TrimSpace(line), "--") {
		option, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		return option
	}
	return ""
}
