package scan

import (
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/regex"
)

// scriptLogicRules look for slips that the syntax of JavaScript and TypeScript shows: what runs
// other than it reads.
var scriptLogicRules = []rule{{
	name: "async-executor", kind: "concurrency", level: "high", confidence: 0.9, languages: scripts,
	message: "what an async executor throws is lost, and the promise stays open", advice: "Await outside of new Promise, or call reject.",
	find: where(func(s *source, i int) bool { return s.is(i, "new", "Promise", "(", "async") }),
}, {
	name: "return-in-finally", kind: "logic-error", level: "high", confidence: 0.9, languages: scripts, tests: true,
	message: "return in finally drops the error or the value that is on its way", advice: "Return behind the try statement.",
	find: where(func(s *source, i int) bool {
		if !s.is(i, "return") {
			return false
		}
		for open := range s.around(i) {
			if _, ok := s.functionAt(open); ok {
				return false
			}
			if s.is(open-1, "finally") {
				return true
			}
		}
		return false
	}),
}, {
	name: "map-parse-int", kind: "logic-error", level: "high", confidence: 0.95, languages: scripts,
	message: "parseInt takes the index for its radix", advice: "Write map((text) => parseInt(text, 10)), or map(Number).",
	find: where(func(s *source, i int) bool { return s.is(i, ".", "map", "(", "parseInt", ")") }),
}, {
	name: "callback-without-return", kind: "logic-error", level: "high", confidence: 0.85, languages: scripts,
	message: "the callback never returns a value", advice: "Return the value, or use a loop where none is wanted.",
	find: where(callbackWithoutReturn),
}, {
	name: "unsafe-optional-chain", kind: "null-reference", level: "high", confidence: 0.9, languages: scripts, written: true,
	message: "the chain may be undefined, and the parentheses end it", advice: "Put ?. behind the parentheses too, or take them away.",
	find: where(unsafeChain),
}, {
	name: "loop-direction", kind: "logic-error", level: "high", confidence: 0.95, languages: scripts, tests: true,
	message: "the loop counts away from its end", advice: "Turn the step or the comparison round.",
	find: where(loopDirection),
}, {
	name: "shared-loop-variable", kind: "logic-error", level: "high", confidence: 0.85, languages: scripts, written: true,
	message: "runs after the loop, when the variable has its last value", advice: "Declare the variable with let.",
	find: sharedLoopVariable,
}, {
	name: "repeated-condition", kind: "logic-error", level: "high", confidence: 0.9, languages: scripts, tests: true,
	message: "the condition stands in this chain before: what follows never runs", advice: "Remove the branch, or mend its condition.",
	find: where(repeatedCondition),
}, {
	name: "self-comparison", kind: "logic-error", level: "high", confidence: 0.9, languages: scripts,
	message: "a value is compared with itself", advice: "Compare with the other value.",
	find: where(func(s *source, i int) bool {
		if !s.oneOf(i, "===", "==", "<", ">", "<=", ">=") {
			return false
		}
		from, to := s.chainStart(i-1), s.chainEnd(i+1)
		if from < 0 || to < 0 || s.oneOf(from-1, "+", "-", "*", "/", "%", "!", "typeof") || s.oneOf(to+1, "+", "-", "*", "/", "%") {
			return false
		}
		return slices.Equal(s.texts(from, i-1), s.texts(i+1, to))
	}),
}, {
	name: "numbers-sorted-as-text", kind: "logic-error", level: "high", confidence: 0.85, languages: onlyTyped, written: true,
	message: "sort compares numbers as texts: 10 comes before 9", advice: "Pass (a, b) => a - b.",
	find: where(numbersSorted),
}, {
	name: "path-traversal", kind: "security", level: "high", confidence: 0.8, languages: scripts, written: true,
	message: "file path built from the request may leave its folder",
	advice:  "Take path.basename of it, or check that the resolved path is inside the folder.",
	find:    where(requestPath),
}, {
	name: "open-redirect", kind: "security", level: "medium", confidence: 0.8, languages: scripts, written: true,
	message: "redirect to an address that the request names", advice: "Redirect to known paths only.",
	find: where(func(s *source, i int) bool {
		if !s.is(i, ".", "redirect", "(") {
			return false
		}
		for _, argument := range s.arguments(i + 2) {
			at := argument[0]
			if s.is(at, "String", "(") {
				at += 2
			}
			if end := s.requestData(at); end > 0 && (end == argument[1] || s.oneOf(end+1, ")", "as")) {
				return true
			}
		}
		return false
	}),
}}

// requestData returns the index of the last token of a chain such as req.query.name, which
// begins at i; -1 where none does. The path of a request is no such data: a router has read it.
func (s *source) requestData(i int) int {
	if !s.oneOf(i, "req", "request") || s.oneOf(i-1, ".", "?.") {
		return -1
	}
	at := i + 1
	if !s.oneOf(at, ".", "?.") || !s.oneOf(at+1, "query", "params", "body", "headers", "cookies") {
		return -1
	}
	for at += 2; ; {
		switch {
		case s.oneOf(at, ".", "?.") && s.at(at+1).kind == word:
			at += 2
		case s.is(at, "[") && s.sameLine(at-1, at) && s.partner(at) > at:
			at = s.partner(at) + 1
		default:
			return at - 1
		}
	}
}

// fileCalls are functions that read or make a path.
var fileCalls = []string{
	"join", "resolve", "readFile", "readFileSync", "createReadStream", "writeFile", "writeFileSync", "createWriteStream",
	"unlink", "unlinkSync", "readdir", "readdirSync",
}

// requestPath: path.join(root, req.params.name), with nothing that takes the folders off it.
func requestPath(s *source, i int) bool {
	if !s.oneOf(i, fileCalls...) || !s.is(i+1, "(") || s.oneOf(i, "join", "resolve") && !s.is(i-2, "path", ".") {
		return false
	}
	around := s.functionAround(i)
	for j := around + 1; around >= 0 && j < min(s.partner(around), around+maxAhead); j++ {
		if name := strings.ToLower(s.at(j).text); s.at(j).kind == word &&
			(name == "startswith" || name == "relative" || name == "normalize" || strings.Contains(name, "inside")) {
			return false // it looks where the path leads
		}
	}
	for _, argument := range s.arguments(i + 1) {
		for j := argument[0]; j <= argument[1]; j++ {
			if s.requestData(j) > 0 {
				return true
			}
			if p := s.partner(j); p > j && s.is(j, "(") && s.isName(j-1) && !s.is(j-1, "String") {
				j = p // what another function makes of it
			}
		}
		if s.oneOf(i, "writeFile", "writeFileSync") {
			break // the arguments behind the name are content
		}
	}
	return false
}

// returning are the methods of arrays that are nothing without what their callback returns.
var returning = []string{"map", "flatMap", "filter", "some", "every", "findIndex", "findLast", "reduce", "reduceRight"}

// callbackWithoutReturn: xs.map(x => { x.y; }), where the result is used.
func callbackWithoutReturn(s *source, i int) bool {
	if !s.is(i, ".") || !s.oneOf(i+1, returning...) || !s.is(i+2, "(") || s.usedAsStatement(i) {
		return false
	}
	arguments := s.arguments(i + 2)
	if len(arguments) == 0 {
		return false
	}
	end := arguments[0][1]
	open := s.partner(end)
	if !s.is(end, "}") || open <= arguments[0][0] || open == arguments[0][0]+1 {
		return false
	}
	f, ok := s.functionAt(open)
	if !ok || f.start > arguments[0][0]+1 || f.async || s.is(f.start+1, "*") || s.is(open, "{", "}") {
		return false
	}
	for j := open + 1; j < end; j++ {
		if s.oneOf(j, "return", "throw") && s.functionAround(j) == open {
			return false
		}
	}
	return true
}

// functionAround returns the index of the brace of the innermost function around a token; -1
// where there is none.
func (s *source) functionAround(i int) int {
	for open := range s.around(i) {
		if _, ok := s.functionAt(open); ok {
			return open
		}
		if s.is(open-1, "=>") {
			return open // what functionAt does not take apart
		}
	}
	return -1
}

// usedAsStatement reports whether the call of the method behind the dot at i is a whole statement.
func (s *source) usedAsStatement(i int) bool {
	end := s.partner(i + 2)
	if s.oneOf(end+1, ".", "?.", "[", ")", ",", "?", ":", "]", "&&", "||", "??") {
		return false
	}
	from := s.statementOf(i)[0]
	return !s.oneOf(from, "return", "const", "let", "var", "export", "throw", "await", "yield") && s.find(from, i, "=", "=>", "+=") < 0 &&
		(s.parents[i] < 0 || s.is(s.parents[i], "{"))
}

// unsafeChain: (a?.b).c. Who asserts in the parentheses that it is there has thought of it.
func unsafeChain(s *source, i int) bool {
	end := s.partner(i)
	if !s.is(i, "(") || end < 0 || end > i+maxAround || !s.oneOf(end+1, ".", "[", "(") || !s.sameLine(end, end+1) && s.is(end+1, "[", "(") {
		return false
	}
	called := s.at(i-1).kind == word && !s.oneOf(i-1, "return", "await", "in", "of")
	if called || s.oneOf(i-1, ")", "]", "?.", ">") {
		return false
	}
	chain := false
	for j := i + 1; j < end; j++ {
		switch {
		case s.is(j, "?."):
			chain = true
		case s.is(j, "(") || s.is(j, "["):
			j = s.partner(j)
		case !s.is(j, ".") && s.at(j).kind != word, s.oneOf(j, "as", "await", "satisfies"):
			return false
		}
	}
	return chain
}

// loopDirection: for (…; i < n; i--) and for (…; i > 0; i++).
func loopDirection(s *source, i int) bool {
	if !s.is(i, "for", "(") {
		return false
	}
	end := s.partner(i + 1)
	first := s.find(i+2, max(end, 0), ";")
	if first < 0 {
		return false
	}
	second := s.find(first+1, end, ";")
	if second < 0 || !s.isName(first+1) {
		return false
	}
	name := s.at(first + 1).text
	up := s.is(second+1, name, "++", ")") || s.is(second+1, "++", name, ")") || s.is(second+1, name, "+=") && s.at(second+3).kind == number
	down := s.is(second+1, name, "--", ")") || s.is(second+1, "--", name, ")") || s.is(second+1, name, "-=") && s.at(second+3).kind == number
	for j := first + 1; j < second; j++ {
		if s.oneOf(j, "&&", "||", "?") {
			return false
		}
	}
	return up && s.oneOf(first+2, ">", ">=") || down && s.oneOf(first+2, "<", "<=")
}

// sharedLoopVariable: for (var i …) { setTimeout(() => … i …) }.
func sharedLoopVariable(s *source) []hit {
	var hits []hit
	for i := range s.tokens {
		if !s.is(i, "for", "(", "var") || !s.isName(i+3) {
			continue
		}
		name, open := s.at(i+3).text, s.partner(i+1)+1
		if !s.is(open, "{") {
			continue
		}
		for j := open; j < min(s.partner(open), open+maxAhead); j++ {
			if !s.oneOf(j, "setTimeout", "setInterval", "setImmediate", "addEventListener", "then") || !s.is(j+1, "(") {
				continue
			}
			from := s.find(j+2, max(s.partner(j+1), 0), "=>", "function")
			inner := s.functionAround(j)
			if from > 0 && (inner < 0 || inner < open) && s.findWord(from, s.partner(j+1), name) > 0 {
				hits = append(hits, hit{at: s.at(j).start})
			}
		}
	}
	return hits
}

// repeatedCondition: if (a) … else if (b) … else if (a). What calls or assigns may differ the next time.
func repeatedCondition(s *source, i int) bool {
	if !s.is(i, "else", "if", "(") || !s.is(i-1, "}") {
		return false
	}
	end := s.partner(i + 2)
	for j := i + 3; j < end; j++ {
		if s.oneOf(j, "(", "=", "++", "--", "await", "yield", "+=", "-=") {
			return false
		}
	}
	condition := s.texts(i+3, end-1)
	for close, steps := i-1, 0; steps < maxAround && s.is(close, "}"); steps++ {
		head := s.partner(close) - 1 // the end of the condition before
		open := s.partner(head)
		if !s.is(head, ")") || open < 0 || !s.is(open-1, "if") {
			return false
		}
		if slices.Equal(condition, s.texts(open+1, head-1)) {
			return true
		}
		if !s.is(open-2, "else") {
			return false
		}
		close = open - 3
	}
	return false
}

// numbersSorted: xs.sort() where the file declares xs as numbers, and nothing else of that name.
func numbersSorted(s *source, i int) bool {
	if !s.is(i, ".", "sort", "(", ")") {
		return false
	}
	name := i - 1
	if s.is(name, "]") && s.is(s.partner(name)+1, "...") { // [...xs].sort()
		name = s.partner(i-1) + 2
		if name != i-2 {
			return false
		}
	}
	if s.is(name, ")") && s.is(s.partner(name)-1, "map") {
		return s.is(s.partner(name)+1, "Number", ")") || s.is(s.partner(name)+1, "parseFloat", ")")
	}
	if !s.isName(name) || s.oneOf(name-1, ".", "?.") {
		return false
	}
	numbers := false
	for _, j := range s.places[s.at(name).text] {
		typed := s.is(j+1, ":", "number", "[", "]") || s.is(j+1, ":", "readonly", "number", "[") || s.is(j+1, ":", "Array", "<", "number", ">")
		if !typed && (s.is(j+1, ":") && !s.oneOf(j-1, "{", "?") || s.oneOf(j-1, "const", "let", "var")) {
			return false
		}
		numbers = numbers || typed
	}
	return numbers
}

// scriptReactRules look for faults in components of React.
var scriptReactRules = []rule{{
	name: "conditional-hook", kind: "logic-error", level: "high", confidence: 0.85, languages: scripts,
	message: "hook called conditionally: it does not run on every render",
	advice:  "Call hooks before the first return, outside of conditions.",
	find:    where(conditionalHook),
}, {
	name: "async-effect", kind: "logic-error", level: "high", confidence: 0.95, languages: scripts,
	message: "an async effect returns a promise where React wants a cleanup", advice: "Call an async function inside of the effect.",
	find: where(func(s *source, i int) bool { return s.oneOf(i, effects[:2]...) && s.is(i+1, "(", "async") }),
}, {
	name: "state-mutated", kind: "logic-error", level: "high", confidence: 0.9, languages: scripts,
	message: "state mutated in place: React sees the same object and renders nothing", advice: "Set a changed copy.",
	find: stateMutated,
}, {
	name: "handler-called", kind: "logic-error", level: "high", confidence: 0.85, languages: scripts,
	message: "handler called during render", advice: "Pass a function: () => handler(…).",
	find: where(handlerCalled),
}}

var (
	hookName      = regex.Lazy(`^use[A-Z]`)
	componentName = regex.Lazy(`^(use)?[A-Z]`)
	handlerName   = regex.Lazy(`^on[A-Z]`)
)

// usesReact reports whether the source imports React or what stands for it.
func (s *source) usesReact() bool { return s.mentions("react") || s.mentions("preact/hooks") }

// conditionalHook: a hook within a condition or a loop of a component, or behind a return.
func conditionalHook(s *source, i int) bool {
	if s.at(i).kind != word || !hookName().MatchString(s.at(i).text) || !s.is(i+1, "(") || s.is(i-1, "function") ||
		s.oneOf(i-1, ".", "?.") && !s.is(i-2, "React") || !s.usesReact() {
		return false
	}
	conditional := false
	for open := range s.around(i) {
		if f, ok := s.functionAt(open); ok {
			if !componentName().MatchString(f.name) {
				return false
			}
			if conditional {
				return true
			}
			for j := open + 1; j < min(i, open+maxAhead); j++ {
				if s.is(j, "return") && s.functionAround(j) == open && s.find(j, i, ";") > 0 {
					return true
				}
			}
			return false
		}
		if s.is(open, "{") && s.is(open-1, ")") && s.oneOf(s.partner(open-1)-1, "if", "for", "while", "switch") || s.is(open-1, "else") {
			conditional = true
		}
		if s.is(open-1, "=>") {
			return false
		}
	}
	return false
}

// changing are methods that change what they are called on.
var changing = []string{"push", "pop", "shift", "unshift", "splice", "sort", "reverse", "set", "add", "delete", "clear"}

// stateMutated: xs.push(x); setXs(xs), where both come from one useState.
func stateMutated(s *source) []hit {
	var hits []hit
	for i := range s.tokens {
		if !s.is(i, "[") || !s.isName(i+1) || !s.is(i+2, ",") || !s.isName(i+3) || !s.is(i+4, "]", "=") ||
			!s.is(i+6, "useState", "(") && !s.is(i+6, "React", ".", "useState", "(") {
			continue
		}
		state, set := s.at(i+1).text, s.at(i+3).text
		for _, at := range s.places[set] {
			if !s.is(at+1, "(", state, ")") {
				continue
			}
			for _, j := range s.places[state] {
				changes := s.is(j+1, ".") && s.oneOf(j+2, changing...) && s.is(j+3, "(") || s.oneOf(j+1, ".", "[") && s.assignedAt(j)
				if j < at && changes && s.functionAround(j) == s.functionAround(at) {
					hits = append(hits, hit{at: s.at(j).start})
				}
			}
		}
	}
	return hits
}

// assignedAt reports whether the member of a name at i is assigned: a.b = c, a[b] = c.
func (s *source) assignedAt(i int) bool {
	for i++; ; {
		switch {
		case s.is(i, ".") && s.at(i+1).kind == word:
			i += 2
		case s.is(i, "[") && s.partner(i) > i:
			i = s.partner(i) + 1
		default:
			return s.is(i, "=")
		}
	}
}

// handlerCalled: onClick={drop(0)}, where drop is a function of the file that returns nothing.
func handlerCalled(s *source, i int) bool {
	if s.at(i).kind != word || !handlerName().MatchString(s.at(i).text) || !s.is(i+1, ":") || !s.isName(i+2) || !s.is(i+3, "(") ||
		!s.oneOf(s.partner(i+3)+1, ",", "}") || !strings.HasSuffix(s.script.name, "x") {
		return false
	}
	name, found := s.at(i+2).text, false
	for _, j := range s.places[name] {
		if !s.is(j-1, "function") && !s.is(j+1, "=") {
			continue
		}
		open := s.find(j+1, j+maxAround, "{")
		f, ok := s.functionAt(open)
		if !ok || f.name != name || found || f.async {
			return false
		}
		found = true
		for k := open + 1; k < s.partner(open); k++ {
			if s.is(k, "return") && !s.oneOf(k+1, ";", "}") && s.functionAround(k) == open {
				return false
			}
		}
	}
	return found
}
