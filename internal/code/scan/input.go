package scan

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// inputRules find untrusted input that is executed: data of a request, or parameters of a request
// handler, in a query, a shell command or code of the same function. Only these rules have severity
// critical.
var inputRules = []rule{{
	name: "sql-injection", kind: "security", level: "critical", confidence: 0.9, languages: every,
	message: "SQL injection: the query is built from the request", advice: "Use placeholders and pass the values as parameters.",
	find: where(sqlInjection),
}, {
	name: "shell-command", kind: "security", level: "critical", confidence: 0.9, languages: every,
	message: "the request is part of a shell command", advice: "Run the program with a list of arguments, without a shell.",
	find: where(shellInjection),
}, {
	name: "eval", kind: "security", level: "critical", confidence: 0.9, languages: []language{javascript, typescript, python},
	message: "the request is run as code", advice: "Parse the data, or choose from a table of functions.",
	find: where(codeInjection),
}}

var (
	sqlText = regex.Lazy(`(?i)^\s*(select\s.+\sfrom\s|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s)`)
	// field matches a replacement field of an f-string: its first name, and the rest.
	field = regex.Lazy(`\{\s*(\w+)([^{}]*)\}`)
	// keeps matches functions whose result contains their arguments.
	keeps = regex.Lazy(`^(String|str|string|Sprintf|Sprint|format|join|Join|concat|strip|trim|Trim|TrimSpace|lower|upper|toLowerCase|` +
		`toUpperCase|ToLower|ToUpper|decode|get|Get|append|push)$`)
)

// inputs matches expressions that begin with untrusted input, by language.
var inputs = map[language]func() *regexp.Regexp{
	javascript: scriptInput, typescript: scriptInput, python: pythonInput, golang: goInput,
}

var (
	scriptInput = regex.Lazy(`^(req|request)\s*\??\.\s*(query|params|body|headers|cookies)\b|` +
		`^ctx\s*\.\s*(query|params|request\s*\.\s*(body|query))\b|^c\s*\.\s*req\s*\.\s*(query|param)\b|` +
		`^event\s*\.\s*(queryStringParameters|pathParameters|body)\b|^(\w+\.)?searchParams\s*\.\s*get\b`)
	pythonInput = regex.Lazy(`^((self|flask)\s*\.\s*)?request\s*\.\s*(args|form|values|json|data|cookies|headers|GET|POST|` +
		`query_params|path_params|match_info|query|get_json|get_data)\b|^self\s*\.\s*get_(query_|body_)?arguments?\b`)
	goInput = regex.Lazy(`^(r|req|request)\s*\.\s*` +
		`(FormValue|PostFormValue|PathValue|URL\s*\.\s*Query\(\)|Form\b|PostForm\b|Header\s*\.\s*Get)|` +
		`^chi\s*\.\s*URLParam\b|^mux\s*\.\s*Vars\b|^c\s*\.\s*(Query|Param|PostForm|DefaultQuery|QueryParam|FormValue|GetHeader)\(`)
)

// sqlInjection finds "select … where id = '" + req.query.id + "'", with +, %, format, Sprintf or
// template fields.
func sqlInjection(s *source, i int) bool {
	content, ok := s.unquote(i)
	if !ok || !sqlText().MatchString(content+" ") || s.oneOf(i-1, "sql", "SQL") { // a template tag creates parameters
		return false
	}
	switch {
	case s.lang == golang && s.is(i-1, "(") && s.oneOf(i-2, "Sprintf", "Sprint"):
		return s.hasInput(i+1, s.partner(i-1))
	case s.lang == python && s.is(i+1, "%"):
		return s.hasInput(i+2, s.operand(i+2))
	case s.lang == python && s.is(i+1, ".", "format", "("):
		return s.hasInput(i+4, s.partner(i+3))
	}
	end := i + 1
	for strings.HasSuffix(s.at(end-1).text, "${") && end < i+maxAhead { // skip to the next part of the template
		for end < i+maxAhead && !(s.at(end).kind == text && strings.HasPrefix(s.at(end).text, "}")) {
			end++
		}
		end++
	}
	for s.is(end, "+") && end < i+maxAhead {
		end = s.operand(end + 1)
	}
	return s.hasInput(i, end)
}

// operand returns the index after the operand that begins at i.
func (s *source) operand(i int) int {
	for limit := i + maxAhead; i < limit; i++ {
		if s.at(i).kind == newline || s.at(i).kind == endOfFile || s.oneOf(i, "+", ",", ";", ")", "]", "}") {
			return i
		}
		if p := s.partner(i); p > i {
			i = p
		}
	}
	return i
}

// shellInjection finds exec("ls " + req.query.dir), os.system(…), subprocess.run(…, shell=True) and
// exec.Command("sh", "-c", …).
func shellInjection(s *source, i int) bool {
	open := i + 1
	switch s.lang {
	case golang:
		if !s.oneOf(i, "Command", "CommandContext") || !s.is(open, "(") || !s.is(i-2, "exec", ".") {
			return false
		}
		for n, argument := range s.arguments(open) {
			if content, _ := s.unquote(argument[0]); n > 0 && slices.Contains([]string{"-c", "/c", "/C"}, content) {
				return s.hasInput(argument[1], s.partner(open))
			}
		}
		return false
	case python:
		switch {
		case s.is(i, "shell", "=", "True"):
			open = s.parents[i]
		case s.is(i, "os", ".") && s.oneOf(i+2, "system", "popen"):
			open = i + 3
		default:
			return false
		}
	default:
		shell := s.findWord(open, s.partner(open), "shell")
		if !s.oneOf(i, "exec", "execSync", "spawn", "spawnSync") || s.oneOf(i, "spawn", "spawnSync") && !s.is(shell+1, ":", "true") ||
			!s.mentions("child_process") {
			return false
		}
	}
	return s.is(open, "(") && s.hasInput(open+1, s.partner(open))
}

// codeInjection finds eval(req.body.code), new Function(…), and in Python exec(…) and
// render_template_string(…).
func codeInjection(s *source, i int) bool {
	open := i + 1
	switch {
	case s.is(i, "eval", "(") && !s.oneOf(i-1, ".", "?.", "def", "function"):
	case s.lang == python && s.oneOf(i, "exec", "render_template_string") && s.is(open, "(") && !s.oneOf(i-1, ".", "def"):
		if first := s.arguments(open); len(first) > 0 { // further arguments are values
			return s.hasInput(open+1, first[0][1]+1)
		}
	case s.lang != python && s.is(i, "new", "Function", "("):
		open = i + 2
	default:
		return false
	}
	return s.hasInput(open+1, s.partner(open))
}

// hasInput reports whether the tokens in [from, to) contain input. Arguments of functions that
// transform them do not count.
func (s *source) hasInput(from, to int) bool {
	known := s.inputsAround(from)
	for i := from; i < min(to, from+maxAhead); i++ {
		t := s.at(i)
		switch {
		case t.kind == text && s.lang == python && strings.ContainsAny(t.text[:max(0, strings.IndexAny(t.text, `"'`))], "fF"):
			for _, m := range field().FindAllStringSubmatch(t.text, -1) {
				if pythonInput().MatchString(m[1]+m[2]) || !strings.HasPrefix(m[2], "(") && s.holdsInput(known, m[1], i) {
					return true
				}
			}
		case t.kind != word || s.oneOf(i-1, ".", "?."):
		case s.beginsInput(i), !s.is(i+1, "=") && !s.is(i+1, ".", "replace") && s.holdsInput(known, t.text, i):
			return true
		}
		if s.oneOf(i, "=>", "function", "func", "lambda") {
			return false // the function runs later
		}
		if p := s.partner(i); p > i && s.is(i, "(") && i > from && s.isName(i-1) && !keeps().MatchString(s.at(i-1).text) {
			i = p // the function transforms its argument
		}
	}
	return false
}

func (s *source) beginsInput(i int) bool {
	start := s.at(i).start
	return inputs[s.lang]().MatchString(s.text[start:min(len(s.text), start+100)])
}

// inputVariables maps the variables of a function that ever hold input to their assignments, in
// order.
type inputVariables map[string][]assignment

// assignment records whether an assignment at index from gives a variable input.
type assignment struct {
	from  int
	input bool
}

// holdsInput reports whether a variable holds unchecked input at an index.
func (s *source) holdsInput(k inputVariables, name string, i int) bool {
	last := assignment{}
	for _, g := range k[name] {
		if g.from < i {
			last = g
		}
	}
	return last.input && !s.checked(name, last.from, i)
}

// inputsAround returns the variables that hold input in the function around a token.
func (s *source) inputsAround(i int) inputVariables {
	start, end := -1, 0
	if s.lang == python {
		if start = s.definition(i); start >= 0 {
			for end = range s.body(start) {
			}
		}
	} else if start = s.functionAround(i); start >= 0 {
		end = min(s.partner(start), start+maxAhead)
	}
	if start < 0 {
		return nil
	}
	if known, ok := s.inputs[start]; ok {
		return known
	}
	if s.inputs == nil {
		s.inputs = map[int]inputVariables{}
	}
	k := inputVariables{}
	s.inputs[start] = k // calls of hasInput below see the entries so far
	if s.lang == python {
		s.routeParameters(start, k)
	}
	for j := start + 1; j < end; j++ {
		if !s.oneOf(j, "=", ":=", "+=") || s.lang == python && s.is(s.parents[j], "(") {
			continue
		}
		input := s.hasInput(j+1, s.expressionEnd(j+1))
		for _, name := range s.assigned(j) {
			if input || k[name] != nil && !s.is(j, "+=") {
				k[name] = append(k[name], assignment{j, input})
			}
		}
	}
	return k
}

// expressionEnd returns the index after the expression that begins at i.
func (s *source) expressionEnd(i int) int {
	for first := i; i < first+maxAhead; i++ {
		if s.at(i).kind == newline || s.at(i).kind == endOfFile || s.oneOf(i, ";", ")", "]", "}") || i > first && s.begins(i) {
			return i
		}
		if p := s.partner(i); p > i {
			i = p
		}
	}
	return i
}

// assigned returns the names that an assignment sets: a = …, a, b := …, const { a, b } = …, const
// a: T = ….
func (s *source) assigned(i int) (names []string) {
	if open := s.partner(i - 1); open >= 0 && s.oneOf(open-1, "const", "let", "var") {
		for j := open + 1; j < i-1; j++ {
			if s.isName(j) {
				names = append(names, s.at(j).text)
			}
		}
		return names
	}
	if s.is(i-2, ":") {
		i -= 2
	}
	for j := i - 1; s.isName(j) && !s.oneOf(j-1, ".", "?."); j -= 2 {
		names = append(names, s.at(j).text)
		if !s.is(j-1, ",") {
			break
		}
	}
	return names
}

// conditions matches a line that contains a condition keyword.
var conditions = regex.Lazy(`\b(if|elif|while|switch|match|assert)\b`)

// checked reports whether a condition between two tokens checks a name for more than existence.
func (s *source) checked(name string, from, to int) bool {
	places := s.places[name]
	at, _ := slices.BinarySearch(places, from)
	for _, i := range places[at:] {
		if i >= to {
			break
		}
		line := s.text[s.lines[s.line(s.at(i).start)-1]:s.at(i).start]
		empty := s.oneOf(i-1, "not", "!", "+") || s.is(i+1, "+") ||
			s.oneOf(i+1, ":", ")", "{") && (s.oneOf(i-1, "if", "elif") || s.is(i-2, "if", "(")) ||
			s.oneOf(i+1, "==", "===", "!=", "!==", "is") &&
				(s.oneOf(i+2, "None", "null", "undefined", "nil", "not") || len(s.at(i+2).text) == 2)
		if conditions().MatchString(line) && !empty {
			return true
		}
	}
	return false
}

// routeParameters adds the string parameters of a Python function that a decorator makes a request
// handler.
func (s *source) routeParameters(def int, k inputVariables) {
	decorators := ""
	for at := def; at > 1; {
		at = s.statementStart(at - 2)
		if !s.is(at, "@") {
			break
		}
		decorators += s.between(at, at) + s.text[s.at(at).end():s.lineEnd(s.at(at).start)]
	}
	if !route().MatchString(decorators) {
		return
	}
	open := s.find(def, def+6, "(")
	for _, parameter := range s.arguments(open) {
		name := parameter[0]
		isText := parameter[1] == name || s.is(name+1, ":", "str") || s.is(name+1, "=") && s.at(name+2).kind == text
		converted := slices.ContainsFunc([]string{"<int:", "<float:", "<uuid:"}, func(to string) bool {
			return strings.Contains(decorators, to+s.at(name).text+">")
		})
		if s.isName(name) && !s.oneOf(name, "self", "request") && isText && !converted {
			k[s.at(name).text] = []assignment{{open, true}}
		}
	}
}

// route matches a decorator that registers a request handler.
var route = regex.Lazy(`@\s*[\w.]+\.(route|get|post|put|patch|delete|websocket)\(\s*["']/`)
