package scan

import (
	"regexp"
	"strings"

	"github.com/toolfold/toolfold/internal/regex"
)

// bugRules look for faults in JavaScript and TypeScript, and for what all
// languages share.
var bugRules = []rule{{
	name: "hard-coded-secret", kind: "security", level: "critical", confidence: 0.8, languages: every,
	message: "the source contains a secret", advice: "Read it from the environment or a secret store, and revoke this one.",
	find: where(func(s *source, i int) bool {
		return s.at(i).kind == word && secretName().MatchString(s.at(i).text) && s.oneOf(i+1, "=", ":", ":=") && secretValue(s, i+2)
	}),
}, {
	name: "sql-injection", kind: "security", level: "critical", confidence: 0.85, languages: every,
	message: "SQL is built from values", advice: "Use placeholders and pass the values as parameters.",
	find: where(sqlInjection),
}, {
	name: "eval", kind: "security", level: "critical", confidence: 0.9, languages: scripts, tests: true,
	message: "a string is run as code", advice: "Parse the data, or call a function by name from a table.",
	find: where(func(s *source, i int) bool {
		_, literal := s.quoted(i + 2)
		return s.is(i, "eval", "(") && !s.oneOf(i-1, ".", "function") || s.is(i, "new", "Function", "(") ||
			s.oneOf(i, "setTimeout", "setInterval") && s.is(i+1, "(") && literal
	}),
}, {
	name: "fixme-comment", kind: "other", level: "info", confidence: 0.9, languages: every,
	message: "a comment says that something is broken", advice: "Mend it, or say why it may stay.",
	find: func(s *source) []hit { return s.inComments(fixme()) },
}, {
	name: "unclosed-file", kind: "resource-leak", level: "high", confidence: 0.6, languages: scripts,
	message: "a file is opened and nothing in this file closes it", advice: "Close it in a finally block, or use pipeline().",
	find: where(func(s *source, i int) bool {
		return s.oneOf(i, "openSync", "createReadStream", "createWriteStream") && s.is(i+1, "(") && !s.is(i-1, "function") ||
			s.is(i, "fs", ".", "open", "(")
	}).unless("close", "closeSync", "destroy", "end", "pipe", "pipeline"),
}, {
	name: "interval-not-cleared", kind: "timer-leak", level: "high", confidence: 0.7, languages: scripts,
	message: "the interval is never cleared", advice: "Keep what setInterval returns and pass it to clearInterval.",
	find: where(func(s *source, i int) bool { return s.is(i, "setInterval", "(") && !s.is(i-1, "function") }).unless("clearInterval"),
}, {
	name: "assignment-in-condition", kind: "logic-error", level: "high", confidence: 0.85, languages: scripts, tests: true,
	message: "the condition assigns", advice: "Compare with ===, or put the assignment before the condition.",
	find: each(assignmentInCondition),
}, {
	name: "shared-state-in-parallel", kind: "concurrency", level: "high", confidence: 0.7, languages: scripts,
	message: "concurrent promises change the same variable",
	advice:  "Return values from the promises and combine them after Promise.all.",
	find:    where(sharedState),
}, {
	name: "missing-await", kind: "concurrency", level: "high", confidence: 0.75, languages: scripts, tests: true,
	message: "the promise of an async function is dropped", advice: "Await it, or write void before it and handle its errors.",
	find: missingAwait,
}, {
	name: "dynamic-html", kind: "security", level: "high", confidence: 0.8, languages: scripts,
	message: "HTML is built from values", advice: "Set textContent, or sanitise the HTML.",
	find: where(func(s *source, i int) bool {
		if s.oneOf(i, "innerHTML", "outerHTML") && s.is(i-1, ".") && s.oneOf(i+1, "=", "+=") {
			return !s.literalUntilEnd(i + 2)
		}
		open := s.partner(i+3) > i+4 && s.is(i, "document", ".", "write", "(")
		return open && (s.at(i+4).kind != text || s.partner(i+3) != i+5)
	}),
}, {
	name: "nan-comparison", kind: "logic-error", level: "high", confidence: 0.95, languages: scripts, tests: true,
	message: "nothing equals NaN", advice: "Use Number.isNaN.",
	find: each(nanComparison),
}, {
	name: "listener-not-removed", kind: "memory-leak", level: "medium", confidence: 0.6, languages: scripts,
	message: "the listener is never removed", advice: "Remove it, or pass { once: true } or a signal.",
	find: where(func(s *source, i int) bool {
		if !s.is(i, ".", "addEventListener", "(") {
			return false
		}
		for j := i + 3; j < min(s.partner(i+2), i+maxAhead); j++ {
			if s.oneOf(j, "once", "signal") {
				return false
			}
		}
		return true
	}).unless("removeEventListener"),
}, {
	name: "timeout-in-loop", kind: "timer-leak", level: "medium", confidence: 0.7, languages: scripts,
	message: "each turn of a loop starts a timer", advice: "Start one timer, or keep them and clear them.",
	find: where(func(s *source, i int) bool {
		return s.is(i, "setTimeout", "(") && s.loopsAround(i) > 0 && !s.is(i-1, "await")
	}).unless("clearTimeout"),
}, {
	name: "repeated-null-check", kind: "null-reference", level: "medium", confidence: 0.75, languages: scripts,
	message: "each step of a path is checked", advice: "Use optional chaining.",
	find: each(repeatedNullCheck),
}, {
	name: "unchecked-index", kind: "null-reference", level: "medium", confidence: 0.5, languages: scripts,
	message: "the element may be missing", advice: "Check that it is there, or use ?. before its member.",
	find: where(func(s *source, i int) bool {
		if s.is(i, "]", ".") && s.at(i-1).kind == number && s.is(i-2, "[") && (s.isName(i-3) || s.is(i-3, ")")) {
			return true
		}
		return s.is(i, ".") && s.oneOf(i+1, "find", "match", "exec") && s.is(i+2, "(") && s.oneOf(s.partner(i+2)+1, ".", "[")
	}),
}, {
	name: "any-cast", kind: "type-error", level: "medium", confidence: 0.8, languages: onlyTyped,
	message: "the cast turns type checking off", advice: "Cast to unknown and narrow, or to the type that it has.",
	find: where(func(s *source, i int) bool { return s.is(i, "as", "any") && !s.oneOf(i-1, "import", "*", "{", ",") }),
}, {
	name: "empty-catch", kind: "logic-error", level: "medium", confidence: 0.9, languages: scripts,
	message: "errors are dropped", advice: "Handle the error, or say in a comment why it may be dropped.",
	find: where(func(s *source, i int) bool {
		if !s.is(i, "catch") || s.is(i-1, ".") {
			return false
		}
		open := i + 1
		if s.is(open, "(") {
			open = s.partner(open) + 1
		}
		return s.is(open, "{", "}") && strings.TrimSpace(s.text[s.at(open).end():s.at(open+1).start]) == ""
	}),
}, {
	name: "blocking-call", kind: "performance", level: "medium", confidence: 0.85, languages: scripts,
	message: "an async function blocks on a file", advice: "Use fs/promises.",
	find: where(func(s *source, i int) bool {
		name, isSync := strings.CutSuffix(s.at(i).text, "Sync")
		return isSync && fileCalls[name] && s.is(i+1, "(") && s.inAsync(i)
	}),
}, {
	name: "nested-loops", kind: "performance", level: "medium", confidence: 0.7, languages: scripts,
	message: "three loops are nested", advice: "Look values up in a Map instead of searching them.",
	find: where(func(s *source, i int) bool { return s.isLoop(i) && s.loopsAround(i) == 2 }),
}, {
	name: "non-null-assertion", kind: "null-reference", level: "low", confidence: 0.75, languages: onlyTyped,
	message: "the assertion hides that the value may be missing", advice: "Check the value, or use ?.",
	find: where(func(s *source, i int) bool {
		before := s.at(i - 1)
		return s.is(i, "!") && before.end() == s.at(i).start && (s.isName(i-1) || s.oneOf(i-1, ")", "]")) && s.oneOf(i+1, ".", "[", ")", ";", ",")
	}),
}, {
	name: "loose-equality", kind: "logic-error", level: "low", confidence: 0.95, languages: scripts, tests: true,
	message: "the comparison converts its operands", advice: "Use === or !==.",
	find: each(looseEquality),
}, {
	name: "throw-literal", kind: "type-error", level: "low", confidence: 0.9, languages: scripts, tests: true,
	message: "the thrown value is not an Error: it has no stack", advice: "Throw new Error(…).",
	find: where(func(s *source, i int) bool {
		return s.is(i, "throw") && (s.at(i+1).kind == text || s.at(i+1).kind == number)
	}),
}, {
	name: "chained-array-calls", kind: "performance", level: "low", confidence: 0.6, languages: scripts,
	message: "each call walks the whole array", advice: "Use one loop, or reduce, where the array is long.",
	find: where(func(s *source, i int) bool {
		return s.is(i, ".") && s.oneOf(i+1, "filter", "map") && s.is(i+2, "(") && s.is(s.partner(i+2)+1, ".") &&
			s.oneOf(s.partner(i+2)+2, "filter", "map", "reduce")
	}),
}, {
	name: "debugger", kind: "other", level: "low", confidence: 0.95, languages: scripts, tests: true,
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
}, {
	name: "tls-not-verified", kind: "security", level: "high", confidence: 0.9, languages: every,
	message: "the other side's certificate is not checked", advice: "Add its authority to the trusted ones instead.",
	find: where(func(s *source, i int) bool {
		return s.is(i, "InsecureSkipVerify", ":", "true") || s.is(i, "InsecureSkipVerify", "=", "true") ||
			s.is(i, "rejectUnauthorized", ":", "false") || s.lang == python && s.is(i, "verify", "=", "False")
	}),
}, {
	name: "shell-command", kind: "security", level: "high", confidence: 0.8, languages: onlyGo,
	message: "a shell runs a command that is built from values", advice: "Run the program with its arguments.",
	find: where(func(s *source, i int) bool {
		if !s.oneOf(i, "Command", "CommandContext") || !s.is(i+1, "(") || !s.is(i-2, "exec", ".") {
			return false
		}
		shell := false
		for _, argument := range s.arguments(i + 1) {
			content, literal := s.quoted(argument[0])
			shell = shell || literal && (content == "-c" || content == "/C" || content == "/c")
			if shell && (!literal || argument[0] != argument[1]) {
				return true
			}
		}
		return false
	}),
}}

var (
	secretName = regex.Lazy(
		`(?i)(^|[a-z0-9_])(password|passwd|secret|api_?key|auth_?token|access_?token|private_?key|access_?key)$|^(password|secret|token)$`)
	placeholder = regex.Lazy(`(?i)example|changeme|change_me|your|xxx|dummy|sample|placeholder|test|^\*+$|[<>{}$ %]`)
	sqlText     = regex.Lazy(`(?i)^\s*(select\s.+\sfrom\s|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s)`)
	fixme       = regex.Lazy(`\b(FIXME|BUG|XXX)\b`)
	todo        = regex.Lazy(`\b(TODO|HACK)\b`)
	fileCalls   = map[string]bool{"readFile": true, "writeFile": true, "appendFile": true, "readdir": true, "stat": true, "mkdir": true,
		"unlink": true, "exists": true, "copyFile": true, "rename": true, "rm": true}
)

// secretValue reports whether a literal could be a secret: long enough, with
// digits, and no placeholder.
func secretValue(s *source, i int) bool {
	content, ok := s.quoted(i)
	return ok && len(content) >= 8 && strings.ContainsAny(content, "0123456789") && !placeholder().MatchString(content) &&
		!s.oneOf(i+1, "+", "%")
}

func sqlInjection(s *source, i int) bool {
	content, ok := s.quoted(i)
	if !ok || !sqlText().MatchString(content+" ") {
		return false
	}
	literal := s.at(i).text
	switch {
	case s.lang == golang && s.is(i-2, "Sprintf", "(") &&
		(strings.Contains(content, "%s") || strings.Contains(content, "%v") || strings.Contains(content, "'%")):
		return true
	case s.lang == python && (s.is(i+1, "%") || s.is(i+1, ".", "format")):
		return true
	case s.lang == python && strings.ContainsAny(literal[:strings.IndexAny(literal, `"'`)], "fF"):
		return strings.Contains(content, "{")
	case strings.HasSuffix(literal, "${"):
		return !s.oneOf(i-1, "sql", "SQL") // a tag that makes parameters
	}
	return s.is(i+1, "+") && s.at(i+2).kind == word
}

// inComments returns the comments that match.
func (s *source) inComments(pattern *regexp.Regexp) []hit {
	var hits []hit
	for _, c := range s.comments {
		if at := pattern.FindStringIndex(c.text); at != nil {
			line, _, _ := strings.Cut(c.text[at[0]:], "\n")
			hits = append(hits, hit{at: c.start + at[0], message: "a comment says: " + cut(strings.TrimSpace(strings.TrimSuffix(line, "*/")), 100)})
		}
	}
	return hits
}

// literalUntilEnd reports whether the expression from i on is one literal.
func (s *source) literalUntilEnd(i int) bool {
	whole := s.at(i).kind == text && !strings.HasSuffix(s.at(i).text, "${") || s.at(i).kind == number
	return whole && (s.oneOf(i+1, ";", "}", ",", ")") || s.at(i+1).kind == endOfFile || !s.sameLine(i, i+1) && !s.is(i+1, "+"))
}

// removeLine returns the edit that takes out a statement, with its line where
// nothing else stands on it.
func (s *source) removeLine(start, end int) Edit {
	line := s.line(start)
	from, to := s.lines[line-1], len(s.text)
	if last := s.line(max(start, end-1)); last < len(s.lines) {
		to = s.lines[last]
	}
	if strings.TrimSpace(s.text[from:start]) == "" && strings.TrimSpace(s.text[end:to]) == "" {
		return Edit{from, to, ""}
	}
	return Edit{start, end, ""}
}

// assignmentInCondition: if (a.b = 1). Where what is assigned is a literal, a
// comparison was meant.
func assignmentInCondition(s *source, i int) *hit {
	if !s.oneOf(i, "if", "while") || !s.is(i+1, "(") {
		return nil
	}
	end := s.partner(i + 1)
	equals := s.find(i+2, max(end, 0), "=")
	if equals < 0 || s.chainStart(equals-1) != i+2 || s.is(i, "while") && !s.isLiteral(equals+1) {
		return nil
	}
	h := &hit{at: s.at(equals).start}
	if s.isLiteral(equals+1) && equals+2 == end {
		h.edits = []Edit{s.replace(equals, equals, "===")}
	}
	return h
}

// isLiteral reports whether the token at i is a value by itself.
func (s *source) isLiteral(i int) bool {
	t := s.at(i)
	return t.kind == number || t.kind == text && !strings.HasSuffix(t.text, "${") || s.oneOf(i, "true", "false", "null", "undefined")
}

// sharedState: Promise.all(list.map(async x => { total += await f(x) })).
func sharedState(s *source, i int) bool {
	if !s.is(i, "Promise", ".", "all", "(") {
		return false
	}
	end := s.partner(i + 3)
	async, declared := false, map[string]bool{}
	for j := i + 4; j < min(end, i+maxAhead); j++ {
		if s.oneOf(j, "let", "const", "var") {
			declared[s.at(j+1).text] = true
		}
		async = async || s.is(j, "async")
		if async && s.isName(j) && !s.is(j-1, ".") && s.oneOf(j+1, "+=", "-=", "++", "--", "*=") && !declared[s.at(j).text] {
			return true
		}
	}
	return false
}

// missingAwait: a statement that calls an async function of the file.
func missingAwait(s *source) []hit {
	async, other := map[string]bool{}, map[string]bool{}
	for i := range s.tokens {
		switch {
		case s.is(i, "async", "function") && s.isName(i+2):
			async[s.at(i+2).text] = true
		case s.oneOf(i, "const", "let", "var") && s.isName(i+1) && s.is(i+2, "=", "async"):
			async[s.at(i+1).text] = true
		case s.is(i, "function") && s.isName(i+1) && !s.is(i-1, "async"), s.oneOf(i, "const", "let", "var") && s.isName(i+1):
			other[s.at(i+1).text] = true
		}
	}
	var hits []hit
	for i := range s.tokens {
		name := s.at(i).text
		if !async[name] || other[name] || !s.is(i+1, "(") || !s.begins(i) || s.oneOf(i-1, "function", "async") {
			continue
		}
		end := s.partner(i + 1)
		if end < 0 || s.oneOf(end+1, ".", "{", ":", "=>", "?.", ")") || !s.oneOf(end+1, ";", "}") && s.sameLine(end, end+1) {
			continue
		}
		h := hit{at: s.at(i).start}
		if s.inAsync(i) {
			h.edits = []Edit{{h.at, h.at, "await "}}
		}
		hits = append(hits, h)
	}
	return hits
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

// repeatedNullCheck: a && a.b && a.b.c. As the whole condition of an if it
// means the same as a?.b?.c.
func repeatedNullCheck(s *source, i int) *hit {
	if !s.is(i, "&&") {
		return nil
	}
	from, to := s.chainStart(i-1), s.chainEnd(i+1)
	if from < 0 || s.is(from-1, "&&") || !s.is(i+1, s.texts(from, i-1)...) || !s.is(i+1+i-from, ".") {
		return nil
	}
	chain := s.between(from, i-1)
	last, end := i, -1
	for s.is(last, "&&") && to >= 0 {
		next := s.between(last+1, to)
		if !strings.HasPrefix(next, chain+".") {
			break
		}
		chain, end = next, to
		last = to + 1
		to = s.chainEnd(last + 1)
	}
	h := &hit{at: s.at(from).start}
	if end > 0 && s.is(from-1, "(") && s.oneOf(from-2, "if", "while") && s.partner(from-1) == end+1 {
		h.edits = []Edit{s.replace(from, end, s.optional(from, end))}
	}
	return h
}

// texts returns the texts of the tokens from one index to another.
func (s *source) texts(from, to int) []string {
	var list []string
	for i := from; i <= to; i++ {
		list = append(list, s.at(i).text)
	}
	return list
}

// optional writes a && a.b && a.b.c.d as a?.b?.c.d.
func (s *source) optional(from, end int) string {
	written, chain := "", ""
	for i := from; i <= end; i++ {
		stop := i
		for stop <= end && !s.is(stop, "&&") {
			stop++
		}
		next := s.between(i, stop-1)
		if chain == "" {
			written = next
		} else {
			written += "?." + strings.TrimPrefix(next, chain+".")
		}
		chain, i = next, stop
	}
	return written
}

// looseEquality: comparing with null finds both null and undefined.
// With typeof, and between literals of one type, the strict operator means the
// same.
func looseEquality(s *source, i int) *hit {
	if !s.oneOf(i, "==", "!=") || s.oneOf(i+1, "null", "undefined") || s.oneOf(i-1, "null", "undefined") {
		return nil
	}
	from := s.chainStart(i - 1)
	to := s.chainEnd(i + 2)
	typed := from > 0 && s.is(from-1, "typeof") && s.at(i+1).kind == text || s.is(i+1, "typeof") && to > 0 && s.at(i-1).kind == text
	if typed || s.at(i-1).kind == s.at(i+1).kind && s.isLiteral(i-1) && s.isLiteral(i+1) && s.at(i-1).kind != word {
		return &hit{edits: []Edit{s.replace(i, i, s.at(i).text+"=")}}
	}
	return &hit{}
}
