package files

import (
	"path"
	"strings"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// codeFile matches the endings of files that may define tools.
var codeFile = regex.Lazy(`(?i)^\.(go|[cm]?[jt]sx?|vue|svelte|pyi?|rs|cs|java|kts?|scala|groovy|rb|php|swift|dart|exs?|lua|cc?|cpp|zig)$`)

var identifier = regex.Lazy(`[A-Za-z_]\w*`)

// Defines returns the legacy names that a source file gives to its own tools. It does not parse the
// language: the text around a name, in the same brackets, is similar for tool definitions in Go,
// TypeScript, Python, Rust, C#, Java, Ruby and Kotlin.
func (s Search) Defines(name, text string) map[string]bool {
	own := map[string]bool{}
	ending := path.Ext(name)
	if !codeFile().MatchString(ending) {
		return own
	}
	for _, at := range identifier().FindAllStringIndex(text, -1) {
		found := text[at[0]:at[1]]
		p := place{text, at[0], at[1]}
		if s.Tool(found) != nil {
			if !own[found] && (p.isDefined() || p.isDecorated() || p.isConstant()) {
				own[found] = true
			}
		} else if ending == ".cs" { // the method MemoryStore is the tool memory_store
			snake := strings.ToLower(camel().ReplaceAllString(found, "${1}_${2}"))
			if s.Tool(snake) != nil && p.isDecorated() {
				own[snake] = true
			}
		}
	}
	return own
}

// place is a word in a source file.
type place struct {
	text       string
	start, end int
}

// maxAround bounds the context on each side of a place, in bytes.
const maxAround = 4000

func (p place) before() string { return p.text[max(0, p.start-maxAround):p.start] }
func (p place) after() string  { return p.text[p.end:min(len(p.text), p.end+maxAround)] }

const (
	quote   = "[\"'`]"
	definer = `(?:(?:register|add|new|define|create|function|structured|with|mcp|server)_?)*tool(?:_?(?:def|definition|spec|info))?` +
		`(?:(?:::|\.)(?:new|define|create|of))?|\b(?:tools?|(?:tool_?)?registry)\.(?:register|add|define)`
)

var (
	// A definer takes the name as its first argument, or as its argument name.
	definers  = regex.Lazy(`(?i)(?:^|\W)(?:` + definer + `)(?:<[^()]*>)?!?$`)
	builders  = regex.Lazy(`(?i)tool\w*(?:::|\.|\()[^;{}]*\.(?:with_?|set_?)?name$`)
	isFirst   = regex.Lazy(`^\s*` + quote + `?$`)
	isNamed   = regex.Lazy(`(?i)\bname` + quote + `?\s*[:=]\s*` + quote + `?$`)
	describes = regex.Lazy(`(?i)\b(?:description|input_?schema)` + quote + `?\s*(?:[:=,]|$)`)
	supplies  = regex.Lazy(`(?i)\b(?:arguments|args)` + quote + `?\s*[:=]`)

	// A variable without tools in its name holds a tool as another server listed it.
	valueOf = regex.Lazy(`(?:^|\n)[ \t]*(\w+)\s*=$`)

	// A table has the tool under its name.
	entryOf = regex.Lazy(`(?i)^` + quote + `?\s*(?::|=>)\s*(?:new\s+)?(?:\w+\.)*(?:` + definer + `)\s*\(`)
	tableOf = regex.Lazy(`^` + quote + `?\s*(?::|=>)\s*\{`)

	// A class, or a block that describes a tool, has the name in a member.
	memberOf = regex.Lazy(`(?im)(?:^|[{;])\s*(?:\w+ +|\([^()]*\) +|self\.|this\.)*(?:get_?)?(?:tool_?)?name\b` +
		`(?:\s*(?::[^="\n]*)?=>?\s*|\s*\([^()]*\)[^;="\n]*[{=:]>?\s*(?:return\s+)?|\s+)` + quote + `\z`)
	blockOf   = regex.Lazy(`(?m)^\s*(?:\w+\.)?tool\s+:?` + quote + `?\z`)
	described = regex.Lazy(`(?i)\b(?:get_?)?description\b`)

	constantOf = regex.Lazy(`(\w+)\s*(?::[^=\n]*|\bstring\s*)?:?=\s*` + quote + `$`)

	// A decorator makes a function a tool under the function's name.
	decorator = regex.Lazy(`(?i)(?:@|#\[|\[)(?:\w+(?:\.|::))*(?:mcp_?)?(?:server_?)?tool\b`)
	function  = regex.Lazy(`(?:\b(?:def|fn|fun|func|function)|[\w>\]?])\s+$`)
	literals  = regex.Lazy(`(?s)""".*?"""|"(?:[^"\\]|\\.)*"|'(?:[^'\\\n]|\\.)*'`)
	declared  = regex.Lazy(`[;{}]|\b(?:def|fn|fun|func)\s+\w`)
)

// isDefined reports whether a tool gets its name at the place.
func (p place) isDefined() bool {
	before, after := p.before(), p.after()
	inFront, open := insideBefore(before)
	behind := inside(after)
	callee := strings.TrimRight(before[:open], " \t\r\n")
	switch {
	case definers().MatchString(callee) && (isFirst().MatchString(inFront) || isNamed().MatchString(inFront)),
		builders().MatchString(callee), entryOf().MatchString(after), blockOf().MatchString(before):
		return true
	case isNamed().MatchString(inFront):
		beside := inFront + " " + behind
		variable := valueOf().FindStringSubmatch(callee)
		return describes().MatchString(beside) && !supplies().MatchString(beside) && (variable == nil || toolish().MatchString(variable[1]))
	case memberOf().MatchString(before):
		return described().MatchString(before[max(0, len(before)-600):]) || described().MatchString(after[:min(len(after), 600)])
	}
	table := tableOf().FindString(after)
	return table != "" && describes().MatchString(inside(after[len(table):]))
}

// isConstant reports whether the place is the value of a constant that names a tool in its
// definition.
func (p place) isConstant() bool {
	m := constantOf().FindStringSubmatch(p.before())
	if m == nil {
		return false
	}
	at := 0
	for range 32 { // a constant is not used more often
		i := strings.Index(p.text[at:], m[1])
		if i < 0 {
			return false
		}
		at += i + len(m[1])
		if (place{p.text, at - len(m[1]), at}).isDefined() {
			return true
		}
	}
	return false
}

// isDecorated reports whether the place is the name of a function with a tool decorator.
func (p place) isDecorated() bool {
	before := p.before()
	if !strings.HasPrefix(p.after(), "(") && !strings.HasPrefix(p.after(), "<") || !function().MatchString(before) {
		return false
	}
	marks := decorator().FindAllStringIndex(before, -1)
	return marks != nil && !declared().MatchString(literals().ReplaceAllString(before[marks[len(marks)-1][1]:], ""))
}

// inside returns the text up to the bracket that closes the current one, without nested brackets.
func inside(text string) string {
	var b strings.Builder
	depth := 0
	for i := range len(text) {
		switch {
		case strings.IndexByte("([{", text[i]) >= 0:
			depth++
		case strings.IndexByte(")]}", text[i]) >= 0:
			if depth--; depth < 0 {
				return b.String()
			}
		case depth == 0:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// insideBefore returns the text after the innermost bracket that is open at the end of text,
// without nested brackets, and the bracket's offset. Both are zero if no bracket is open.
func insideBefore(text string) (inFront string, open int) {
	depth, last := 0, len(text)
	for i := len(text) - 1; i >= 0; i-- {
		switch {
		case strings.IndexByte(")]}", text[i]) >= 0:
			if depth == 0 {
				inFront = text[i+1:last] + inFront
			}
			depth++
		case strings.IndexByte("([{", text[i]) >= 0:
			if depth == 0 {
				return text[i+1:last] + inFront, i
			}
			if depth--; depth == 0 {
				last = i
			}
		}
	}
	return "", 0
}
