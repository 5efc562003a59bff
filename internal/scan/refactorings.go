package scan

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/regex"
)

// refactorRules look for refactorings of JavaScript and TypeScript, and of what
// all languages share.
var refactorRules = []rule{{
	name: "long-function", kind: "extract-function", level: "trivial", confidence: 0.8, languages: []language{golang, javascript, typescript},
	written: true,
	message: "the function is long", advice: "Extract the parts that have a purpose of their own.",
	find: each(func(s *source, i int) *hit {
		f, ok := s.functionAt(i)
		if !ok || s.partner(i) < 0 {
			return nil
		}
		lines := s.line(s.at(s.partner(i)).start) - s.line(s.at(f.start).start) + 1
		if lines <= 50 {
			return nil
		}
		return &hit{at: s.at(f.start).start, message: fmt.Sprintf("the function has %d lines", lines)}
	}),
}, {
	name: "long-parameter-list", kind: "other", level: "trivial", confidence: 0.75, languages: every, written: true,
	message: "the function has more than five parameters", advice: "Group those that belong together.",
	find: each(func(s *source, i int) *hit {
		open := -1
		switch {
		case s.lang == python && s.is(i, "def"):
			open = i + 2
		case s.lang != python:
			if f, ok := s.functionAt(i); ok {
				open = f.parameters
			}
		}
		if !s.is(open, "(") || len(s.arguments(open)) < 6 {
			return nil
		}
		return &hit{at: s.at(open).start, message: fmt.Sprintf("the function has %d parameters", len(s.arguments(open)))}
	}),
}, {
	name: "repeated-code", kind: "remove-duplication", level: "major", confidence: 0.65, languages: every, written: true,
	message: "duplicate code", advice: "Extract it into a function.",
	find: repeatedCode,
}, {
	name: "nested-ternary", kind: "simplify-conditional", level: "trivial", confidence: 0.85, languages: scripts,
	message: "a conditional expression is nested in another", advice: "Use if statements, or a table.",
	find: where(func(s *source, i int) bool {
		// In types, ? stands before : or , only.
		if !s.is(i, "?") || s.oneOf(i+1, ":", ",", ")", ";", "=") || s.is(i-1, "extends") {
			return false
		}
		for j := i + 1; j < len(s.tokens) && j < i+200 && !s.oneOf(j, ";", ",", ")", "}", "]"); j++ {
			if s.is(j, "?") && !s.oneOf(j+1, ":", ",", ")", "=") && s.sameStatement(i, j) {
				return true
			}
			if p := s.partner(j); p > j {
				j = p
			}
		}
		return false
	}),
}, {
	name: "boolean-ternary", kind: "simplify-conditional", level: "trivial", confidence: 0.9, languages: scripts, tests: true,
	message: "the expression chooses between true and false", advice: "Use the condition itself.",
	find: each(func(s *source, i int) *hit {
		if !s.is(i, "?", "true", ":", "false") && !s.is(i, "?", "false", ":", "true") {
			return nil
		}
		from := s.chainStart(i - 1)
		if from < 0 || !s.oneOf(from-1, "=", "return", "(", ",", "=>") || !s.oneOf(i+4, ";", ")", ",", "}") {
			return &hit{}
		}
		not := "!"
		if s.is(i+1, "true") {
			not = "!!"
		}
		return &hit{edits: []Edit{s.replace(from, i+3, not+s.between(from, i-1))}}
	}),
}, {
	name: "var-declaration", kind: "modernize-syntax", level: "trivial", confidence: 0.9, languages: scripts, tests: true, written: true,
	message: "var is visible outside of its block", advice: "Use const, or let where it changes.",
	find: each(varDeclaration),
}, {
	name: "string-concatenation", kind: "modernize-syntax", level: "trivial", confidence: 0.8, languages: scripts, tests: true, written: true,
	message: "a text is put together with +", advice: "Use a template literal.",
	find: each(concatenation),
}, {
	name: "index-of", kind: "modernize-syntax", level: "trivial", confidence: 0.9, languages: scripts, tests: true, written: true,
	message: "indexOf compared with -1 where includes says it", advice: "Use includes.",
	find: each(indexOf),
}, {
	name: "object-assign", kind: "modernize-syntax", level: "trivial", confidence: 0.85, languages: scripts, tests: true, written: true,
	message: "an object is copied with Object.assign", advice: "Use { ...spread }.",
	find: each(func(s *source, i int) *hit {
		if !s.is(i, "Object", ".", "assign", "(", "{", "}", ",") || s.begins(i) || s.oneOf(i-1, "=>", ")") {
			return nil
		}
		to := s.chainEnd(i + 7)
		if to < 0 || s.partner(i+3) != to+1 || !s.spreads || s.lang == typescript { // the type would lose methods
			return &hit{}
		}
		return &hit{edits: []Edit{s.replace(i, to+1, "{ ..."+s.between(i+7, to)+" }")}}
	}),
}, {
	name: "explicit-any", kind: "improve-types", level: "trivial", confidence: 0.8, languages: onlyTyped, written: true,
	message: "any turns type checking off", advice: "Use the type that it has, or unknown.",
	find: where(func(s *source, i int) bool {
		return s.is(i, ":", "any") || s.is(i, "<", "any", ">") || s.is(i, "as", "any")
	}),
}, {
	name: "double-assertion", kind: "improve-types", level: "trivial", confidence: 0.9, languages: onlyTyped, written: true,
	message: "the cast goes through unknown to a type that does not fit", advice: "Check the value, or mend its type.",
	find: where(func(s *source, i int) bool { return s.is(i, "as", "unknown", "as") || s.is(i, "as", "any", "as") }),
}, {
	name: "unused-import", kind: "optimize-imports", level: "trivial", confidence: 0.85, languages: scripts, tests: true, written: true,
	message: "nothing uses the import", advice: "Remove it; keep import \"module\" if it is there for what it does when it is loaded.",
	find: unusedImport,
}, {
	name: "late-import", kind: "move", level: "trivial", confidence: 0.8, languages: scripts, tests: true, written: true,
	message: "the import stands below code", advice: "Move it to the top: it is loaded first anyway.",
	find: lateScriptImport,
}, {
	name: "commented-out-code", kind: "other", level: "trivial", confidence: 0.75, languages: every, written: true,
	message: "the comment is code", advice: "Remove it: the history has it.",
	find: commentedOut,
}, {
	name: "todo-comment", kind: "other", level: "trivial", confidence: 0.8, languages: every, written: true,
	message: "a comment says what is to be done", advice: "Do it, or open an issue.",
	find: func(s *source) []hit { return s.inComments(todo()) },
}}

var (
	codeComment = regex.Lazy(
		`^\s*((if|for|while|switch)\s*\(.*\)\s*\{?|(const|let|var|return)\s.*;|` +
			`\}?\s*else\s*\{|[\w.]+\(.*\);|[\w.]+\s*:?=\s.*;|import\s.*;|[{}]+;?)\s*$`)
	goComment = regex.Lazy(`^\s*((if|for|switch)\s.*\{|[\w.]+(, \w+)*\s*:=\s.*|return\s+[\w.]+\(.*\)|[\w.]+\.\w+\(.*\)|\})\s*$`)
	pyComment = regex.Lazy(
		`^\s*((if|for|while|def|class|with|elif)\s.*:|[\w.]+\s=\s.*[)\]}'"\d]|[\w.]+\(.*\)|(import|from)\s\w+.*|return\s+[\w.()]+)\s*$`)
)

// sameStatement reports whether no two statements lie between tokens.
func (s *source) sameStatement(i, j int) bool {
	for ; i < j; i++ {
		if s.oneOf(i, ";", "{", "}") {
			return false
		}
	}
	return true
}

// repeatedTokens is the least number of equal tokens in a row that is reported.
const repeatedTokens = 60

// repeatedCode finds runs of tokens that stand in the file before. Each is
// reported once, where it begins.
func repeatedCode(s *source) []hit {
	first := map[uint64]int{}
	var hash, power uint64 = 0, 1
	const base = 1_000_003
	codes := make([]uint64, len(s.tokens))
	for i, t := range s.tokens {
		codes[i] = 14_695_981_039_346_656_037
		for j := range len(t.text) {
			codes[i] = (codes[i] ^ uint64(t.text[j])) * 1_099_511_628_211
		}
	}
	for range repeatedTokens {
		power *= base
	}
	var hits []hit
	until := 0
	for i := range s.tokens {
		hash = hash*base + codes[i]
		if i >= repeatedTokens {
			hash -= power * codes[i-repeatedTokens]
		}
		start := i - repeatedTokens + 1
		if start < 0 {
			continue
		}
		before, seen := first[hash]
		if !seen {
			first[hash] = start
			continue
		}
		if start < until || before+repeatedTokens > start || !s.sameTexts(before, start, repeatedTokens) {
			continue
		}
		until = i + 1
		for s.sameTexts(before+until-start, until, 1) && until < len(s.tokens) {
			until++
		}
		from, to := s.line(s.at(before).start), s.line(s.at(start).start)
		lines := s.line(s.at(until-1).start) - to + 1
		if lines >= 6 {
			hits = append(hits, hit{at: s.at(start).start, message: fmt.Sprintf("%d lines stand at line %d too", lines, from)})
		}
	}
	return hits
}

func (s *source) sameTexts(i, j, n int) bool {
	for k := range n {
		if s.at(i+k).text != s.at(j+k).text || s.at(j+k).kind == endOfFile {
			return false
		}
	}
	return true
}

// varDeclaration: var x = … becomes const or let where that means the same: x
// is declared once, nothing uses it before or outside of the block, its value or a function that
// may be called before it is declared, it is no variable of a loop, which closures would share, and
// the declaration stands in a function, or in a module that no module which it imports imports.
func varDeclaration(s *source, i int) *hit {
	if !s.is(i, "var") || !s.begins(i) || !s.isName(i+1) {
		return nil
	}
	h := &hit{}
	end := s.find(i, i+200, ";")
	comma := s.find(i+1, max(end, 0), ",")
	block := s.parents[i]
	if !s.modern || !s.is(i+2, "=") || end < 0 || comma > 0 || block >= 0 && !s.is(block, "{") || block < 0 && !s.isModuleByItself() ||
		s.is(s.partner(block-1)-1, "switch") || s.loopsAround(i) > 0 {
		return h
	}
	from, to := 0, len(s.tokens)
	if block >= 0 {
		from, to = block, s.partner(block)
	}
	// Everything in the function, or the file, that has the name.
	name, keyword := s.at(i+1).text, "const"
	for _, j := range s.places[name] {
		if j == i+1 {
			continue
		}
		if s.is(j+1, ":") && s.oneOf(j-1, "{", ",") { // a member
			continue
		}
		switch {
		case j < from || j > to:
			if s.sharesFunction(i, j) {
				return h
			}
		case j < end || s.oneOf(j-1, "var", "let", "const", "function", "class") || s.isHoisted(j, block) && s.callsBetween(from, i):
			return h
		case s.oneOf(j+1, "=", "+=", "-=", "*=", "/=", "%=", "++", "--", "??=", "||=", "&&=", "**=", "|=", "&=", "<<=", ">>=") ||
			s.oneOf(j-1, "++", "--"),
			s.oneOf(j+1, "of", "in"):
			keyword = "let"
		}
		if s.oneOf(s.parents[j], "[", "{") && s.oneOf(j-1, "[", "{", ",", ":", "...") && s.oneOf(j+1, "]", "}", ",") { // may be taken apart into
			keyword = "let"
		}
	}
	h.edits = []Edit{s.replace(i, i, keyword)}
	return h
}

// isModuleByItself reports whether a script is a module, and imports none of its project: then none
// can see what is in it before it has run.
func (s *source) isModuleByItself() bool {
	statements := slices.Concat(s.places["import"], s.places["export"])
	for _, i := range statements[:min(len(statements), 200)] {
		from := s.find(i, i+200, "from")
		if s.at(i+1).kind == text {
			from = i
		}
		if module, _ := s.quoted(from + 1); from >= 0 && strings.HasPrefix(module, ".") || s.is(i, "import", "(") {
			return false
		}
	}
	return len(statements) > 0 && len(statements) <= 200
}

// isHoisted reports whether a token stands in a function that its block declares, and that can be
// called from the beginning of the block on.
func (s *source) isHoisted(i, block int) bool {
	for open := range s.around(i) {
		if open == block {
			return false
		}
		f, ok := s.functionAt(open)
		if !ok || !s.is(f.start, "function") {
			continue
		}
		start := f.start
		for s.oneOf(start-1, "async", "default", "export") {
			start--
		}
		if s.begins(start) {
			return true
		}
	}
	return false
}

// callsBetween reports whether something is called, or may be, between two tokens.
func (s *source) callsBetween(from, to int) bool {
	for i := from; i < to; i++ {
		if s.is(i, "(") && (s.isName(i-1) || s.oneOf(i-1, ")", "]", "super", "import")) || to-i > maxAhead ||
			s.at(i).kind == text && s.at(i).text[0] == '`' {
			return true
		}
	}
	return false
}

// sharesFunction reports whether the innermost function around i is around j
// too.
func (s *source) sharesFunction(i, j int) bool {
	for open := range s.around(i) {
		if _, ok := s.functionAt(open); ok {
			return j > open && j < s.partner(open)
		}
	}
	return true
}

// concatenation: "a" + b.c + "d", alone between other operators. An object says what it is in two ways: what is
// not known to be none stays.
func concatenation(s *source, i int) *hit {
	if _, ok := s.quoted(i); !ok || !s.is(i+1, "+") || s.oneOf(i-1, "+", "-", "*", "/", "%") || strings.HasPrefix(s.at(i).text, "`") {
		return nil
	}
	written, names, known, j := "", 0, s.modern, i
	for {
		if j-i > 100 {
			return &hit{at: s.at(i).start} // too long to be rewritten unseen
		}
		content, literal := s.quoted(j)
		to := j
		switch {
		case literal && s.at(j).text[0] != '`' && !strings.Contains(content, `\`):
			written += strings.NewReplacer("`", "\\`", "${", `\${`).Replace(content)
		case s.at(j).kind == word && s.chainEnd(j) > 0:
			to = s.chainEnd(j)
			known = known && s.isPrimitive(j, to)
			written += "${" + s.between(j, to) + "}"
			names++
		default:
			return &hit{at: s.at(i).start} // something else: a person decides
		}
		j = to + 1
		if !s.is(j, "+") {
			break
		}
		j++
	}
	if names == 0 {
		return nil
	}
	h := &hit{at: s.at(i).start}
	if known && s.oneOf(i-1, "=", "(", ",", "return", "[", ":", "=>", "throw") && s.oneOf(j, ";", ")", ",", "]", "}") && s.sameLine(i, j-1) {
		h.edits = []Edit{s.replace(i, j-1, "`"+written+"`")}
	}
	return h
}

// isPrimitive reports whether the names and dots from one index to another are known to be no object: by
// a type or a value that the file gives them wherever it declares the name.
func (s *source) isPrimitive(from, to int) bool {
	if from < to {
		return s.is(to-1, ".", "length") || s.is(from, "process", ".", "env", ".") && to == from+4
	}
	places, declared := s.places[s.at(from).text], false
	for _, i := range places[:min(len(places), 500)] {
		typed := i + 1
		if s.is(typed, "?") {
			typed++
		}
		isTyped := s.is(typed, ":") && s.oneOf(typed+1, "string", "number", "boolean") && s.oneOf(typed+2, ",", ")", "=", ";")
		isValued := s.is(i+1, "=") && s.isLiteral(i+2) && s.oneOf(i+3, ";", ",")
		switch variable, parameter, bracket := s.oneOf(i-1, "const", "let", "var"), s.isParameter(i), s.parents[i]; {
		case variable && (isTyped || isValued), parameter && isTyped:
			declared = true
		case variable, parameter, s.oneOf(i-1, "function", "class", "import", "as", "..."), s.oneOf(i+1, "=", "=>"),
			s.is(bracket, "{") && s.oneOf(i-1, "{", ",", ":") && s.oneOf(i+1, ",", "}"), // perhaps taken out of an object
			s.is(bracket, "[") && s.is(s.partner(bracket)+1, "="):
			return false
		}
	}
	return declared && len(places) <= 500
}

// isParameter reports whether a name stands where a function names its parameters.
func (s *source) isParameter(i int) bool {
	open := s.parents[i]
	return s.is(open, "(") && s.oneOf(i-1, "(", ",", "...", "public", "private", "protected", "readonly") &&
		s.oneOf(s.partner(open)+1, "{", "=>", ":") && !s.oneOf(open-1, "if", "while", "for", "switch", "with")
}

// indexOf: a.indexOf("b") !== -1. With a text both mean the same.
func indexOf(s *source, i int) *hit {
	end := s.partner(i + 2)
	if !s.is(i, ".", "indexOf", "(") || end < 0 {
		return nil
	}
	last, not := 0, ""
	switch {
	case s.oneOf(end+1, "!==", "!=", ">") && s.is(end+2, "-") && s.at(end+3).text == "1":
		last = end + 3
	case s.oneOf(end+1, ">=") && s.at(end+2).text == "0":
		last = end + 2
	case s.oneOf(end+1, "===", "==") && s.is(end+2, "-") && s.at(end+3).text == "1":
		last, not = end+3, "!"
	case s.oneOf(end+1, "<") && s.at(end+2).text == "0":
		last, not = end+2, "!"
	default:
		return nil
	}
	from := s.chainStart(i - 1)
	_, literal := s.quoted(i + 3)
	if !literal || end != i+4 || from < 0 || s.oneOf(from-1, "!", "typeof", "-", "+") || !s.modern || s.lang == typescript ||
		!s.isPrimitive(from, i-1) {
		return &hit{} // what else has indexOf, and the library that TypeScript compiles for, need not have includes
	}
	return &hit{edits: []Edit{s.replace(from, last, not+s.between(from, i-1)+".includes"+s.between(i+2, end))}}
}

// unusedImport: import x from "m", import { a, b } from "m". Names of JSX, and
// React itself, are used without being called.
func unusedImport(s *source) []hit {
	var hits []hit
	for _, i := range s.places["import"] {
		from := s.find(i, i+200, "from")
		if !s.is(i, "import") || !s.begins(i) || s.oneOf(i+1, "(", ".") || from < 0 || s.at(from+1).kind != text {
			continue
		}
		open := s.find(i, from, "{")
		if s.is(i+1, "type") && open > 0 || open == i+1 {
			hits = append(hits, unusedNames(s, i, open)...)
			continue
		}
		name := i + 1
		if s.is(name, "*", "as") {
			name += 2
		}
		if open < 0 && name+1 == from && s.isName(name) && len(s.places[s.at(name).text]) == 1 && !s.makesElements(s.at(name).text) {
			hits = append(hits, hit{at: s.at(i).start, message: "nothing uses " + s.at(name).text})
		}
	}
	return hits
}

// makesElements reports whether JSX may call a name that it does not mention.
func (s *source) makesElements(name string) bool {
	return path.Ext(s.name) != ".ts" && slices.Contains([]string{"React", "h", "jsx", "createElement", "Fragment", "Preact"}, name) ||
		slices.ContainsFunc(s.comments, func(c token) bool { return strings.Contains(c.text, "@jsx") && strings.Contains(c.text, name) })
}

// unusedNames looks at the names in the braces of an import.
func unusedNames(s *source, start, open int) []hit {
	names := s.arguments(open)
	var unused [][2]int
	for _, n := range names {
		if local := s.at(n[1]); local.kind == word && len(s.places[local.text]) == 1 && !s.makesElements(local.text) {
			unused = append(unused, n)
		}
	}
	if len(unused) == len(names) && len(names) > 0 {
		return []hit{{at: s.at(start).start, message: "nothing uses " + s.between(names[0][0], names[len(names)-1][1])}}
	}
	var hits []hit
	for _, n := range unused {
		hits = append(hits, hit{at: s.at(n[0]).start, message: "nothing uses " + s.at(n[1]).text})
	}
	return hits
}

// lateScriptImport: an import statement after other statements.
func lateScriptImport(s *source) []hit {
	var hits []hit
	code := -1 // first token that belongs to no import
	for i := 0; i < len(s.tokens); i++ {
		if s.parents[i] >= 0 {
			continue
		}
		if s.is(i, "import") && s.begins(i) && !s.oneOf(i+1, "(", ".") {
			end := i + 1
			for end < len(s.tokens) && s.at(end).kind != text && !s.is(end, ";") {
				end++
			}
			if s.is(end+1, ";") {
				end++
			}
			if code >= 0 {
				statement := s.between(i, end)
				late := hit{at: s.at(i).start}
				if len(hits) == 0 && s.lang == javascript { // in their order; some compilers of TypeScript run them where they stand
					late.edits = []Edit{
						{s.at(code).start, s.at(code).start, statement + "\n"}, s.removeLine(s.at(i).start, s.at(end).end()),
					}
				}
				hits = append(hits, late)
			}
			i = end
			continue
		}
		if code < 0 && s.at(i).kind != text && !s.is(i, ";") { // "use strict" may stand first
			code = i
		}
	}
	return hits
}

// commentedOut: comments of two lines or more that look like code, of which the
// first and most of all lines do.
func commentedOut(s *source) []hit {
	pattern := codeComment
	mark := "//"
	switch s.lang {
	case golang:
		pattern = goComment
	case python:
		pattern, mark = pyComment, "#"
	}
	var hits []hit
	for i := 0; i < len(s.comments); {
		from, code := i, 0
		for ; i < len(s.comments); i++ {
			c := s.comments[i]
			line := s.line(c.start)
			alone := strings.TrimSpace(s.text[s.lines[line-1]:c.start]) == ""
			if !strings.HasPrefix(c.text, mark) || !alone || i > from && line != s.line(s.comments[i-1].start)+1 {
				break
			}
			if pattern().MatchString(strings.TrimPrefix(c.text, mark)) {
				code++
			}
		}
		if lines := i - from; lines >= 2 && code*3 >= lines*2 {
			first, last := s.comments[from], s.comments[i-1]
			h := hit{at: first.start}
			if code == lines && !s.isDocumentation(last) {
				h.edits = []Edit{s.removeLine(first.start, last.end())}
			}
			hits = append(hits, h)
		}
		i = max(i, from+1)
	}
	return hits
}

// isDocumentation reports whether a comment of Go belongs to what is declared below it; cgo compiles one
// above its import.
func (s *source) isDocumentation(last token) bool {
	next, _ := slices.BinarySearchFunc(s.tokens, last.end(), func(t token, at int) int { return cmp.Compare(t.start, at) })
	return s.lang == golang && s.oneOf(next, "func", "type", "var", "const", "package", "import") &&
		s.line(s.at(next).start) == s.line(last.start)+1
}
