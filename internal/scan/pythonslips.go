package scan

import (
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/regex"
)

// pythonSlipRules returns rules that look for what runs other than it reads, and for what reaches a request of Flask or Django.
func pythonSlipRules() []rule {
	return []rule{{
		name: "missing-comma", kind: "logic-error", level: "high", confidence: 0.85, languages: onlyPython, tests: true,
		message: "two texts of a list are joined: a comma is missing", advice: "Put a comma between them.",
		find: where(missingComma),
	}, {
		name: "shared-attribute", kind: "logic-error", level: "high", confidence: 0.85, languages: onlyPython,
		message: "all objects of the class share the value that a method changes", advice: "Make the value in __init__.",
		find: where(sharedAttribute),
	}, {
		name: "unreachable-except", kind: "logic-error", level: "medium", confidence: 0.95, languages: onlyPython, tests: true,
		message: "the clause before catches everything that this one names", advice: "Put the more general clause last.",
		find: unreachableExcept,
	}, {
		name: "format-arguments", kind: "type-error", level: "high", confidence: 0.9, languages: onlyPython, tests: true,
		message: "the format has another number of fields than there are values", advice: "Give each field a value.",
		find: where(formatArguments),
	}, {
		name: "unbound-local", kind: "logic-error", level: "high", confidence: 0.9, languages: onlyPython,
		message: "UnboundLocalError: the function assigns the variable of another scope", advice: "Declare it nonlocal or global.",
		find: where(unboundLocal),
	}, {
		name: "method-without-self", kind: "type-error", level: "high", confidence: 0.9, languages: onlyPython,
		message: "the method takes no self", advice: "Add self, or @staticmethod.",
		find: where(methodWithoutSelf),
	}, {
		name: "constant-condition", kind: "logic-error", level: "high", confidence: 0.95, languages: onlyPython, tests: true,
		message: "the condition has the same value for everything", advice: "Compare with each value: x in (a, b).",
		find: where(constantCondition),
	}, {
		name: "lock-not-released", kind: "concurrency", level: "high", confidence: 0.85, languages: onlyPython,
		message: "the function returns with the lock held", advice: "Hold it in a with statement.",
		find: where(lockHeldOnReturn),
	}, {
		name: "except-or", kind: "logic-error", level: "high", confidence: 0.95, languages: onlyPython, tests: true,
		message: "only the first exception is caught: or chooses one", advice: "Write a tuple: except (A, B).",
		find: where(func(s *source, i int) bool {
			if s.is(i, "except", "(") {
				i++
			}
			return s.oneOf(i, "except", "(") && s.isName(i+1) && s.is(i+2, "or") && s.isName(i+3) && s.begins(s.statementStart(i)) &&
				s.is(s.statementStart(i), "except")
		}),
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
	}, {
		name: "index-past-end", kind: "logic-error", level: "high", confidence: 0.9, languages: onlyPython, tests: true,
		message: "the loop goes one past the end of the list", advice: "Leave out the + 1.",
		find: where(rangePastEnd),
	}, {
		name: "dropped-result", kind: "logic-error", level: "high", confidence: 0.9, languages: onlyPython, tests: true,
		message: "the result is dropped: texts and what is sorted stay as they are", advice: "Assign the result.",
		find: where(droppedText),
	}, {
		name: "shared-rows", kind: "logic-error", level: "high", confidence: 0.9, languages: onlyPython, tests: true,
		message: "all rows are one list", advice: "Write [[…] for _ in range(n)].",
		find: where(sharedRows),
	}, {
		name: "file-mode", kind: "logic-error", level: "high", confidence: 0.9, languages: onlyPython, tests: true,
		message: "the file is opened for reading and written, or the reverse", advice: "Open it with the mode that is used.",
		find: where(fileMode),
	}, {
		name: "debug-server", kind: "security", level: "medium", confidence: 0.85, languages: onlyPython,
		message: "the debugger runs code of whoever reaches the server", advice: "Take debug from the environment.",
		find: where(func(s *source, i int) bool {
			return s.is(i, "debug", "=", "True") && s.is(s.parents[i]-1, "run") && len(s.places["flask"]) > 0
		}),
	}, {
		name: "token-not-verified", kind: "security", level: "high", confidence: 0.9, languages: onlyPython,
		message: "the signature of the token is not verified", advice: "Pass the key and the algorithms.",
		find: where(func(s *source, i int) bool {
			if !s.is(i, "jwt", ".", "decode", "(") {
				return false
			}
			for j := i + 4; j < s.partner(i+3); j++ {
				content, _ := s.quoted(j)
				if content == "verify_signature" && s.is(j+1, ":", "False") || s.is(j, "verify", "=", "False") {
					return true
				}
			}
			return false
		}),
	}, {
		name: "open-redirect", kind: "security", level: "medium", confidence: 0.85, languages: onlyPython,
		message: "redirect to an address that the request names", advice: "Redirect to known paths only.",
		find: where(func(s *source, i int) bool {
			if !s.oneOf(i, "redirect", "HttpResponseRedirect") || !s.is(i+1, "(") {
				return false
			}
			arguments := s.arguments(i + 1)
			return len(arguments) > 0 && s.fromRequest(arguments[0][0])
		}),
	}, {
		name: "template-injection", kind: "security", level: "critical", confidence: 0.85, languages: onlyPython,
		message: "the request is run as a template", advice: "Pass values to a template that is fixed.",
		find: where(func(s *source, i int) bool {
			if !s.is(i, "render_template_string", "(") {
				return false
			}
			arguments := s.arguments(i + 1)
			return len(arguments) > 0 && s.hasRequest(arguments[0])
		}),
	}, {
		name: "xss", kind: "security", level: "high", confidence: 0.85, languages: onlyPython,
		message: "cross-site scripting: the request is answered as HTML", advice: "Render a template, which escapes.",
		find: where(func(s *source, i int) bool {
			if !s.is(i, "return") || !s.begins(i) || len(s.places["flask"]) == 0 {
				return false
			}
			_, end := s.statement(i)
			for j := i + 1; j < end; j++ {
				if content, ok := s.quoted(j); ok && htmlTag().MatchString(content) && s.parents[j] < 0 {
					return s.hasRequest([2]int{i + 1, end - 1}) && !s.has("escape")
				}
			}
			return false
		}),
	}, {
		name: "path-traversal", kind: "security", level: "high", confidence: 0.85, languages: onlyPython,
		message: "file path built from the request may leave its folder", advice: "Use secure_filename, or safe_join.",
		find: where(func(s *source, i int) bool {
			if !s.oneOf(i, "open", "send_file", "remove", "unlink", "rmtree", "join") || !s.is(i+1, "(") ||
				s.oneOf(i, "remove", "unlink", "rmtree", "join") && !s.is(i-1, ".") || s.is(i, "join") && (!s.is(i-2, "path", ".") ||
				s.oneOf(s.parents[i]-1, "open", "send_file", "remove", "unlink", "rmtree")) {
				return false
			}
			def := s.definition(i)
			for j := range s.body(max(def, 0)) {
				if s.oneOf(j, "secure_filename", "basename", "realpath", "abspath", "resolve", "is_relative_to", "startswith",
					"commonpath", "safe_join") {
					return false
				}
			}
			return def >= 0 && slices.ContainsFunc(s.arguments(i+1), s.hasRequest)
		}),
	}, {
		name: "ssrf", kind: "security", level: "high", confidence: 0.85, languages: onlyPython,
		message: "server-side request forgery: the request names the server", advice: "Choose the host from a list.",
		find: where(func(s *source, i int) bool {
			if !(s.oneOf(i, "requests", "httpx") && s.is(i+1, ".") && s.is(i+3, "(")) && !s.is(i, "urlopen", "(") {
				return false
			}
			open := i + 1
			if s.is(i+1, ".") {
				open = i + 3
			}
			arguments := s.arguments(open)
			return len(arguments) > 0 && s.fromRequest(arguments[0][0])
		}),
	}}
}

// plainItem matches texts that are an element each: words, file names, addresses.
var plainItem = regex.Lazy(`^[\w.@/:-]+$`)

func missingComma(s *source, i int) bool {
	open := s.parents[i]
	first, ok := s.quoted(i)
	second, also := s.quoted(i + 1)
	if !ok || !also || open < 0 || s.sameLine(i, i+1) || !plainItem().MatchString(first) || !plainItem().MatchString(second) ||
		!s.is(open, "[") && !s.is(open, "{") && !(s.is(open, "(") && s.is(open-1, "=")) {
		return false
	}
	items := s.arguments(open)
	for _, item := range items {
		if item[0] != i && (item[0] != item[1] || s.at(item[0]).kind != text) {
			return false
		}
	}
	return len(items) > 1
}

// near returns the first 500 places of a word: who looks at them does so for each of its tokens.
func (s *source) near(name string) []int { return s.places[name][:min(len(s.places[name]), 500)] }

// statementStart returns the index of the first token of the statement around a token.
func (s *source) statementStart(i int) int {
	start, _ := s.statement(i)
	return start
}

// sharedNames matches names of values that a class shares on purpose.
var sharedNames = regex.Lazy(`(?i)^_|cache|registry|registered|instances|pool|memo|shared|global|_by_|^(?-i:[A-Z0-9_]+)$`)

func sharedAttribute(s *source, i int) bool {
	if !s.isName(i) || !s.begins(i) || !s.is(i+1, "=") || sharedNames().MatchString(s.at(i).text) ||
		!s.is(i+2, "[", "]") && !s.is(i+2, "{", "}") && !(s.oneOf(i+2, "list", "dict", "set") && s.is(i+3, "(", ")")) {
		return false
	}
	class := s.headerOf(i)
	if !s.is(class, "class") {
		return false
	}
	name, changed := s.at(i).text, false
	for j := range s.body(class) {
		switch {
		case s.is(j, "cls", ".", name), s.is(j, s.at(class+1).text, ".", name), s.is(j, "self", ".", name, "="), s.is(j, "self",
			".", name, ":"):
			return false
		case s.is(j, "self", ".", name, ".") && s.oneOf(j+4, "append", "extend", "add", "update", "insert", "setdefault"),
			s.is(j, "self", ".", name, "[") && s.is(s.partner(j+3)+1, "="):
			changed = true
		}
	}
	return changed
}

func unreachableExcept(s *source) []hit {
	var hits []hit
	for _, i := range s.places["except"] {
		if !s.begins(i) || !s.oneOf(i+1, "Exception", "BaseException") || !s.oneOf(i+2, ":", "as") {
			continue
		}
		end := i
		for end = range s.body(i) {
		}
		next := end + 1
		for s.at(next).kind == newline {
			next++
		}
		if s.is(next, "except") && !s.is(next+1, ":") && s.indent(next) == s.indent(i) &&
			!s.oneOf(next+1, "KeyboardInterrupt", "SystemExit", "GeneratorExit", "BaseException", "(") &&
			s.findWord(next, next+8, "CancelledError") < 0 {
			hits = append(hits, hit{at: s.at(next).start})
		}
	}
	return hits
}

var (
	percentField = regex.Lazy(`%[-#0 +]*[0-9]*(\.[0-9]+)?[hlL]?[diouxXeEfFgGcrsa%]`)
	braceField   = regex.Lazy(`\{\{|\}\}|\{[^{}]*\}`)
	logNames     = regex.Lazy(`(?i)^_*(log|logger|logging)$`)
)

// formatArguments: "%s %s" % (a,), "{} {}".format(a), log.info("%s %s", a).
func formatArguments(s *source, i int) bool {
	content, ok := s.quoted(i)
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
			return -1 // by name, or with a width of its own
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
		given, want := values(s.arguments(i+2)), percents()
		tuple := s.find(i+3, s.partner(i+2), ",") > 0 && s.find(i+3, s.partner(i+2), "for", "if") < 0
		after := s.partner(i+2) + 1
		return tuple && given >= 0 && want >= 0 && given != want && !s.oneOf(after, ".", "[", "+", "%")
	case s.is(i+1, ".", "format", "("):
		given, fields := values(s.arguments(i+3)), 0
		for _, field := range braceField().FindAllString(content, -1) {
			if field != "{{" && field != "}}" {
				if len(field) > 2 && field[1] != ':' && field[1] != '!' {
					return false // by name or number
				}
				fields++
			}
		}
		return given >= 0 && fields > given
	case s.is(i-1, "(") && s.oneOf(i-2, "debug", "info", "warning", "error", "critical", "exception") && s.is(i-3, ".") &&
		logNames().MatchString(s.at(i-4).text) && s.is(i+1, ","):
		given, want := values(s.arguments(i-1))-1, percents()
		return given > 0 && want >= 0 && given != want && !strings.Contains(content, "{") && !strings.Contains(content, "%(")
	}
	return false
}

// unboundLocal: counter += 1 in a function, where counter is assigned around it only.
func unboundLocal(s *source, i int) bool {
	if !s.isName(i) || !s.begins(i) || !s.oneOf(i+1, "+=", "-=", "*=") {
		return false
	}
	def := s.definition(i)
	if def < 0 {
		return false
	}
	name, open := s.at(i).text, s.find(def, def+6, "(")
	if open < 0 || s.findWord(open, s.partner(open), name) > 0 || len(s.places["nonlocal"]) > 0 && s.findWord(def, i, "nonlocal") > 0 {
		return false
	}
	outside := false
	for _, j := range s.near(name) {
		start, end := s.statement(j)
		if s.definition(j) != def {
			outside = outside || j == start && s.is(j+1, "=") && s.indent(j) < s.indent(i)
			continue
		}
		if j != i && (s.oneOf(start, "global", "nonlocal", "for", "with", "async", "import", "from", "except", "def", "class",
			"del", "match", "case") ||
			s.oneOf(j+1, "=", ":=", ":") || s.find(j, end, "=") > 0 && s.find(start, j, "=") < 0) {
			return false
		}
	}
	return outside
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

// constantCondition: x == 1 or "a", and x == 1 and x == 2.
func constantCondition(s *source, i int) bool {
	if !s.oneOf(i, "and", "or") || !s.isLiteral(i-1) && !s.oneOf(i-1, "True", "False", "None") {
		return false
	}
	if s.is(i, "or") && s.is(i-2, "==") && s.isLiteral(i+1) && s.at(i+1).kind != word && s.oneOf(i+2, ":", ")", "or") {
		content, _ := s.quoted(i + 1)
		return s.at(i+1).text != "0" && (content != "" || s.at(i+1).kind == number)
	}
	comparison := map[string]string{"and": "==", "or": "!="}[s.at(i).text]
	return s.is(i-2, comparison) && s.is(i+2, comparison) && s.isName(i-3) && s.at(i-3).text == s.at(i+1).text && !s.is(i-4, ".") &&
		s.isLiteral(i+3) && s.at(i+3).text != s.at(i-1).text && s.oneOf(i+4, ":", ")", "and", "or")
}

// lockHeldOnReturn: lock.acquire() … return … lock.release().
func lockHeldOnReturn(s *source, i int) bool {
	if !s.is(i, "return") || !s.begins(i) {
		return false
	}
	def := s.definition(i)
	if def < 0 {
		return false
	}
	held, holder := -1, []string(nil)
	for j := range s.body(def) {
		switch {
		case s.oneOf(j, "finally", "with"):
			return false
		case s.is(j, ".", "acquire", "(", ")") && s.at(j+4).kind == newline && j < i && s.chainStart(j-1) == s.statementStart(j):
			held, holder = j, s.texts(s.chainStart(j-1), j-1)
		case held > 0 && s.is(j, ".", "release") && s.chainStart(j-1) >= 0 && slices.Equal(s.texts(s.chainStart(j-1), j-1), holder):
			if j < i {
				held = -1
				continue
			}
			return true
		}
	}
	return false
}

// rangePastEnd: for i in range(len(xs) + 1): … xs[i].
func rangePastEnd(s *source, i int) bool {
	if !s.is(i, "for") || !s.isName(i+1) || !s.is(i+2, "in", "range", "(", "len", "(") {
		return false
	}
	end := s.partner(i + 6)
	if !s.is(end+1, "+", "1", ")") {
		return false
	}
	list, indexed := s.texts(i+7, end-1), false
	for j := range s.body(i) {
		if s.oneOf(j, "if", "try", "while") {
			if s.findWord(j, j+12, s.at(i+1).text) > 0 && !s.is(j+1, list...) || s.is(j, "try") {
				return false // it knows
			}
		}
		indexed = indexed || s.is(j, list...) && s.is(j+len(list), "[", s.at(i+1).text, "]")
	}
	return indexed
}

// droppedText: a statement that is name.strip(), or sorted(xs).
func droppedText(s *source, i int) bool {
	if !s.isName(i) || !s.begins(i) || s.statementStart(i) != i {
		return false
	}
	if s.oneOf(i, "sorted", "reversed") && s.is(i+1, "(") {
		return s.at(s.partner(i+1)+1).kind == newline
	}
	end := s.chainEndBefore(i)
	if !s.is(end+1, "(") || s.at(s.partner(end+1)+1).kind != newline || end == i {
		return false
	}
	if s.oneOf(end, "strip", "lstrip", "rstrip", "upper", "lower", "title", "capitalize", "casefold", "swapcase") {
		return s.partner(end+1) == end+2
	}
	arguments := s.arguments(end + 1)
	return s.is(end, "replace") && len(arguments) == 2 && s.at(arguments[0][0]).kind == text && s.at(arguments[1][0]).kind == text &&
		!slices.ContainsFunc(overloaders, func(name string) bool { return len(s.places[name]) > 0 })
}

// chainEndBefore returns the index of the last name of the names and dots that begin at i, whatever
// follows.
func (s *source) chainEndBefore(i int) int {
	for s.is(i+1, ".") && s.isName(i+2) {
		i += 2
	}
	return i
}

// sharedRows: rows = [[0] * 3] * 3, where a row is changed later.
func sharedRows(s *source, i int) bool {
	if !s.isName(i) || !s.is(i+1, "=", "[", "[") {
		return false
	}
	end := s.partner(i + 2)
	if !s.is(end+1, "*") || s.find(i+3, end, ",", "for") > 0 {
		return false
	}
	for _, j := range s.near(s.at(i).text) {
		if j <= i || !s.is(j+1, "[") {
			continue
		}
		after := s.partner(j+1) + 1
		if s.is(after, "[") && s.oneOf(s.partner(after)+1, "=", "+=", "-=") ||
			s.is(after, ".") && s.oneOf(after+1, "append", "extend", "insert") {
			return true
		}
	}
	return false
}

// fileMode: with open(path) as f: f.write(…).
func fileMode(s *source, i int) bool {
	if !s.is(i, "with", "open", "(") {
		return false
	}
	end := s.partner(i + 2)
	if !s.is(end+1, "as") || !s.isName(end+2) || !s.is(end+3, ":") {
		return false
	}
	mode := "r"
	for n, argument := range s.arguments(i + 2) {
		at := argument[0]
		if s.is(at, "mode", "=") {
			at += 2
		} else if n != 1 || s.is(at+1, "=") {
			continue
		}
		content, literal := s.quoted(at)
		if !literal || at != argument[1] {
			return false
		}
		mode = content
	}
	name := s.at(end + 2).text
	for j := range s.body(i) {
		if s.is(j, name, ".") && s.is(j+3, "(") && !strings.Contains(mode, "+") {
			if strings.HasPrefix(mode, "r") && s.oneOf(j+2, "write", "writelines") ||
				strings.ContainsAny(mode, "wax") && s.oneOf(j+2, "read", "readline", "readlines") {
				return true
			}
		}
	}
	return false
}

var htmlTag = regex.Lazy(`<[a-zA-Z!/]`)

// fromRequest reports whether what begins at i is a part of the request, as request.args["a"], or a
// variable that holds one and that nothing looked at.
func (s *source) fromRequest(i int) bool {
	if s.is(i, "request", ".") && s.oneOf(i+2, "args", "form", "values", "GET", "POST", "cookies", "query_params") {
		return true
	}
	def := s.definition(i)
	if !s.isName(i) || def < 0 || s.oneOf(i+1, ".", "(", "[") {
		return false
	}
	holds := false
	for _, j := range s.near(s.at(i).text) {
		if s.definition(j) != def || j >= i {
			continue
		}
		start := s.statementStart(j)
		if s.oneOf(start, "if", "elif", "while", "assert") && !s.is(start+1, "not") {
			return false
		}
		if j == start && s.is(j+1, "=") {
			holds = s.is(j+2, "request", ".") && s.fromRequest(j+2)
		}
	}
	return holds
}

// hasRequest reports whether an argument, or the fields of its f-strings, have a part of the request.
func (s *source) hasRequest(argument [2]int) bool {
	for j := argument[0]; j <= argument[1]; j++ {
		if s.fromRequest(j) && !s.is(j-1, ".") {
			return true
		}
		if p := s.partner(j); p > j && s.is(j, "(") && s.isName(j-1) && !s.oneOf(j-1, "join", "format", "str") {
			j = p // what another function makes of it
			continue
		}
		t := s.at(j)
		if t.kind != text || !strings.ContainsAny(t.text[:1], "fF") {
			continue
		}
		for _, field := range braceField().FindAllString(t.text, -1) {
			if strings.HasPrefix(field, "{request.") || s.holdsRequest(strings.Trim(field, "{}"), j) {
				return true
			}
		}
	}
	return false
}

// holdsRequest reports whether a variable of the function around i holds a part of the request.
func (s *source) holdsRequest(name string, i int) bool {
	def := s.definition(i)
	return def >= 0 && slices.ContainsFunc(s.near(name), func(j int) bool {
		return j < i && s.definition(j) == def && s.is(j+1, "=", "request", ".") && s.fromRequest(j+2)
	})
}
