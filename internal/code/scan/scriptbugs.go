package scan

import (
	"slices"
)

// scriptRules find slips in JavaScript and TypeScript that are visible in the syntax: code that
// runs differently than it reads.
var scriptRules = []rule{{
	name: "assignment-in-condition", kind: "logic-error", level: "high", confidence: 0.9, languages: scripts, tests: true,
	message: "assignment used as a condition", advice: "Compare with ===, or put the assignment before the condition.",
	find: each(assignmentInCondition),
}, {
	name: "nan-comparison", kind: "logic-error", level: "high", confidence: 0.95, languages: scripts, tests: true,
	message: "nothing equals NaN", advice: "Use Number.isNaN.",
	find: each(nanComparison),
}, {
	name: "async-executor", kind: "concurrency", level: "high", confidence: 0.9, languages: scripts,
	message: "an error in an async executor is lost, and the promise stays open", advice: "Await outside of new Promise, or call reject.",
	find: each(func(s *source, i int) *hit {
		open := s.find(i, i+maxType, "(")
		if !s.is(i, "new", "Promise") || !s.is(open+1, "async") || open != i+2 && !(s.is(i+2, "<") && s.oneOf(open-1, ">", ">>")) {
			return nil
		}
		if !s.awaitsBare(s.find(open+1, s.partner(open), "{")) {
			return &hit{level: "low"} // it catches its errors, or awaits nothing
		}
		return &hit{}
	}),
}, {
	name: "return-in-finally", kind: "logic-error", level: "high", confidence: 0.9, languages: scripts, tests: true,
	message: "return in finally drops the error or the value that is on its way", advice: "Return behind the try statement.",
	find: each(func(s *source, i int) *hit {
		if !s.is(i, "return") || !s.begins(i) {
			return nil
		}
		for open := range s.around(i) {
			if _, ok := s.functionAt(open); ok {
				return nil
			}
			if s.is(open-1, "finally") {
				if before := s.partner(open - 2); s.is(before-1, ")") && s.is(s.partner(before-1)-1, "catch") || s.is(before-1, "catch") {
					return &hit{level: "low"} // the error is handled
				}
				return &hit{}
			}
		}
		return nil
	}),
}, {
	name: "unsafe-optional-chain", kind: "null-reference", level: "high", confidence: 0.9, languages: scripts,
	message: "the chain may be undefined, and the parentheses end it", advice: "Put ?. behind the parentheses too, or take them away.",
	find: where(unsafeChain),
}, {
	name: "loop-direction", kind: "logic-error", level: "high", confidence: 0.95, languages: scripts, tests: true,
	message: "the loop counts away from its end", advice: "Turn the step or the comparison round.",
	find: where(loopDirection),
}, {
	name: "repeated-condition", kind: "logic-error", level: "high", confidence: 0.9, languages: scripts, tests: true,
	message: "the condition stands in this chain before: its branch never runs", advice: "Remove the branch, or mend its condition.",
	find: where(repeatedCondition),
}, {
	name: "self-comparison", kind: "logic-error", level: "high", confidence: 0.9, languages: scripts,
	message: "a value is compared with itself", advice: "Compare with the other value.",
	find: each(func(s *source, i int) *hit {
		switch {
		case !selfComparison(s, i):
			return nil
		case s.chainStart(i-1) == i-1 && s.oneOf(i, "===", "=="):
			return &hit{level: "low"} // a NaN check
		}
		return &hit{}
	}),
}, {
	name: "comparison-statement", kind: "logic-error", level: "high", confidence: 0.95, languages: scripts,
	message: "the comparison does nothing", advice: "Write = to assign.",
	find: where(comparisonStatement),
}}

// awaitsBare reports whether the function whose body opens at index body awaits outside of try.
func (s *source) awaitsBare(body int) bool {
	for i := body; i < min(s.partner(body), body+maxAhead); i++ {
		if !s.is(i, "await") || s.functionAround(i) != body {
			continue
		}
		caught := false
		for open := range s.around(i) {
			caught = caught || open > body && s.is(open-1, "try")
		}
		if !caught {
			return true
		}
	}
	return false
}

// maxType bounds the tokens of a type between a name and its arguments.
const maxType = 12

// assignmentInCondition finds if (a.b = 1). Assigning a literal means that a comparison was
// intended. A second pair of parentheses marks intention.
func assignmentInCondition(s *source, i int) *hit {
	if !s.oneOf(i, "if", "while") || !s.is(i+1, "(") {
		return nil
	}
	end := s.partner(i + 1)
	equals := s.find(i+2, max(end, 0), "=")
	if equals < 0 || s.chainStart(equals-1) != i+2 || !s.isLiteral(equals+1) || equals+2 != end {
		return nil
	}
	return &hit{at: s.at(equals).start, edits: []Edit{s.replace(equals, equals, "===")}}
}

// selfComparison finds a.b === a.b. It ignores x !== x, a NaN check.
func selfComparison(s *source, i int) bool {
	if !s.oneOf(i, "===", "==", "<=", ">=") {
		return false
	}
	from, to := s.chainStart(i-1), s.chainEnd(i+1)
	if from < 0 || to < 0 || s.oneOf(from-1, "+", "-", "*", "/", "%", "!", "typeof") || s.oneOf(to+1, "+", "-", "*", "/", "%") {
		return false
	}
	return slices.Equal(s.texts(from, i-1), s.texts(i+1, to))
}

// comparisonStatement finds a.b == c; as a statement.
func comparisonStatement(s *source, i int) bool {
	if !s.oneOf(i, "==", "===") || s.parents[i] >= 0 && !s.is(s.parents[i], "{") {
		return false
	}
	start := s.chainStart(i - 1)
	if start < 0 || !s.begins(start) || s.oneOf(start-1, ")", "=>", "?", ":", "return", "case", "&&", "||") {
		return false
	}
	statement := s.statementOf(i)
	return s.is(statement[1]+1, ";") && s.find(i+1, statement[1]+1, "&&", "||", "?", "=>", ",") < 0
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

// functionAround returns the index of the brace of the innermost function around a token, or -1.
func (s *source) functionAround(i int) int {
	for open := range s.around(i) {
		if _, ok := s.functionAt(open); ok {
			return open
		}
		if s.is(open-1, "=>") {
			return open // a form that functionAt does not parse
		}
	}
	return -1
}

// statementOf returns the indexes of the first and the last token of the statement around a token,
// judged by semicolons and braces.
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

// unsafeChain finds (a?.b).c. It ignores chains with an assertion in the parentheses.
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

// loopDirection finds for (…; i < n; i--) and for (…; i > 0; i++).
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

// repeatedCondition finds if (a) … else if (b) … else if (a). It ignores conditions with calls or
// assignments, whose value may change.
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
		head := s.partner(close) - 1 // the end of the previous condition
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
