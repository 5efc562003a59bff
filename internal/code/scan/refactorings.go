package scan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/code/lex"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// refactorRules find refactorings of JavaScript and TypeScript, and those that all languages share.
// Each has a safe fix, reports unused code, or runs only on request.
var refactorRules = []rule{{
	name: "long-function", kind: "extract-function", level: "trivial", confidence: 0.8, languages: []language{golang, javascript, typescript},
	onlyIfNamed: true,
	message:     "the function is long", advice: "Extract the parts that have a purpose of their own.",
	find: each(func(s *source, i int) *hit {
		start, ok := s.functionAt(i)
		if !ok || s.partner(i) < 0 {
			return nil
		}
		lines := s.line(s.at(s.partner(i)).start) - s.line(s.at(start).start) + 1
		if lines <= 50 {
			return nil
		}
		return &hit{at: s.at(start).start, message: fmt.Sprintf("the function has %d lines", lines)}
	}),
}, {
	name: "repeated-code", kind: "remove-duplication", level: "major", confidence: 0.65, languages: every, onlyIfNamed: true,
	message: "duplicate code", advice: "Extract it into a function.",
	find: repeatedCode,
}, {
	name: "var-declaration", kind: "modernize-syntax", level: "trivial", confidence: 0.9, languages: scripts, tests: true,
	message: "var is visible outside of its block", advice: "Use const, or let if it changes.",
	find: each(varDeclaration),
}, {
	name: "unused-import", kind: "optimize-imports", level: "trivial", confidence: 0.85, languages: scripts, tests: true,
	message: "nothing uses the import", advice: "Remove it; keep import \"module\" if loading it has an effect.",
	find: unusedImport,
}, {
	name: "late-import", kind: "move", level: "trivial", confidence: 0.8, languages: []language{javascript}, tests: true,
	message: "the import stands below code", advice: "Move it to the top: it is loaded first anyway.",
	find: lateScriptImport,
}}

// pythonRefactorRules find Python code that newer versions write shorter.
var pythonRefactorRules = []rule{{
	name: "super-arguments", kind: "modernize-syntax", level: "trivial", confidence: 0.9, languages: onlyPython, tests: true, python3: true,
	message: "super needs no arguments", advice: "Write super().",
	find: each(superArguments),
}, {
	name: "object-base", kind: "modernize-syntax", level: "trivial", confidence: 0.95, languages: onlyPython, tests: true, python3: true,
	message: "redundant object base class", advice: "Leave the base out.",
	find: each(func(s *source, i int) *hit {
		if !s.is(i, "class") || !s.isName(i+1) || !s.is(i+2, "(", "object", ")", ":") || s.binds("object") {
			return nil
		}
		return &hit{edits: []Edit{s.replace(i+2, i+4, "")}}
	}),
}, {
	name: "coding-comment", kind: "modernize-syntax", level: "trivial", confidence: 0.95, languages: onlyPython, tests: true, python3: true,
	message: "redundant coding comment: Python 3 reads UTF-8", advice: "Remove the comment.",
	find: codingComments,
}, {
	name: "unused-import", kind: "optimize-imports", level: "trivial", confidence: 0.85, languages: onlyPython, tests: true,
	message: "nothing uses the import", advice: "Remove it, unless loading it has an effect.",
	find: unusedPythonImport,
}}

// repeatedTokens is the minimum length of a reported repetition, in tokens.
const repeatedTokens = 60

// repeatedCode finds runs of tokens that occur earlier in the file. Each is reported once, at its
// beginning.
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

// varDeclaration replaces var x = … by const or let if the meaning is the same:
//   - x is declared once;
//   - x is not used before or outside of its block, in its own value, or by a function that may be
//
// called before the declaration;
//   - x is not a loop variable, which closures would share;
//   - the declaration is in a function, or in a module that cannot be part of an import cycle.
func varDeclaration(s *source, i int) *hit {
	if !s.is(i, "var") || !s.begins(i) || !s.isName(i+1) {
		return nil
	}
	end := s.find(i, i+200, ";")
	comma := s.find(i+1, max(end, 0), ",")
	block := s.parents[i]
	if !s.modern || !s.is(i+2, "=") || end < 0 || comma > 0 || block >= 0 && !s.is(block, "{") || block < 0 && !s.isModuleByItself() ||
		s.is(s.partner(block-1)-1, "switch") || s.loopsAround(i) > 0 {
		return nil
	}
	from, to := 0, len(s.tokens)
	if block >= 0 {
		from, to = block, s.partner(block)
	}
	// All uses of the name in the function or file.
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
				return nil
			}
		case j < end || s.oneOf(j-1, "var", "let", "const", "function", "class") || s.isHoisted(j, block) && s.callsBetween(from, i):
			return nil
		case s.oneOf(j+1, "=", "+=", "-=", "*=", "/=", "%=", "++", "--", "??=", "||=", "&&=", "**=", "|=", "&=", "<<=", ">>=",
			">>>=") || s.oneOf(j-1, "++", "--"), s.is(j-1, "(") && s.is(j+1, ")", "="),
			s.oneOf(j+1, "of", "in"):
			keyword = "let"
		}
		// may be a destructuring target
		if s.oneOf(s.parents[j], "[", "{") && s.oneOf(j-1, "[", "{", ",", ":", "...") && s.oneOf(j+1, "]", "}", ",") {
			keyword = "let"
		}
	}
	return &hit{edits: []Edit{s.replace(i, i, keyword)}}
}

// isModuleByItself reports whether a script is a module that imports no module of its project: no
// other module can see its variables before it has run.
func (s *source) isModuleByItself() bool {
	statements := slices.Concat(s.places["import"], s.places["export"])
	for _, i := range statements[:min(len(statements), 200)] {
		from := s.find(i, i+200, "from")
		if s.at(i+1).kind == text {
			from = i
		}
		if module, _ := s.unquote(from + 1); from >= 0 && strings.HasPrefix(module, ".") || s.is(i, "import", "(") {
			return false
		}
	}
	return len(statements) > 0 && len(statements) <= 200
}

// isHoisted reports whether a token is in a function declaration of its block, which can be called
// from the beginning of the block.
func (s *source) isHoisted(i, block int) bool {
	for open := range s.around(i) {
		if open == block {
			return false
		}
		start, ok := s.functionAt(open)
		if !ok || !s.is(start, "function") {
			continue
		}
		for s.oneOf(start-1, "async", "default", "export") {
			start--
		}
		if s.begins(start) {
			return true
		}
	}
	return false
}

// callsBetween reports whether there may be a call between two tokens.
func (s *source) callsBetween(from, to int) bool {
	for i := from; i < to; i++ {
		if s.is(i, "(") && (s.isName(i-1) || s.oneOf(i-1, ")", "]", "super", "import")) || to-i > maxAhead ||
			s.at(i).kind == text && s.at(i).text[0] == '`' {
			return true
		}
	}
	return false
}

// sharesFunction reports whether the innermost function around i contains j, too.
func (s *source) sharesFunction(i, j int) bool {
	for open := range s.around(i) {
		if _, ok := s.functionAt(open); ok {
			return j > open && j < s.partner(open)
		}
	}
	return true
}

// unusedImport finds import x from "m" and import { a, b } from "m". Names that JSX needs, such as
// React, count as used.
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

// makesElements reports whether JSX may use a name without mentioning it.
func (s *source) makesElements(name string) bool {
	return path.Ext(s.name) != ".ts" && slices.Contains([]string{"React", "h", "jsx", "createElement", "Fragment", "Preact"}, name) ||
		slices.ContainsFunc(s.comments, func(c token) bool { return strings.Contains(c.text, "@jsx") && strings.Contains(c.text, name) })
}

// unusedNames returns the unused names in the braces of an import.
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

// lateScriptImport finds the first import statement after other statements; later ones follow after
// its fix. Some TypeScript compilers run imports in place.
func lateScriptImport(s *source) []hit {
	code := -1 // first token outside of an import
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
				return []hit{{at: s.at(i).start, edits: []Edit{
					{s.at(code).start, s.at(code).start, s.between(i, end) + "\n"}, s.removeLine(s.at(i).start, s.at(end).end()),
				}}}
			}
			i = end
			continue
		}
		if code < 0 && s.at(i).kind != text && !s.is(i, ";") { // "use strict" may come first
			code = i
		}
	}
	return nil
}

var (
	codingComment = regex.Lazy(`^#.*?coding[:=]\s*[\w.-]+`)
	onlyCoding    = regex.Lazy(`^#\s*(-\*-)?\s*(file)?(en)?coding[:=]\s*(utf-?8|UTF-?8)\s*;?\s*(-\*-)?\s*$`)
)

// codingComments finds # -*- coding: utf-8 -*- in the first two lines. It skips comments with more
// text, and those after which another coding comment would move up and take effect.
func codingComments(s *source) []hit {
	var hits []hit
	for _, c := range s.comments {
		line := s.line(c.start)
		if line > 3 || !codingComment().MatchString(c.text) {
			continue
		}
		if len(hits) > 0 || line > 2 || !onlyCoding().MatchString(c.text) {
			return nil
		}
		hits = append(hits, hit{at: c.start, edits: []Edit{s.removeLine(c.start, c.end())}})
	}
	return hits
}

// superArguments finds super(Class, self) in a method of that class. The meaning of super() depends
// on its place: it must not be in a nested function, lambda or comprehension, and not in a decorated
// class, which the decorator may replace.
func superArguments(s *source, i int) *hit {
	if !s.is(i, "super", "(") || !s.isName(i+2) || !s.is(i+3, ",", "self", ")") {
		return nil
	}
	def := s.definition(i)
	if def < 0 {
		return nil
	}
	class, open := s.headerOf(def), def+2
	if s.is(def, "async") {
		open++
	}
	start, end := s.statement(i)
	if !s.is(class, "class", s.at(i+2).text) || !s.is(open, "(", "self") || s.findWord(start+1, end, "lambda", "for") > 0 {
		return nil
	}
	if class > 1 {
		if before, _ := s.statement(class - 2); s.is(before, "@") {
			return nil
		}
	}
	return &hit{edits: []Edit{s.replace(i+1, i+5, "()")}}
}

// binds reports whether the file redefines a name, by import or assignment.
func (s *source) binds(name string) bool {
	places := s.places[name]
	return slices.ContainsFunc(places[:min(len(places), 500)], func(i int) bool {
		start, _ := s.statement(i)
		return s.oneOf(start, "from", "import") || s.is(i+1, "=") && s.parents[i] < 0
	})
}

// unusedPythonImport finds import a and from a import b with a single name. It ignores files that
// re-export names.
func unusedPythonImport(s *source) []hit {
	if s.has("__all__") || strings.HasSuffix(s.name, "__init__.py") || strings.HasSuffix(s.name, ".pyi") {
		return nil
	}
	var hits []hit
	statements := slices.Sorted(slices.Values(slices.Concat(s.places["import"], s.places["from"])))
	for _, i := range statements[:min(len(statements), 500)] { // each searches the strings of the file
		if !s.begins(i) || s.indent(i) > 0 || s.is(i+1, "__future__") {
			continue
		}
		_, end := s.statement(i)
		name, at := "", i+1
		if s.is(i, "from") {
			at = s.find(i, end, "import") + 1
			if at == 0 {
				continue
			}
		}
		switch {
		case end-at == 1: // import a, from m import a
			name = s.at(at).text
		case end-at == 3 && s.is(at+1, "as"):
			name = s.at(at + 2).text
		}
		if name == "" || !lex.IsWord(rune(name[0])) || len(s.places[name]) > 1 || mentioned(s, name) || s.is(at+1, "as", s.at(at).text) {
			continue
		}
		hits = append(hits, hit{at: s.at(i).start, message: "nothing uses " + name})
	}
	return hits
}

// mentioned reports whether a string or comment of the file contains the word: annotations and
// f-strings use names this way.
func mentioned(s *source, name string) bool {
	return slices.ContainsFunc(s.tokens, func(t token) bool { return t.kind == text && strings.Contains(t.text, name) }) ||
		slices.ContainsFunc(s.comments, func(t token) bool {
			return strings.Contains(t.text, "noqa") || strings.Contains(t.text, "type:") && strings.Contains(t.text, name)
		})
}
