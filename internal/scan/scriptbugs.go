package scan

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/regex"
)

// scriptBugRules look for faults in JavaScript and TypeScript that the file alone shows.
// What the parser remarks is in remarks; what is a matter of taste is a refactoring.
var scriptBugRules = []rule{{
	name: "eval", kind: "security", level: "critical", confidence: 0.9, languages: scripts,
	message: "code built from a string is run", advice: "Parse the data, or call a function by name from a table.",
	find: where(func(s *source, i int) bool {
		switch {
		case s.is(i, "eval", "(") && !s.oneOf(i-1, ".", "function", "?."):
			return !s.literalUntilEnd(i + 2)
		case s.is(i, "new", "Function", "("):
			return !s.literalList([2]int{i + 2, s.partner(i + 2)})
		}
		_, isText := s.quoted(i + 2)
		return s.oneOf(i, "setTimeout", "setInterval") && s.is(i+1, "(") && isText
	}),
}, {
	name: "shell-command", kind: "security", level: "high", confidence: 0.85, languages: scripts,
	message: "shell command built from variables", advice: "Pass the program and a list of arguments to execFile or spawn, without a shell.",
	find: where(scriptShell),
}, {
	name: "dynamic-html", kind: "security", level: "low", confidence: 0.75, languages: scripts,
	message: "HTML built from variables", advice: "Set textContent, or sanitise the HTML.",
	find: where(dynamicHTML),
}, {
	name: "unclosed-file", kind: "resource-leak", level: "high", confidence: 0.75, languages: scripts,
	message: "a file is opened and nothing in this source closes it", advice: "Close it in a finally block.",
	find: where(func(s *source, i int) bool {
		return s.is(i, "openSync", "(") && !s.oneOf(i-1, "function") || s.is(i, "await", "fs", ".", "open", "(")
	}).unless("close", "closeSync"),
}, {
	name: "interval-not-cleared", kind: "timer-leak", level: "high", confidence: 0.85, languages: scripts,
	message: "the interval outlives the component: nothing clears it", advice: "Return a function that calls clearInterval.",
	find: where(func(s *source, i int) bool {
		return s.is(i, "setInterval", "(") && !s.is(i-1, "function") && s.inEffect(i) && !s.cleaned(i, "clearInterval")
	}),
}, {
	name: "listener-not-removed", kind: "memory-leak", level: "medium", confidence: 0.8, languages: scripts,
	message: "the listener outlives the component: nothing removes it", advice: "Return a function that removes it, or pass a signal.",
	find: where(func(s *source, i int) bool {
		return s.oneOf(i, "window", "document") && s.is(i+1, ".", "addEventListener", "(") && s.inEffect(i) &&
			s.findWord(i+3, s.partner(i+3), "once", "signal") < 0 && !s.cleaned(i, "removeEventListener")
	}),
}, {
	name: "assignment-in-condition", kind: "logic-error", level: "high", confidence: 0.85, languages: scripts, tests: true, written: true,
	message: "assignment used as a condition", advice: "Compare with ===, or put the assignment before the condition.",
	find: each(assignmentInCondition),
}, {
	name: "index-past-end", kind: "logic-error", level: "high", confidence: 0.9, languages: scripts, tests: true,
	message: "the loop goes one past the end of the array", advice: "Use < instead of <=.",
	find: where(indexPastEnd),
}, {
	name: "switch-fallthrough", kind: "logic-error", level: "medium", confidence: 0.8, languages: scripts,
	message: "the case before has no break and runs into this one",
	advice:  "End it with break or return, or say in a comment that it falls through.",
	find:    each(fallsThrough),
}, {
	name: "weak-random", kind: "security", level: "high", confidence: 0.85, languages: scripts,
	message: "secret made with a predictable random generator", advice: "Use crypto.randomBytes, crypto.randomUUID or crypto.getRandomValues.",
	find: where(func(s *source, i int) bool {
		return s.is(i, "Math", ".", "random", "(") && s.secretIn(s.statementOf(i))
	}),
}, {
	name: "weak-hash", kind: "security", level: "high", confidence: 0.85, languages: scripts,
	message: "password hashed with a fast hash", advice: "Use scrypt, bcrypt or argon2.",
	find: where(func(s *source, i int) bool {
		name, _ := s.quoted(i + 2)
		return s.is(i, "createHash", "(") && slices.Contains([]string{"md5", "sha1", "sha256"}, strings.ToLower(name)) &&
			passwordName().MatchString(s.textOf(s.statementOf(i)))
	}),
}, {
	name: "shared-state-in-parallel", kind: "concurrency", level: "high", confidence: 0.75, languages: scripts,
	message: "lost update: the variable is read before an await and written after it, in parallel",
	advice:  "Return values from the promises and combine them after Promise.all.",
	find:    each(sharedState),
}, {
	name: "missing-await", kind: "concurrency", level: "high", confidence: 0.8, languages: scripts, tests: true,
	message: "the promise of an async function is dropped", advice: "Await it, or write void before it and handle its errors.",
	find: missingAwait,
}, {
	name: "promise-condition", kind: "concurrency", level: "high", confidence: 0.9, languages: scripts, tests: true,
	message: "a promise is always true: the condition is not awaited", advice: "Await the call.",
	find: promiseCondition,
}, {
	name: "async-for-each", kind: "concurrency", level: "medium", confidence: 0.85, languages: scripts,
	message: "forEach does not wait for the async function, and drops its errors", advice: "Use for … of with await, or Promise.all with map.",
	find: where(func(s *source, i int) bool { return s.is(i, ".", "forEach", "(", "async") }),
}, {
	name: "empty-catch", kind: "logic-error", level: "low", confidence: 0.85, languages: scripts,
	message: "errors are dropped", advice: "Handle the error, or say in a comment why it may be dropped.",
	find: where(func(s *source, i int) bool {
		if !s.is(i, "catch") || s.is(i-1, ".") {
			return false
		}
		open := i + 1
		if s.is(open, "(") {
			open = s.partner(open) + 1
		}
		return s.is(open, "{", "}") && !s.script.commented(i, open+1, "")
	}),
}, {
	name: "throw-literal", kind: "type-error", level: "low", confidence: 0.9, languages: scripts, tests: true,
	message: "the thrown value is not an Error: it has no stack", advice: "Throw new Error(…).",
	find: where(func(s *source, i int) bool {
		return s.is(i, "throw") && (s.at(i+1).kind == text || s.at(i+1).kind == number)
	}),
}, {
	name: "nan-comparison", kind: "logic-error", level: "high", confidence: 0.95, languages: scripts, tests: true, written: true,
	message: "nothing equals NaN", advice: "Use Number.isNaN.",
	find: each(nanComparison),
}, {
	name: "loose-equality", kind: "logic-error", level: "low", confidence: 0.95, languages: scripts, tests: true, written: true,
	message: "the comparison converts its operands", advice: "Use === or !==.",
	find: each(looseEquality),
}, {
	name: "debugger", kind: "other", level: "low", confidence: 0.95, languages: scripts, tests: true, written: true,
	message: "a debugger statement is left in the code", advice: "Remove the statement.",
	find: each(func(s *source, i int) *hit {
		if !s.is(i, "debugger") || !s.begins(i) || s.oneOf(i+1, ":", "=", ".", "(") {
			return nil
		}
		if !s.is(i+1, ";") {
			return &hit{}
		}
		return &hit{edits: []Edit{s.removeLine(s.at(i).start, s.at(i+1).end())}}
	}),
}}

// commandCalls are the functions of child_process that hand a text to a shell.
var commandCalls = []string{"exec", "execSync", "execAsync", "execPromise"}

// scriptShell: exec(`ls ${dir}`), execSync("ls " + dir), spawn(command, { shell: true }).
func scriptShell(s *source, i int) bool {
	open := i + 1
	if !s.is(open, "(") || s.oneOf(i-1, "function", "new") || !s.mentions("child_process") {
		return false
	}
	arguments := s.arguments(open)
	if len(arguments) == 0 || s.is(i-1, ".") && s.at(i-2).kind != word {
		return false // /x/.exec(y)
	}
	first := arguments[0]
	if s.oneOf(i, "spawn", "spawnSync", "execFile", "execFileSync") {
		shell := s.findWord(open, s.partner(open), "shell")
		return shell > 0 && s.is(shell+1, ":", "true") && (s.builtText(first) || len(arguments) > 1 && !s.literalList(arguments[1]))
	}
	return slices.Contains(commandCalls, s.at(i).text) && s.builtText(first)
}

// mentions reports whether a string of the source is this one, or this one behind node:.
func (s *source) mentions(module string) bool {
	if s.modules == nil {
		s.modules = map[string]bool{}
		for _, t := range s.tokens {
			if t.kind == text {
				s.modules[strings.TrimPrefix(strings.Trim(t.text, "\"'`"), "node:")] = true
			}
		}
	}
	return s.modules[module]
}

// builtText reports whether an argument is a text with values in it.
func (s *source) builtText(argument [2]int) bool {
	texts, values := false, false
	for i := argument[0]; i <= argument[1]; i++ {
		texts = texts || s.at(i).kind == text
		chosen := s.is(i+1, "?") && s.at(i+2).kind == text && s.is(i+3, ":") && s.at(i+4).kind == text // one of two texts
		values = values || s.isName(i) && !chosen && s.at(i).text != strings.ToUpper(s.at(i).text)
		if p := s.partner(i); p > i && !s.is(i, "(") {
			i = p
		}
	}
	whole := s.oneOf(argument[0]+1, "+") || strings.HasSuffix(s.at(argument[0]).text, "${") || s.oneOf(argument[1]-1, "+")
	return texts && values && whole
}

// literalList reports whether an argument is a list of literals.
func (s *source) literalList(argument [2]int) bool {
	for i := argument[0]; i <= argument[1]; i++ {
		if s.isName(i) || s.is(i, "...") {
			return false
		}
	}
	return s.oneOf(argument[0], "[", "(")
}

// dynamicHTML: x.innerHTML = y, where y is no literal and nothing that cleans it.
func dynamicHTML(s *source, i int) bool {
	if s.oneOf(i, "innerHTML", "outerHTML") && s.is(i-1, ".") && s.oneOf(i+1, "=", "+=") {
		end := i + 2
		for ; end < len(s.tokens) && !s.is(end, ";") && end < i+maxAhead; end++ {
			name := strings.ToLower(s.at(end).text)
			if s.at(end).kind == word && (strings.Contains(name, "saniti") || strings.Contains(name, "escape") || name == "innerhtml" ||
				strings.Contains(name, "purif")) {
				return false
			}
		}
		return !s.literalUntilEnd(i+2) && !(s.at(i+2).kind == text && s.isLiteral(i+2) && s.is(i+3, ";"))
	}
	return s.is(i, "document", ".", "write", "(") && s.partner(i+3) > i+4 && (s.at(i+4).kind != text || s.partner(i+3) != i+5)
}

var (
	randomSecret = regex.Lazy(`(?i)(token|secret|passw|nonce|salt|otp|api_?key|session_?id|csrf)`)
	passwordName = regex.Lazy(`(?i)(passw|pwd|passphrase)`)
)

// functionNamed reports whether the function around a token has a name that matches.
func (s *source) functionNamed(i int, name *regexp.Regexp) bool {
	if s.lang == python {
		def := s.definition(i)
		return def >= 0 && (name.MatchString(s.at(def+1).text) || name.MatchString(s.at(def+2).text))
	}
	for open := range s.around(i) {
		if f, ok := s.functionAt(open); ok {
			return name.MatchString(f.name)
		}
	}
	return false
}

// effects are functions that run when a component appears.
var effects = []string{"useEffect", "useLayoutEffect", "onMounted", "componentDidMount", "connectedCallback"}

// inEffect reports whether a token stands in a function that runs when a component appears.
func (s *source) inEffect(i int) bool {
	for open := range s.around(i) {
		if s.is(open, "(") && s.oneOf(open-1, effects...) {
			return true
		}
		if f, ok := s.functionAt(open); ok && slices.Contains(effects, f.name) {
			return true
		}
	}
	return false
}

// cleaned reports whether what begins at a token ends with its component: an effect of React
// returns how, elsewhere the file says it somewhere.
func (s *source) cleaned(i int, with string) bool {
	for open := range s.around(i) {
		if !s.is(open, "(") || !s.oneOf(open-1, effects[:2]...) {
			continue
		}
		for j := open; j < min(s.partner(open), open+maxAhead); j++ {
			returned := s.is(j, "return") && !s.oneOf(j+1, ";", "}") && s.parents[max(s.functionAround(j), 0)] == open
			if returned || s.oneOf(j, with, "AbortController") {
				return true
			}
		}
		return false
	}
	return s.has(with) || s.has("AbortController")
}

// statementOf returns the indexes of the first and the last token of the statement around
// a token, as far as semicolons and braces tell.
func (s *source) statementOf(i int) [2]int {
	from, to := i, i
	for from > 0 && i-from < 200 && !s.oneOf(from-1, ";", "{", "}") && s.at(from-1).kind != newline {
		from--
	}
	for to+1 < len(s.tokens) && to-i < 200 && !s.oneOf(to+1, ";", "{", "}") && s.at(to+1).kind != newline {
		to++
	}
	return [2]int{from, to}
}

// textOf returns the text of tokens, both included.
func (s *source) textOf(tokens [2]int) string { return s.between(tokens[0], tokens[1]) }

// secretIn reports whether a statement gives a name of something secret to a value.
func (s *source) secretIn(statement [2]int) bool {
	for i := statement[0]; i <= statement[1]; i++ {
		if s.oneOf(i+1, "=", ":") && s.at(i).kind == word && randomSecret().MatchString(s.at(i).text) {
			return true
		}
	}
	return s.oneOf(statement[0], "return") && s.functionNamed(statement[0], randomSecret())
}

// findWord returns the index of the first of these words from one index to another; -1
// where there is none near.
func (s *source) findWord(from, to int, words ...string) int {
	for i := from; i < min(to, from+maxAhead); i++ {
		if s.at(i).kind == word && s.oneOf(i, words...) {
			return i
		}
	}
	return -1
}

// indexPastEnd: for (let i = 0; i <= xs.length; i++) … xs[i].
func indexPastEnd(s *source, i int) bool {
	if !s.is(i, "for", "(") {
		return false
	}
	end := s.partner(i + 1)
	at := s.find(i+2, max(end, 0), "<=")
	if at < 0 || !s.isName(at-1) || !s.is(at-2, ";") {
		return false
	}
	last := s.find(at, max(end, 0), ";") - 1
	if last <= at+2 || !s.is(last-1, ".", "length") || s.chainStart(last-2) != at+1 {
		return false
	}
	index, array := s.at(at-1).text, s.texts(at+1, last-2)
	length := slices.Concat(array, []string{".", "length"})
	for j := end + 1; j < min(len(s.tokens), end+maxAhead); j++ {
		if s.is(j, index) && s.oneOf(j+1, "===", "==", "!==", "!=", "<", ">=") && s.is(j+2, length...) {
			return false // it knows
		}
		if s.is(j, "for", "(") && s.parents[j] == s.parents[i] {
			break
		}
	}
	for j := end + 1; j < min(len(s.tokens), end+maxAhead); j++ {
		if s.is(j, array...) && s.is(j+len(array), "[", index, "]") {
			return true
		}
		if s.is(j, "for", "(") && s.parents[j] == s.parents[i] {
			return false
		}
	}
	return false
}

// fallsThrough: a case with statements of which none leaves it, before another.
func fallsThrough(s *source, i int) *hit {
	block := s.parents[i]
	if !s.oneOf(i, "case", "default") || !s.is(block, "{") || !s.is(block-1, ")") || !s.is(s.partner(block-1)-1, "switch") {
		return nil
	}
	colon := s.find(i, min(len(s.tokens), i+maxAhead), ":")
	if colon < 0 || s.oneOf(colon+1, "case", "default", "}") {
		return nil
	}
	for j := colon + 1; j < min(s.partner(block), colon+maxAhead); j++ {
		if s.parents[j] == block && s.oneOf(j, "case", "default") {
			if s.script.commented(colon, j, "through") {
				return nil
			}
			return &hit{at: s.at(j).start}
		}
		if s.oneOf(j, "break", "return", "throw", "continue", "exit", "yield", "process") || strings.Contains(s.at(j).text, "ever") {
			return nil
		}
	}
	return nil
}

// asyncMethods returns the names that stand for async methods in all classes and objects of the source.
func (s *source) asyncMethods() map[string]bool {
	async, other := map[string]bool{}, map[string]bool{}
	for i := range s.tokens {
		f, ok := s.functionAt(i)
		if !ok || f.parameters < 0 || f.name == "" || s.at(f.parameters-1).text != f.name {
			continue
		}
		if f.async {
			async[f.name] = true
		} else {
			other[f.name] = true
		}
	}
	for name := range other {
		delete(async, name)
	}
	return async
}

// promiseCondition: if (check(x)), where check is an async function of the file, and
// if (this.check(x)), where it is an async method.
func promiseCondition(s *source) []hit {
	async, methods := s.asyncFunctions(), s.asyncMethods()
	var hits []hit
	for i := range s.tokens {
		if !s.oneOf(i, "if", "while") || !s.is(i+1, "(") {
			continue
		}
		at := i + 2
		if s.is(at, "!") {
			at++
		}
		known := async
		if s.is(at, "this", ".") {
			known = methods
			at += 2
		}
		if known[s.at(at).text] && s.is(at+1, "(") && s.oneOf(s.partner(at+1)+1, ")", "&&", "||") {
			hits = append(hits, hit{at: s.at(at).start, message: "a promise is always true: " + s.at(at).text + " is not awaited"})
		}
	}
	return hits
}

// asyncFunctions returns the names that stand for async functions in all of the source.
func (s *source) asyncFunctions() map[string]bool {
	async, other := map[string]bool{}, map[string]bool{}
	for i := range s.tokens {
		switch {
		case s.is(i, "async", "function") && s.isName(i+2):
			async[s.at(i+2).text] = true
		case s.oneOf(i, "const", "let", "var") && s.isName(i+1) && s.is(i+2, "=", "async"):
			async[s.at(i+1).text] = true
		case s.is(i, "function") && s.isName(i+1) && !s.is(i-1, "async"), s.oneOf(i, "const", "let", "var", "class") && s.isName(i+1):
			other[s.at(i+1).text] = true
		case s.is(i, "=>"), s.is(i, "function"): // a parameter may have the name of a function
			open := s.partner(i - 1)
			if s.is(i, "function") {
				open = i + 1
				if s.isName(open) {
					open++
				}
			}
			for _, parameter := range s.arguments(open) {
				other[s.at(parameter[0]).text] = true
			}
		}
	}
	for name := range other {
		delete(async, name)
	}
	return async
}

func nanComparison(s *source, i int) *hit {
	if !s.oneOf(i, "==", "===", "!=", "!==") {
		return nil
	}
	not := ""
	if s.at(i).text[0] == '!' {
		not = "!"
	}
	if s.is(i+1, "NaN") && !s.is(i+2, ".") {
		from := s.chainStart(i - 1)
		if from < 0 || s.oneOf(from-1, "!", "-", "+", "typeof", "*", "/", "%") {
			return &hit{}
		}
		return &hit{edits: []Edit{s.replace(from, i+1, not+"Number.isNaN("+s.between(from, i-1)+")")}}
	}
	if !s.is(i-1, "NaN") {
		return nil
	}
	to := s.chainEnd(i + 1)
	if to < 0 || s.oneOf(to+1, "-", "+", "*", "/", "%") || s.is(i-2, ".") {
		return &hit{}
	}
	return &hit{edits: []Edit{s.replace(i-1, to, not+"Number.isNaN("+s.between(i+1, to)+")")}}
}
