package scan

import (
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/regex"
)

// scriptSlipRules returns rules that look for what JavaScript takes without a word and does otherwise than it reads, and for
// what reaches a request of Express.
func scriptSlipRules() []rule {
	return []rule{{
		name: "index-past-end", kind: "logic-error", level: "high", confidence: 0.9, languages: scripts,
		message: "the element behind the last one is undefined", advice: "Use at(-1), or length - 1.",
		find: where(func(s *source, i int) bool {
			if s.chainStart(i) != i {
				return false
			}
			end := s.chainEndBefore(i)
			list := s.texts(i, end)
			after := end + 2 + len(list)
			return s.is(end+1, "[") && s.is(end+2, list...) && s.is(after, ".", "length", "]") && !s.oneOf(after+3, "=", "+=", "?") &&
				s.is(s.partner(end+1), "]") && s.partner(end+1) == after+2 && !(s.is(after+3, ".") && s.assignedBehind(after+3))
		}),
	}, {
		name: "array-delete", kind: "logic-error", level: "medium", confidence: 0.9, languages: onlyTyped, written: true,
		message: "delete leaves a hole: the length stays", advice: "Use splice, or filter.",
		find: where(func(s *source, i int) bool {
			return s.is(i, "delete") && s.isName(i+1) && s.is(i+2, "[") && s.isArray(i+1)
		}),
	}, {
		name: "stateful-regexp", kind: "logic-error", level: "high", confidence: 0.85, languages: scripts,
		message: "test of a regular expression with g begins where the last match ended", advice: "Leave the flag g out.",
		find: where(statefulRegexp),
	}, {
		name: "xss", kind: "security", level: "high", confidence: 0.85, languages: scripts, written: true,
		message: "cross-site scripting: the request is answered as HTML", advice: "Escape it, or render a template.",
		find: where(func(s *source, i int) bool {
			if !s.is(i, ".") || !s.oneOf(i+1, "send", "write", "end") || !s.is(i+2, "(") || !s.oneOf(i-1, "res", "response") {
				return false
			}
			markup, requested := false, false
			for j := i + 3; j < s.partner(i+2); j++ {
				if s.isName(j) && s.is(j+1, "(") {
					return false // what another function makes of it
				}
				markup = markup || s.at(j).kind == text && htmlTag().MatchString(s.at(j).text)
				requested = requested || s.requestData(j) > 0
			}
			return markup && requested
		}),
	}, {
		name: "dom-xss", kind: "security", level: "high", confidence: 0.9, languages: scripts,
		message: "cross-site scripting: the address is shown as HTML", advice: "Set textContent.",
		find: where(func(s *source, i int) bool {
			if !s.is(i, ".") || !s.oneOf(i+1, "innerHTML", "outerHTML") || !s.oneOf(i+2, "=", "+=") {
				return false
			}
			statement := s.statementOf(i)
			for j := i + 3; j <= statement[1]; j++ {
				if s.isName(j) && s.is(j+1, "(") && !s.oneOf(j, "slice", "substring", "substr", "decodeURIComponent", "decodeURI", "get",
					"replace", "split") &&
					!s.is(j, "URLSearchParams") {
					return false
				}
			}
			for j := i + 3; j <= statement[1]; j++ {
				if s.is(j, "location", ".") && s.oneOf(j+2, "hash", "search", "href") || s.is(j, "document", ".") && s.oneOf(j+2, "URL", "referrer") {
					return true
				}
			}
			return false
		}),
	}, {
		name: "token-not-verified", kind: "security", level: "high", confidence: 0.85, languages: scripts,
		message: "the signature of the token is not verified", advice: "Use verify, with the key and the algorithms.",
		find: where(func(s *source, i int) bool {
			return s.oneOf(i, "jwt", "jsonwebtoken") && s.is(i+1, ".", "decode", "(") && s.mentions("jsonwebtoken") && !s.has("verify")
		}),
	}, {
		name: "prototype-pollution", kind: "security", level: "high", confidence: 0.85, languages: scripts,
		message: "prototype pollution: the key may be __proto__", advice: "Refuse __proto__, constructor and prototype.",
		find: where(prototypePollution),
	}, {
		name: "promise-dropped", kind: "concurrency", level: "medium", confidence: 0.85, languages: scripts,
		message: "nobody waits for these promises, or hears that one failed", advice: "Await Promise.all, or return it.",
		find: where(func(s *source, i int) bool {
			if !s.is(i, "Promise", ".") || !s.oneOf(i+2, "all", "race", "any") || !s.is(i+3, "(") || !s.begins(i) || !s.inAsync(i) {
				return false
			}
			end := s.partner(i+3) + 1
			return s.oneOf(end, ";", "}") || !s.sameLine(end-1, end) && !s.oneOf(end, ".", "?.")
		}),
	}, {
		name: "chained-comparison", kind: "logic-error", level: "high", confidence: 0.9, languages: scripts, tests: true,
		message: "a truth value is compared with a number", advice: "Compare twice: a < b && b < c.",
		find: where(func(s *source, i int) bool {
			return s.oneOf(i, "<", "<=", ">", ">=") && s.oneOf(i+2, "<", "<=", ">", ">=") && (s.isName(i-1) || s.at(i-1).kind == number) &&
				s.isName(i+1) && (s.isName(i+3) || s.at(i+3).kind == number) && !s.oneOf(i+4, "(", "{", ">") && !s.is(i-2, "class") &&
				s.sameLine(i, i+3)
		}),
	}, {
		name: "constant-condition", kind: "logic-error", level: "high", confidence: 0.95, languages: scripts, tests: true,
		message: "the condition has the same value for everything", advice: "Compare with each value.",
		find: where(constantChoice),
	}, {
		name: "comparison-statement", kind: "logic-error", level: "high", confidence: 0.95, languages: scripts,
		message: "the comparison does nothing", advice: "Write = to assign.",
		find: where(func(s *source, i int) bool {
			if !s.oneOf(i, "==", "===") || s.parents[i] >= 0 && !s.is(s.parents[i], "{") {
				return false
			}
			start := s.chainStart(i - 1)
			if start < 0 || !s.begins(start) || s.oneOf(start-1, ")", "=>", "?", ":", "return", "case", "&&", "||") {
				return false
			}
			statement := s.statementOf(i)
			return s.is(statement[1]+1, ";") && s.find(i+1, statement[1]+1, "&&", "||", "?", "=>", ",") < 0
		}),
	}, {
		name: "self-assignment", kind: "logic-error", level: "high", confidence: 0.95, languages: scripts,
		message: "a value is assigned to itself", advice: "Assign the other value.",
		find: where(func(s *source, i int) bool {
			if !s.is(i, "=") || !s.is(i-2, ".") {
				return false
			}
			from, to := s.chainStart(i-1), s.chainEnd(i+1)
			return from >= 0 && to >= 0 && s.begins(from) && s.is(to+1, ";") && slices.Equal(s.texts(from, i-1), s.texts(i+1, to)) &&
				!s.oneOf(i-1, "href", "src", "scrollTop", "value", "innerHTML", "hash", "lastIndex") // setters that do something
		}),
	}, {
		name: "date-month", kind: "logic-error", level: "high", confidence: 0.95, languages: scripts,
		message: "months count from 0: 12 is January of the next year", advice: "Use 11 for December.",
		find: where(func(s *source, i int) bool {
			return s.is(i, "new", "Date", "(") && s.at(i+3).kind == number && s.is(i+4, ",", "12") && s.oneOf(i+6, ",", ")")
		}),
	}, {
		name: "dropped-result", kind: "logic-error", level: "high", confidence: 0.9, languages: scripts, tests: true,
		message: "the result is dropped: texts stay as they are", advice: "Assign the result.",
		find: where(func(s *source, i int) bool {
			if !s.is(i, ".") || !s.is(i+2, "(") || !s.usedAsStatement(i) || s.chainStart(i-1) != s.statementOf(i)[0] ||
				!s.is(s.partner(i+2)+1, ";") {
				return false
			}
			if s.oneOf(i+1, "trim", "trimStart", "trimEnd", "toUpperCase", "toLowerCase") {
				return s.partner(i+2) == i+3
			}
			arguments := s.arguments(i + 2)
			return s.oneOf(i+1, "replace", "replaceAll", "padStart", "padEnd", "concat") && len(arguments) == 2 &&
				s.at(arguments[0][0]).kind == text &&
				s.at(arguments[1][0]).kind == text && !strings.HasPrefix(strings.Trim(s.at(arguments[0][0]).text, "\"'`"), "/")
		}),
	}, {
		name: "index-of-condition", kind: "logic-error", level: "high", confidence: 0.9, languages: scripts, tests: true,
		message: "indexOf is -1, which is true, where nothing was found", advice: "Use includes.",
		find: where(func(s *source, i int) bool {
			if !s.is(i, ".") || !s.oneOf(i+1, "indexOf", "findIndex", "lastIndexOf") || !s.is(i+2, "(") {
				return false
			}
			from, end := s.chainStart(i-1), s.partner(i+2)
			return from > 0 && (s.is(from-1, "(") && s.oneOf(from-2, "if", "while") && s.is(end+1, ")") ||
				s.is(from-1, "!") && !s.is(from-2, "!") && s.oneOf(end+1, ")", ";", "&&", "||"))
		}),
	}, {
		name: "returned-in-try", kind: "concurrency", level: "medium", confidence: 0.85, languages: scripts,
		message: "the catch clause does not see it: the promise is returned, not awaited", advice: "Return await.",
		find: returnedInTry,
	}, {
		name: "effect-without-end", kind: "logic-error", level: "high", confidence: 0.9, languages: scripts,
		message: "the effect sets state after every render, which renders again", advice: "Pass what it depends on.",
		find: where(endlessEffect),
	}, {
		name: "missing-key", kind: "logic-error", level: "medium", confidence: 0.85, languages: scripts,
		message: "elements of a list have no key: React mixes them up when the list changes", advice: "Pass a key that stays with the item.",
		find: where(missingKey),
	}}
}

// assignedBehind reports whether the members behind a dot are assigned to.
func (s *source) assignedBehind(i int) bool {
	for s.is(i, ".") && s.isName(i+1) {
		i += 2
	}
	return s.oneOf(i, "=", "+=")
}

// isArray reports whether the file declares a name as an array wherever it declares it.
func (s *source) isArray(i int) bool {
	array := false
	for _, j := range s.near(s.at(i).text) {
		if !s.is(j+1, ":") || s.oneOf(j-1, "{", "?") {
			continue
		}
		if !(s.isName(j+2) || s.is(j+2, "string")) || !s.is(j+3, "[", "]") && !s.is(j+2, "Array", "<") {
			return false
		}
		array = true
	}
	return array
}

// statefulRegexp: const pattern = /x/g outside of the function that calls pattern.test.
func statefulRegexp(s *source, i int) bool {
	if !s.isName(i) || !s.is(i+1, ".", "test", "(") || s.oneOf(i-1, ".", "?.") {
		return false
	}
	around := s.functionAround(i)
	if around < 0 || s.loopsAround(i) > 0 && s.is(i-2, "while") {
		return false
	}
	declared := 0
	for _, j := range s.near(s.at(i).text) {
		if s.oneOf(j-1, "const", "let", "var") {
			declared++
			t := s.at(j + 2)
			if !s.is(j+1, "=") || t.kind != text || t.text[0] != '/' || !strings.Contains(t.text[strings.LastIndexByte(t.text, '/'):], "g") ||
				s.functionAround(j) == around {
				return false
			}
		}
		if s.is(j+1, ".") && !s.is(j+2, "test") { // exec and matchAll want the flag
			return false
		}
	}
	return declared == 1 && !s.has("lastIndex")
}

var keyGuard = regex.Lazy(`__proto__|prototype|constructor|hasOwn`)

// prototypePollution: a function that copies the keys of one object to another, and calls itself for
// what is inside.
func prototypePollution(s *source, i int) bool {
	if !s.is(i, "[") || !s.isName(i+1) || !s.is(i+2, "]", "=") || !s.isName(i-1) {
		return false
	}
	around := s.functionAround(i)
	f, ok := s.functionAt(around)
	if !ok || f.name == "" {
		return false
	}
	key, loops, recurs := s.at(i+1).text, false, false
	for j := around + 1; j < min(s.partner(around), around+maxAhead); j++ {
		if keyGuard().MatchString(s.at(j).text) {
			return false
		}
		loops = loops || s.is(j, "for", "(") && s.oneOf(j+2, "const", "let", "var") && s.is(j+3, key, "in")
		recurs = recurs || s.is(j, f.name, "(") && s.hasIndex(j+2, s.partner(j+1), key)
	}
	return loops && recurs
}

// hasIndex reports whether [name] stands from one token to another.
func (s *source) hasIndex(from, to int, name string) bool {
	for j := from; j < min(to, from+maxAhead); j++ {
		if s.is(j, "[", name, "]") {
			return true
		}
	}
	return false
}

// constantChoice: x === 1 || "a", and x !== 1 || x !== 2.
func constantChoice(s *source, i int) bool {
	if !s.oneOf(i, "&&", "||") || !s.isLiteral(i-1) {
		return false
	}
	if s.is(i, "||") && s.oneOf(i-2, "===", "==") && s.at(i+1).kind == text && s.isLiteral(i+1) && len(s.at(i+1).text) > 2 &&
		s.oneOf(i+2, ")", "||") && s.is(s.parents[i]-1, "if") {
		return true
	}
	comparisons := map[string][]string{"&&": {"==", "==="}, "||": {"!=", "!=="}}[s.at(i).text]
	from, to := s.chainStart(i-3), s.chainEndBefore(i+1)
	return from > 0 && !s.is(from-1, "typeof") && s.oneOf(i-2, comparisons...) && s.oneOf(to+1, comparisons...) &&
		slices.Equal(s.texts(from, i-3), s.texts(i+1, to)) &&
		s.isLiteral(to+2) && s.at(to+2).text != s.at(i-1).text && s.oneOf(to+3, ")", ";", "&&", "||", "}")
}

// returnedInTry: try { return load() } catch, where load is an async function of the file.
func returnedInTry(s *source) []hit {
	async := s.asyncFunctions()
	var hits []hit
	for _, i := range s.places["return"] {
		if !async[s.at(i+1).text] || !s.is(i+2, "(") || !s.oneOf(s.partner(i+2)+1, ";", "}") || !s.inAsync(i) {
			continue
		}
		for open := range s.around(i) {
			if _, ok := s.functionAt(open); ok {
				break
			}
			if s.is(open-1, "try") {
				if s.is(s.partner(open)+1, "catch") {
					hits = append(hits, hit{at: s.at(i).start})
				}
				break
			}
		}
	}
	return hits
}

// endlessEffect: useEffect(() => { setCount(count + 1) }), without dependencies.
func endlessEffect(s *source, i int) bool {
	if !s.oneOf(i, effects[:2]...) || !s.is(i+1, "(") {
		return false
	}
	arguments := s.arguments(i + 1)
	if len(arguments) != 1 || !s.is(arguments[0][1], "}") {
		return false
	}
	body := s.partner(arguments[0][1])
	for j := body + 1; j < min(arguments[0][1], body+maxAhead); j++ {
		if s.parents[j] != body || !s.begins(j) || !s.isName(j) || !s.is(j+1, "(") {
			continue
		}
		for _, declared := range s.near(s.at(j).text) { // const [count, setCount] = useState(…)
			if open := s.parents[declared]; s.is(open, "[") && s.is(s.partner(open)+1, "=") &&
				s.findWord(s.partner(open), s.partner(open)+5, "useState") > 0 {
				return s.partner(j+1) > j+2 && s.at(j+2).kind != text && !s.isLiteral(j+2) && s.find(j+2, s.partner(j+1), "=>") < 0
			}
		}
	}
	return false
}

// missingKey: items.map((x) => createElement("li", null, …)).
func missingKey(s *source, i int) bool {
	if !s.is(i, "React", ".", "createElement", "(") {
		return false
	}
	at := i
	for s.is(at-1, "(") {
		at--
	}
	arrow := at - 1
	if s.is(arrow, "return") {
		block := s.parents[arrow]
		arrow = block - 1
	}
	if !s.is(arrow, "=>") {
		return false
	}
	from := arrow - 1
	if s.is(from, ")") {
		from = s.partner(from)
	}
	if !s.is(from-1, "(") || !s.is(from-2, "map") || !s.is(from-3, ".") {
		return false
	}
	arguments := s.arguments(i + 3)
	if len(arguments) < 2 || s.is(arguments[0][0], "React", ".", "Fragment") {
		return len(arguments) >= 2 && s.is(arguments[1][0], "null")
	}
	properties := arguments[1]
	if s.is(properties[0], "null") {
		return true
	}
	if !s.is(properties[0], "{") || s.partner(properties[0]) != properties[1] {
		return false
	}
	for j := properties[0] + 1; j < properties[1]; j++ {
		if s.parents[j] == properties[0] && (s.is(j, "key") || s.is(j, "...")) {
			return false
		}
	}
	return true
}
