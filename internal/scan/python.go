package scan

import (
	"iter"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold/internal/lex"
	"github.com/toolfold/toolfold/internal/regex"
)

// pythonBugRules look for faults in Python.
var pythonBugRules = []rule{{
	name: "eval", kind: "security", level: "critical", confidence: 0.9, languages: onlyPython,
	message: "code built from a string is run", advice: "Use ast.literal_eval, or parse the data.",
	find: where(func(s *source, i int) bool {
		if !s.oneOf(i, "eval", "exec") || !s.is(i+1, "(") || s.oneOf(i-1, ".", "def") {
			return false
		}
		if s.findWord(i+2, s.partner(i+1), "compile", "read", "read_file") > 0 {
			return false // a file of code, which its author names
		}
		_, literal := s.quoted(i + 2)
		return !literal || s.partner(i+1) != i+3
	}),
}, {
	name: "shell-command", kind: "security", level: "high", confidence: 0.9, languages: onlyPython,
	message: "shell command built from variables", advice: "Pass a list of arguments, and leave shell out.",
	find: where(pythonShell),
}, {
	name: "unsafe-yaml", kind: "security", level: "high", confidence: 0.9, languages: onlyPython, tests: true,
	message: "yaml.load can construct any object", advice: "Use yaml.safe_load.",
	find: each(func(s *source, i int) *hit {
		if !s.is(i, "yaml", ".", "load", "(") || len(s.arguments(i+3)) != 1 {
			return nil
		}
		return &hit{edits: []Edit{s.replace(i+2, i+2, "safe_load")}}
	}),
}, {
	name: "pickle", kind: "security", level: "medium", confidence: 0.6, languages: onlyPython,
	message: "unpickling can run any code", advice: "Use JSON for data of others.",
	find: where(func(s *source, i int) bool {
		return s.is(i, "pickle", ".") && s.oneOf(i+2, "load", "loads") && s.is(i+3, "(")
	}),
}, {
	name: "unclosed-file", kind: "resource-leak", level: "high", confidence: 0.75, languages: onlyPython,
	message: "the file is not closed when something fails", advice: "Open it in a with statement.",
	find: where(func(s *source, i int) bool {
		if !s.is(i, "open", "(") || s.oneOf(i-1, ".", "def", "(") {
			return false
		}
		start, _ := s.statement(i)
		return !s.oneOf(start, "with", "async", "return", "yield")
	}).unless("ExitStack", "close"),
}, {
	name: "mutable-default", kind: "logic-error", level: "high", confidence: 0.95, languages: onlyPython, tests: true,
	message: "all calls share the default value", advice: "Default to None and make the value in the function.",
	find: where(func(s *source, i int) bool {
		if !s.is(i, "=") || !s.oneOf(i+1, "[", "{") && !(s.oneOf(i+1, "list", "dict", "set") && s.is(i+2, "(")) {
			return false
		}
		start, _ := s.statement(i)
		if s.is(start, "async") {
			start++
		}
		return s.is(start, "def") && s.parents[i] == start+2 && s.keepsParameter(start, i)
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
		return &hit{edits: []Edit{s.replace(i, last, operator)}}
	}),
}, {
	name: "assert-tuple", kind: "logic-error", level: "high", confidence: 0.95, languages: onlyPython, tests: true,
	message: "a tuple is always true: the assertion never fails", advice: "Take the parentheses off.",
	find: where(func(s *source, i int) bool {
		return s.is(i, "assert", "(") && s.at(s.partner(i+1)+1).kind == newline && s.find(i+2, s.partner(i+1), ",") > 0 &&
			len(s.arguments(i+1)) > 1
	}),
}, {
	name: "blocking-call", kind: "concurrency", level: "medium", confidence: 0.9, languages: onlyPython,
	message: "blocking sleep in an async function", advice: "Await asyncio.sleep.",
	find: where(func(s *source, i int) bool {
		return s.is(i, "time", ".", "sleep", "(") && s.is(s.definition(i), "async")
	}),
}, {
	name: "no-timeout", kind: "resource-leak", level: "medium", confidence: 0.75, languages: onlyPython,
	message: "the request has no timeout", advice: "Pass timeout.",
	find: where(func(s *source, i int) bool {
		if !s.is(i, "requests", ".") || s.is(i-1, ".") || !s.oneOf(i+2, "get", "post", "put", "delete", "head", "patch", "request") ||
			!s.is(i+3, "(") {
			return false
		}
		for _, argument := range s.arguments(i + 3) {
			if s.oneOf(argument[0], "timeout", "**") {
				return false
			}
		}
		return true
	}),
}, {
	name: "bare-except", kind: "logic-error", level: "medium", confidence: 0.9, languages: onlyPython, tests: true,
	message: "the clause also catches SystemExit and KeyboardInterrupt", advice: "Name the exceptions, at least Exception.",
	find: where(func(s *source, i int) bool { return s.is(i, "except", ":") && !s.raisesAgain(i) }),
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
	name: "insecure-temporary-file", kind: "security", level: "high", confidence: 0.95, languages: onlyPython,
	message: "temporary file name that another process can take", advice: "Use tempfile.mkstemp or NamedTemporaryFile.",
	find: where(func(s *source, i int) bool { return s.is(i, "tempfile", ".", "mktemp", "(") }),
}, {
	name: "weak-random", kind: "security", level: "high", confidence: 0.85, languages: onlyPython,
	message: "secret made with a predictable random generator", advice: "Use the secrets module.",
	find: where(func(s *source, i int) bool {
		return s.is(i, "random", ".") && s.oneOf(i+2, "choice", "choices", "randint", "random", "randrange", "getrandbits", "sample") &&
			s.secretIn(s.statementOf(i))
	}),
}, {
	name: "weak-hash", kind: "security", level: "high", confidence: 0.85, languages: onlyPython,
	message: "password hashed with a fast hash", advice: "Use hashlib.scrypt, bcrypt or argon2.",
	find: where(func(s *source, i int) bool {
		return s.is(i, "hashlib", ".") && s.oneOf(i+2, "md5", "sha1", "sha256") && s.is(i+3, "(") &&
			(passwordName().MatchString(s.textOf(s.statementOf(i))) || s.functionNamed(i, passwordName()))
	}),
}, {
	name: "changed-while-iterated", kind: "logic-error", level: "high", confidence: 0.85, languages: onlyPython, tests: true,
	message: "the dictionary or list changes while the loop goes over it", advice: "Loop over a copy: list(…).",
	find: where(changedWhileIterated),
}, {
	name: "late-binding", kind: "logic-error", level: "medium", confidence: 0.8, languages: onlyPython, tests: true,
	message: "the lambda sees the last value of the loop variable", advice: "Bind it with a default: lambda x=x: ….",
	find: where(lateBinding),
}, {
	name: "empty-except", kind: "logic-error", level: "low", confidence: 0.8, languages: onlyPython,
	message: "every exception is dropped", advice: "Name the exceptions, or say in a comment why they may be dropped.",
	find: where(func(s *source, i int) bool {
		if !s.is(i, "except") || !s.is(i+1, ":") && !(s.oneOf(i+1, "Exception", "BaseException") && s.oneOf(i+2, ":", "as")) {
			return false
		}
		_, colon := s.statement(i)
		if s.at(colon).kind == newline {
			colon++
		}
		if !s.is(colon, "pass") {
			return false
		}
		_, commented := slices.BinarySearchFunc(s.comments, s.at(i).start, func(c token, at int) int {
			switch {
			case c.start < at:
				return -1
			case c.start < s.lineEnd(s.at(colon).start):
				return 0
			}
			return 1
		})
		return !commented
	}),
}, {
	name: "none-comparison", kind: "logic-error", level: "low", confidence: 0.95, languages: onlyPython, tests: true,
	message: "== can be overridden by the object", advice: "Use is None or is not None.",
	find: each(noneComparison),
}, {
	name: "type-comparison", kind: "type-error", level: "low", confidence: 0.8, languages: onlyPython,
	message: "type compared with ==, which no subclass equals", advice: "Use isinstance.",
	find: where(func(s *source, i int) bool {
		return s.is(i, "type", "(") && s.oneOf(s.partner(i+1)+1, "==", "!=") && !s.is(i-1, ".")
	}),
}}

// pythonShell: os.system("ls " + name), subprocess.run(command, shell=True). A name in capitals
// is a constant, and shlex.quote makes a value safe.
func pythonShell(s *source, i int) bool {
	open := -1
	switch {
	case s.is(i, "shell", "=", "True"):
		open = s.parents[i]
	case s.is(i, "os", ".") && s.oneOf(i+2, "system", "popen") && s.is(i+3, "("):
		open = i + 3
	}
	if open < 0 || !s.is(open, "(") {
		return false
	}
	arguments := s.arguments(open)
	if len(arguments) == 0 {
		return false
	}
	for j := arguments[0][0]; j <= arguments[0][1]; j++ {
		t := s.at(j)
		switch {
		case s.is(j, "quote", "("):
			j = s.partner(j + 1)
		case t.kind == text:
			prefix := t.text[:max(0, strings.IndexAny(t.text, `"'`))]
			if strings.ContainsAny(prefix, "fF") && strings.Contains(t.text, "{") && !strings.Contains(t.text, "quote(") {
				return true
			}
		case s.is(j-1, ".") && s.is(j+1, "."): // what counts is the last of a chain, and the first
		case s.isName(j) && t.text != strings.ToUpper(t.text) && !s.oneOf(j+1, "(", "=") && !s.isModule(j):
			return true
		}
	}
	return false
}

// isModule reports whether a name is one that the file imports, with a member behind it.
func (s *source) isModule(i int) bool {
	if !s.is(i+1, ".") {
		return false
	}
	for j := range s.tokens {
		if s.is(j, "import") && s.at(j+1).text == s.at(i).text {
			return true
		}
	}
	return false
}

// isForPython2 reports whether a file, or its project, says that Python 2 runs it too: it asks for what is in
// every Python 3 from the start.
func (s *source) isForPython2() bool {
	if s.lang != python || s.python2 {
		return s.python2
	}
	for _, i := range s.places["__future__"] {
		if _, end := s.statement(i); s.is(i-1, "from") && s.is(i+1, "import") {
			for n := i + 2; n <= end && n < len(s.tokens); n++ {
				if s.oneOf(n, "print_function", "unicode_literals", "division", "absolute_import", "with_statement", "nested_scopes", "generators") {
					return true
				}
			}
		}
	}
	return false
}

// pythonRefactorRules look for what Python says shorter today.
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
	name: "old-format", kind: "modernize-syntax", level: "trivial", confidence: 0.75, languages: onlyPython, tests: true, python3: true,
	message: "the string is formatted with % or format", advice: "Use an f-string.",
	find: where(func(s *source, i int) bool {
		content, ok := s.quoted(i)
		return ok && (s.is(i+1, "%") && strings.Contains(content, "%") || s.is(i+1, ".", "format", "(") && strings.Contains(content, "{"))
	}),
}, {
	name: "boolean-comparison", kind: "simplify-conditional", level: "trivial", confidence: 0.9, languages: onlyPython,
	message: "the condition is compared with a truth value", advice: "Use the value itself, or not.",
	find: where(func(s *source, i int) bool { return s.oneOf(i, "==", "!=") && s.oneOf(i+1, "True", "False") }),
}, {
	name: "lambda-assignment", kind: "modernize-syntax", level: "trivial", confidence: 0.85, languages: onlyPython,
	message: "a lambda is assigned to a name", advice: "Write def.",
	find: where(func(s *source, i int) bool { return s.isName(i) && s.is(i+1, "=", "lambda") && s.begins(i) }),
}, {
	name: "star-import", kind: "optimize-imports", level: "minor", confidence: 0.9, languages: onlyPython,
	message: "a star import hides where names come from", advice: "Import the names that are used.",
	find: where(func(s *source, i int) bool { return s.is(i, "import", "*") }),
}, {
	name: "unused-import", kind: "optimize-imports", level: "trivial", confidence: 0.85, languages: onlyPython, tests: true,
	message: "nothing uses the import", advice: "Remove it, unless it is there for what it does when it is loaded.",
	find: unusedPythonImport,
}, {
	name: "late-import", kind: "move", level: "trivial", confidence: 0.75, languages: onlyPython,
	message: "the import stands below code", advice: "Move it to the top of the file.",
	find: lateImport,
}}

var (
	codingComment = regex.Lazy(`^#.*?coding[:=]\s*([\w.-]+)`)
	onlyCoding    = regex.Lazy(`^#\s*(-\*-)?\s*(file)?(en)?coding[:=]\s*(utf-?8|UTF-?8)\s*;?\s*(-\*-)?\s*$`)
)

// codingComments: # -*- coding: utf-8 -*- in the first two lines. It stays where it says more, and where
// a comment behind it would say the encoding instead.
func codingComments(s *source) []hit {
	var hits []hit
	for _, c := range s.comments {
		line := s.line(c.start)
		m := codingComment().FindStringSubmatch(c.text)
		if line > 3 || m == nil {
			continue
		}
		name := strings.ReplaceAll(strings.ToLower(m[1]), "-", "")
		if len(hits) > 0 { // it moves up
			hits[0].edits = nil
			return hits
		}
		if line > 2 || name != "utf8" {
			return nil
		}
		h := hit{at: c.start}
		if onlyCoding().MatchString(c.text) {
			h.edits = []Edit{s.removeLine(c.start, c.end())}
		}
		hits = append(hits, h)
	}
	return hits
}

// superArguments: super(Class, self), in a method of that class. What Python makes of super() follows from where it stands:
// not within a function, or what becomes one, and not in a class that a decorator may put another in place of.
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
			return &hit{}
		}
	}
	return &hit{edits: []Edit{s.replace(i+1, i+5, "()")}}
}

// binds reports whether the file gives a name another meaning, by import or assignment.
func (s *source) binds(name string) bool {
	places := s.places[name]
	return slices.ContainsFunc(places[:min(len(places), 500)], func(i int) bool {
		start, _ := s.statement(i)
		return s.oneOf(start, "from", "import") || s.is(i+1, "=") && s.parents[i] < 0
	})
}

// overloaders are modules whose objects compare as they like, by the names that they go by.
var overloaders = strings.Fields(`numpy np pandas pd sqlalchemy sa peewee django pony polars torch tensorflow sympy sqlmodel tortoise
	mongoengine ndb pyspark dask xarray jax cupy`)

// noneComparison: x == None. Both mean the same where a condition asks for it and nothing in the file
// overloads the operator: elsewhere the comparison may be part of a query, or of an array.
func noneComparison(s *source, i int) *hit {
	with := map[string]string{"==": "is", "!=": "is not"}[s.at(i).text]
	if with == "" || s.at(i).kind != operator || !s.is(i+1, "None") {
		return nil
	}
	start, suite := s.statement(i)
	plain := s.oneOf(start, "if", "elif", "while") && s.is(suite-1, ":") && suite > i &&
		(s.oneOf(i+2, ":", ")", "and", "or") || s.at(i+2).kind == newline) &&
		s.findWord(start, suite, "lambda", "for", "__eq__") < 0 && s.find(start, suite, "&", "|", "~") < 0
	for open := range s.around(i) { // a call may make something of it
		plain = plain && s.is(open, "(") && open > start && !s.isName(open-1) && !s.oneOf(open-1, ")", "]")
	}
	for _, name := range slices.Concat(overloaders, []string{"__eq__", "__ne__"}) {
		plain = plain && len(s.places[name]) == 0
	}
	if !plain {
		return &hit{}
	}
	return &hit{edits: []Edit{s.replace(i, i, with)}}
}

// python2Projects match what a project says of itself that Python 2 runs too.
var python2Projects = regex.Lazy(
	`(?m)Programming Language :: Python :: 2\b|(python_requires|requires-python|^python)\s*=\s*['"]?[^'"\n]*[>=~^]\s*2\b`)

// projects remembers of folders whether the projects that they are part of say so.
type projects struct {
	root    *os.Root
	mu      sync.Mutex
	python2 map[string]bool // by folder
}

// isForPython2 reports whether the project of a folder says that Python 2 runs it too: the nearest
// of its descriptions, there or above.
func (p *projects) isForPython2(folder string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.look(folder)
}

func (p *projects) look(folder string) (python2 bool) {
	if known, ok := p.python2[folder]; ok {
		return known
	}
	described := false
	for _, description := range []string{"setup.py", "setup.cfg", "pyproject.toml"} {
		if content, err := read(p.root, path.Join(folder, description)); err == nil {
			described, python2 = true, python2 || python2Projects().MatchString(content)
		}
	}
	if !described && folder != "." {
		python2 = p.look(path.Dir(folder))
	}
	p.python2[folder] = python2
	return python2
}

// statement returns the indexes at which the logical line around i begins, and
// at which its suite does: after the colon that ends it, or after its last
// token.
func (s *source) statement(i int) (start, suite int) {
	for start = i; start > 0 && s.tokens[start-1].kind != newline && i-start < maxAhead; start-- {
	}
	for suite = start; suite < min(len(s.tokens), i+maxAhead) && s.tokens[suite].kind != newline; suite++ {
		if s.is(suite, ":") && s.parents[suite] < 0 {
			return start, suite + 1
		}
	}
	return start, suite
}

// indent returns the column of the first character on a token's line.
func (s *source) indent(i int) int {
	line := s.text[s.lines[s.line(s.at(i).start)-1]:]
	return len(line) - len(strings.TrimLeft(line, " \t"))
}

// lineEnd returns the offset of the end of a line.
func (s *source) lineEnd(at int) int {
	if line := s.line(at); line < len(s.lines) {
		return s.lines[line]
	}
	return len(s.text)
}

// definition returns the index of the first token of the def around i; -1
// where there is none.
func (s *source) definition(i int) int {
	indent := s.indent(i)
	for j := i; j >= 0 && i-j < maxAhead && indent > 0; j-- {
		if (j == 0 || s.tokens[j-1].kind == newline) && s.indent(j) < indent {
			if indent = s.indent(j); s.is(j, "def") || s.is(j, "async", "def") {
				return j
			}
		}
	}
	return -1
}

// headerOf returns the index of the first token of the statement whose block a statement is in;
// -1 at the margin.
func (s *source) headerOf(i int) int {
	indent := s.indent(i)
	for j := i; j >= 0 && i-j < maxAhead && indent > 0; j-- {
		if (j == 0 || s.tokens[j-1].kind == newline) && s.at(j).kind != newline && s.indent(j) < indent {
			return j
		}
	}
	return -1
}

// body yields the indexes of the tokens in the block of the statement at i.
func (s *source) body(i int) iter.Seq[int] {
	return func(yield func(int) bool) {
		indent := s.indent(i)
		_, suite := s.statement(i)
		for j := suite; j < min(len(s.tokens), suite+maxAhead); j++ {
			if j > suite && s.tokens[j-1].kind == newline && s.at(j).kind != newline && s.indent(j) <= indent || !yield(j) {
				return
			}
		}
	}
}

// keepsParameter reports whether the function at def changes or stores the parameter
// whose default begins behind the = at i. One whose name begins with _ is meant to be kept.
func (s *source) keepsParameter(def, i int) bool {
	name := i - 1 // before a type
	for j := i - 1; j > def+2 && s.parents[j] == s.parents[i] && !s.is(j, ","); j-- {
		if s.is(j, ":") {
			name = j - 1
		}
	}
	parameter := s.at(name).text
	if strings.HasPrefix(parameter, "_") {
		return false
	}
	for j := range s.body(def) {
		if !s.is(j, parameter) || s.oneOf(j-1, ".", "def") {
			continue
		}
		switch {
		case s.is(j+1, ".") && s.oneOf(j+2, "append", "extend", "insert", "update", "setdefault", "add", "pop", "remove", "clear", "sort"):
			return true
		case s.is(j+1, "[") && (s.oneOf(s.partner(j+1)+1, "=", "+=") || s.is(j-1, "del")), s.oneOf(j+1, "+=", "|="):
			return true
		case s.is(j-1, "=") && s.is(j-3, ".") && s.at(j+1).kind == newline:
			return true
		}
	}
	return false
}

// raisesAgain reports whether the block of an except clause raises, or hands on what was caught.
func (s *source) raisesAgain(i int) bool {
	for j := range s.body(i) {
		if s.oneOf(j, "raise", "exc_info", "print_exc", "format_exc") {
			return true
		}
	}
	return false
}

// unawaited: a statement that only calls an async function of the file.
func unawaited(s *source) []hit {
	async, other := map[string]bool{}, map[string]bool{}
	for i := range s.tokens {
		switch {
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
			hits = append(hits, hit{at: s.at(i).start, message: "coroutine " + s.at(at).text + " never awaited"})
		}
	}
	return hits
}

// changedWhileIterated: for k in d: … del d[k], where the loop goes on.
func changedWhileIterated(s *source, i int) bool {
	if !s.is(i, "for") || !s.begins(i) {
		return false
	}
	start, suite := s.statement(i)
	in := s.find(start, suite, "in")
	if in < 0 || !s.isName(in+1) {
		return false
	}
	end := in + 1
	for s.is(end+1, ".") && s.isName(end+2) && !s.oneOf(end+2, "items", "keys", "values") {
		end += 2
	}
	if !s.is(end+1, ":") && !(s.is(end+1, ".") && s.oneOf(end+2, "items", "keys", "values") && s.is(end+3, "(", ")", ":")) {
		return false
	}
	container := s.texts(in+1, end)
	for j := range s.body(i) {
		after := j + len(container)
		changes := s.is(j, container...) && !s.is(j-1, ".") &&
			(s.is(j-1, "del") && s.is(after, "[") || s.is(after, ".") && s.oneOf(after+1, "pop", "remove", "clear", "popitem") && s.is(after+2, "("))
		if changes && !s.leaves(j) {
			return true
		}
	}
	return false
}

// leaves reports whether what follows a statement in its block ends the loop around it.
func (s *source) leaves(i int) bool {
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

// lateBinding: a lambda that is kept in a loop and uses its variable.
func lateBinding(s *source, i int) bool {
	if !s.is(i, "lambda") || !s.is(s.parents[i]-1, "append") {
		return false
	}
	header := s.headerOf(i)
	if !s.is(header, "for") || !s.isName(header+1) || !s.is(header+2, "in") {
		return false
	}
	colon := s.find(i, i+100, ":")
	for j := i + 1; j < s.partner(s.parents[i]); j++ {
		if s.at(j).text == s.at(header+1).text && s.at(j).kind == word && !s.is(j-1, ".") {
			return j > colon
		}
	}
	return false
}

// unusedPythonImport: import a, or from a import b, alone in its statement.
// Files that hand names on are left alone.
func unusedPythonImport(s *source) []hit {
	if s.has("__all__") || strings.HasSuffix(s.name, "__init__.py") || strings.HasSuffix(s.name, ".pyi") {
		return nil
	}
	var hits []hit
	statements := slices.Sorted(slices.Values(slices.Concat(s.places["import"], s.places["from"])))
	for _, i := range statements[:min(len(statements), 500)] { // each looks through the texts
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

// mentioned reports whether a string of the file has the word: annotations and
// f-strings use names so.
func mentioned(s *source, name string) bool {
	return slices.ContainsFunc(s.tokens, func(t token) bool { return t.kind == text && strings.Contains(t.text, name) }) ||
		slices.ContainsFunc(s.comments, func(t token) bool {
			return strings.Contains(t.text, "noqa") || strings.Contains(t.text, "type:") && strings.Contains(t.text, name)
		})
}

// lateImport: an import at the margin after a def or a class.
func lateImport(s *source) []hit {
	var hits []hit
	code := false
	for i := range s.tokens {
		if !s.begins(i) || s.indent(i) > 0 {
			continue
		}
		if s.oneOf(i, "def", "class") {
			code = true
		}
		if code && (s.is(i, "import") || s.is(i, "from") && s.at(i+1).kind == word) {
			hits = append(hits, hit{at: s.at(i).start})
		}
	}
	return hits
}
