package scan

import (
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// pythonRules find faults in Python.
var pythonRules = []rule{{
	name: "unsafe-yaml", kind: "security", level: "medium", confidence: 0.9, languages: onlyPython, tests: true,
	message: "yaml.load without a loader: PyYAML 6 refuses the call, older ones construct any object", advice: "Use yaml.safe_load.",
	find: each(func(s *source, i int) *hit {
		if !s.is(i, "yaml", ".", "load", "(") || len(s.arguments(i+3)) != 1 {
			return nil
		}
		return &hit{edits: []Edit{s.replace(i+2, i+2, "safe_load")}}
	}),
}, {
	name: "mutable-default", kind: "logic-error", level: "high", confidence: 0.95, languages: onlyPython, tests: true,
	message: "all calls share the default value", advice: "Default to None and make the value in the function.",
	find: each(func(s *source, i int) *hit {
		empty := s.is(i+1, "[", "]") || s.is(i+1, "{", "}") || s.oneOf(i+1, "list", "dict", "set") && s.is(i+2, "(", ")")
		if !s.is(i, "=") || !empty { // non-empty defaults are mostly kept on purpose
			return nil
		}
		start, _ := s.statement(i)
		if s.is(start, "async") {
			start++
		}
		if !s.is(start, "def") || s.parents[i] != start+2 {
			return nil
		}
		changes, keeps := s.keepsParameter(start, i)
		if header := s.headerOf(s.statementStart(start)); s.oneOf(header, "def", "async") {
			keeps = keeps || changes
			changes = false // each call of the outer function makes a new default
		}
		switch {
		case changes:
			return &hit{}
		case keeps:
			return &hit{level: "low"}
		}
		return nil
	}),
}, {
	name: "is-literal", kind: "logic-error", level: "high", confidence: 0.95, languages: onlyPython, tests: true,
	message: "literal compared with is, which asks for identity", advice: "Use == or !=.",
	find: each(func(s *source, i int) *hit {
		if !s.is(i, "is") {
			return nil
		}
		last, operator := i, "=="
		if s.is(i+1, "not") {
			last, operator = i+1, "!="
		}
		if s.at(last+1).kind != number && s.at(last+1).kind != text {
			return nil
		}
		h := &hit{edits: []Edit{s.replace(i, last, operator)}}
		if len(strings.Trim(s.at(last+1).text, `"'`)) < 2 || s.at(last+1).kind == number && len(s.at(last+1).text) < 3 {
			h.level = "low" // small numbers and single characters are cached, so identity works
		}
		return h
	}),
}, {
	name: "assert-tuple", kind: "logic-error", level: "high", confidence: 0.95, languages: onlyPython, tests: true,
	message: "a tuple is always true: the assertion never fails", advice: "Take the parentheses off.",
	find: where(func(s *source, i int) bool {
		return s.is(i, "assert", "(") && s.at(s.partner(i+1)+1).kind == newline && s.find(i+2, s.partner(i+1), ",") > 0 &&
			len(s.arguments(i+1)) > 1
	}),
}, {
	name: "missing-await", kind: "concurrency", level: "high", confidence: 0.9, languages: onlyPython, tests: true,
	message: "coroutine never awaited", advice: "Await the call.",
	find: unawaited,
}, {
	name: "return-in-finally", kind: "logic-error", level: "medium", confidence: 0.9, languages: onlyPython, tests: true,
	message: "return in finally swallows exceptions", advice: "Return after the finally block.",
	find: where(func(s *source, i int) bool {
		if !s.is(i, "return") || !s.begins(i) {
			return false
		}
		header := s.headerOf(i)
		return s.is(header, "finally")
	}),
}, {
	name: "changed-while-iterated", kind: "logic-error", level: "high", confidence: 0.85, languages: onlyPython, tests: true,
	message: "the dictionary or list changes while the loop goes over it", advice: "Loop over a copy: list(…).",
	find: each(changedWhileIterated),
}, {
	name: "format-arguments", kind: "type-error", level: "high", confidence: 0.9, languages: onlyPython, tests: true,
	message: "the format has another number of fields than there are values", advice: "Give each field a value.",
	find: where(formatArguments),
}, {
	name: "method-without-self", kind: "type-error", level: "low", confidence: 0.9, languages: onlyPython,
	message: "the method takes no self", advice: "Add self, or @staticmethod.",
	find: where(methodWithoutSelf),
}, {
	name: "comparison-statement", kind: "logic-error", level: "high", confidence: 0.95, languages: onlyPython,
	message: "the comparison does nothing", advice: "Write = to assign, or assert.",
	find: where(func(s *source, i int) bool {
		if !s.is(i, "==") || s.parents[i] >= 0 {
			return false
		}
		start, end := s.statement(i)
		return s.chainStart(i-1) == start && s.find(start, i, "=") < 0 && s.find(i+1, end, "=", "==", "and", "or", "if", ",") < 0
	}),
}}

// keepsParameter reports whether the function at def changes or stores the parameter whose default
// follows the = at i. A name with a leading underscore counts as kept on purpose: neither is true.
func (s *source) keepsParameter(def, i int) (changes, keeps bool) {
	name := i - 1 // the name comes before a type
	for j := i - 1; j > def+2 && s.parents[j] == s.parents[i] && !s.is(j, ","); j-- {
		if s.is(j, ":") {
			name = j - 1
		}
	}
	parameter := s.at(name).text
	if strings.HasPrefix(parameter, "_") {
		return false, false
	}
	for j := range s.body(def) {
		if !s.is(j, parameter) || s.oneOf(j-1, ".", "def") {
			continue
		}
		switch {
		case s.is(j+1, ".") && s.oneOf(j+2, "append", "extend", "insert", "update", "setdefault", "add", "pop", "remove", "clear", "sort"):
			return true, keeps
		case s.is(j+1, "[") && (s.oneOf(s.partner(j+1)+1, "=", "+=") || s.is(j-1, "del")), s.oneOf(j+1, "+=", "|="):
			return true, keeps
		case s.begins(j) && s.is(j+1, "="):
			return false, keeps // later uses are of another value
		case s.is(j-1, "=") && s.is(j-3, ".") && s.at(j+1).kind == newline:
			keeps = true
		}
	}
	return false, keeps
}

// unawaited finds statements that only call an async function of the file. Decorated functions are
// ignored, because a decorator may return another function.
func unawaited(s *source) []hit {
	async, other := map[string]bool{}, map[string]bool{}
	for i := range s.tokens {
		switch {
		case s.is(i, "async", "def") && i > 1 && s.is(s.statementStart(i-2), "@"):
			other[s.at(i+2).text] = true
		case s.is(i, "async", "def"):
			async[s.at(i+2).text] = true
		case s.is(i, "def") && !s.is(i-1, "async"), s.is(i, "class"):
			other[s.at(i+1).text] = true
		case s.isName(i) && s.is(i+1, "=") && s.begins(i):
			other[s.at(i).text] = true
		}
	}
	var hits []hit
	for i := range s.tokens {
		at := i
		if s.is(i, "self", ".") {
			at = i + 2
		}
		if s.begins(i) && async[s.at(at).text] && !other[s.at(at).text] && s.is(at+1, "(") && s.at(s.partner(at+1)+1).kind == newline {
			h := hit{at: s.at(i).start, message: "coroutine " + s.at(at).text + " never awaited"}
			if header := s.headerOf(i); s.is(header, "if", "__name__") {
				h.level = "low" // demonstration code
			}
			hits = append(hits, h)
		}
	}
	return hits
}

// changedWhileIterated finds for k in d: … del d[k] if the loop continues and fails. It reports low
// severity for deletion by another key, which may not be iterated, and for lists, which skip an
// element.
func changedWhileIterated(s *source, i int) *hit {
	if !s.is(i, "for") || !s.begins(i) {
		return nil
	}
	start, suite := s.statement(i)
	in := s.find(start, suite, "in")
	if in < 0 || !s.isName(in+1) {
		return nil
	}
	end := in + 1
	for s.is(end+1, ".") && s.isName(end+2) && !s.oneOf(end+2, "items", "keys", "values") {
		end += 2
	}
	if !s.is(end+1, ":") && !(s.is(end+1, ".") && s.oneOf(end+2, "items", "keys", "values") && s.is(end+3, "(", ")", ":")) {
		return nil
	}
	container := s.texts(in+1, end)
	var found *hit
	for j := range s.body(i) {
		after := j + len(container)
		changes := s.is(j, container...) && !s.is(j-1, ".") &&
			(s.is(j-1, "del") && s.is(after, "[") || s.is(after, ".") && s.oneOf(after+1, "pop", "remove", "clear", "popitem") && s.is(after+2, "("))
		if !changes || s.leaves(j) {
			continue
		}
		open := after
		if s.is(after, ".") {
			open = after + 2
		}
		if s.is(open+1, s.at(i+1).text) && s.partner(open) == open+2 && !s.is(after+1, "remove") {
			return &hit{}
		}
		found = &hit{level: "low"}
	}
	return found
}

// leaves reports whether the loop around a statement ends after it in the same block.
func (s *source) leaves(i int) bool {
	if s.oneOf(s.statementStart(i), "break", "return", "raise") {
		return true
	}
	indent := s.indent(i)
	for j := i; j < min(len(s.tokens), i+maxAhead); j++ {
		if s.at(j).kind == newline && j+1 < len(s.tokens) {
			if s.at(j+1).kind != newline && s.indent(j+1) < indent {
				return false
			}
			if s.oneOf(j+1, "break", "return", "raise") {
				return true
			}
		}
	}
	return false
}

var (
	percentField = regex.Lazy(`%[-#0 +]*[0-9]*(\.[0-9]+)?[hlL]?[diouxXeEfFgGcrsa%]`)
	braceField   = regex.Lazy(`\{\{|\}\}|\{[^{}]*\}`)
	logNames     = regex.Lazy(`(?i)^_*(log|logger|logging)$`)
)

// formatArguments finds "%s %s" % (a,), "{} {}".format(a) and log.info("%s %s", a).
func formatArguments(s *source, i int) bool {
	content, ok := s.unquote(i)
	prefix := strings.ToLower(s.at(i).text[:min(2, len(s.at(i).text))])
	if !ok || s.at(i-1).kind == text || s.at(i+1).kind == text || strings.Contains(prefix, "f") &&
		!strings.HasPrefix(prefix, `"`) && !strings.HasPrefix(prefix, "'") {
		return false
	}
	percents := func() int {
		n := 0
		for _, field := range percentField().FindAllString(content, -1) {
			if !strings.HasSuffix(field, "%") {
				n++
			}
		}
		if strings.Contains(content, "%(") || strings.Contains(content, "*") {
			return -1 // named fields, or a width as an argument
		}
		return n
	}
	values := func(arguments [][2]int) int {
		for _, a := range arguments {
			if s.oneOf(a[0], "*", "**") {
				return -1
			}
		}
		return len(slices.DeleteFunc(arguments, func(a [2]int) bool { return s.is(a[0]+1, "=") }))
	}
	switch {
	case s.is(i+1, "%", "("):
		count, want := values(s.arguments(i+2)), percents()
		tuple := s.find(i+3, s.partner(i+2), ",") > 0 && s.find(i+3, s.partner(i+2), "for", "if") < 0
		after := s.partner(i+2) + 1
		return tuple && count >= 0 && want >= 0 && count != want && !s.oneOf(after, ".", "[", "+", "%")
	case s.is(i+1, ".", "format", "("):
		count, fields := values(s.arguments(i+3)), 0
		for _, field := range braceField().FindAllString(content, -1) {
			if field != "{{" && field != "}}" {
				if len(field) > 2 && field[1] != ':' && field[1] != '!' {
					return false // named or numbered fields
				}
				fields++
			}
		}
		return count >= 0 && fields > count
	case s.is(i-1, "(") && s.oneOf(i-2, "debug", "info", "warning", "error", "critical", "exception") && s.is(i-3, ".") &&
		logNames().MatchString(s.at(i-4).text) && s.is(i+1, ","):
		count, want := values(s.arguments(i-1))-1, percents()
		return count > 0 && want >= 0 && count != want && !strings.Contains(content, "{") && !strings.Contains(content, "%(")
	}
	return false
}

func methodWithoutSelf(s *source, i int) bool {
	if !s.is(i, "def") || !s.is(i+2, "(", ")") {
		return false
	}
	start := s.statementStart(i)
	class := s.headerOf(start)
	if !s.is(class, "class") || start < 2 {
		return false
	}
	if before := s.statementStart(start - 2); s.is(before, "@") {
		return false
	}
	_, suite := s.statement(class)
	if s.findWord(class+2, suite, "Interface", "Protocol") >= 0 {
		return false
	}
	others := false
	for j := range s.body(class) {
		others = others || s.is(j, "def") && s.is(j+2, "(", "self")
		if s.is(j, "cls") || s.is(j, s.at(i+1).text, "(") && !s.oneOf(j-1, ".", "def") {
			return false // it is called without an object
		}
	}
	return others
}
