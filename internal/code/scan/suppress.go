package scan

import (
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/code/lex"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// suppression is a range of lines, both ends included, in which a comment suppresses findings of
// some rules.
type suppression struct {
	From, To int
	Names    []string // of rules, groups of rules or linters, in lower case; empty = all rules
}

// suppresses reports whether a finding is suppressed.
func (q suppression) suppresses(f Finding) bool {
	return q.From <= f.Line && f.Line <= q.To && (len(q.Names) == 0 || slices.ContainsFunc(q.Names, func(name string) bool {
		return covers(name, f)
	}))
}

// covers reports whether a name in a suppressing comment covers a finding.
func covers(name string, f Finding) bool {
	analyser, rule, _ := strings.Cut(f.Rule, "/")
	last := name[strings.LastIndexByte(name, '/')+1:] // lint/suspicious/noDoubleEquals, @typescript-eslint/no-unused-vars
	switch name {
	case "all", "lint":
		return true
	case securityLinter:
		return f.Kind == "security"
	case typeChecker:
		return f.Kind == "type-error" || f.Kind == "null-reference"
	}
	return strings.EqualFold(last, rule) || slices.Contains(linters[analyser], name) || slices.Contains(otherNames[rule], last)
}

// Names that cover kinds of findings.
const (
	securityLinter = "gosec"
	typeChecker    = "typecheck"
)

// linters are golangci-lint's names for analysers.
var linters = map[string][]string{
	"staticcheck": {"staticcheck", "gosimple", "stylecheck"}, "vet": {"govet", "vet"},
}

// otherNames maps our rules to the names of other linters for the same fault, in lower case.
var otherNames = map[string][]string{
	"eval": {"no-eval", "no-new-func", "noglobaleval", "s307", "s102", "b307", "eval-used", "exec-used", "w0123", "w0122",
		"pgh001"},
	"hard-coded-secret":       {"s105", "s106", "s107", "b105", "b106", "b107", "g101", "no-secrets", "no-hardcoded-credentials"},
	"sql-injection":           {"s608", "b608", "g201", "g202"},
	"shell-command":           {"s602", "s604", "s605", "s606", "b602", "b604", "b605", "g204", "detect-child-process"},
	"dropped-error":           {"errcheck"},
	"tls-not-verified":        {"s501", "b501", "g402"},
	"unsafe-yaml":             {"s506", "b506"},
	"mutable-default":         {"b006", "dangerous-default-value", "w0102"},
	"is-literal":              {"f632", "literal-comparison", "r0123"},
	"assert-tuple":            {"f631", "assert-on-tuple", "w0199"},
	"unused-import":           {"f401", "w0611", "no-unused-vars", "nounusedimports", "nounusedvariables", "no-unused-imports"},
	"late-import":             {"e402", "wrong-import-position", "c0413", "first", "import-first"},
	"super-arguments":         {"up008", "super-with-arguments", "r1725"},
	"object-base":             {"up004", "useless-object-inheritance", "r0205"},
	"long-function":           {"funlen", "max-lines-per-function", "too-many-statements", "r0915", "plr0915"},
	"repeated-code":           {"dupl", "duplicate-code", "r0801"},
	"assignment-in-condition": {"no-cond-assign", "noassigninexpressions"},
	"nan-comparison":          {"use-isnan", "useisnan"},
	"async-executor":          {"no-async-promise-executor", "noasyncpromiseexecutor"},
	"return-in-finally":       {"no-unsafe-finally", "nounsafefinally"},
	"unsafe-optional-chain":   {"no-unsafe-optional-chaining", "nounsafeoptionalchaining"},
	"loop-direction":          {"for-direction", "usevalidfordirection"},
	"repeated-condition":      {"no-dupe-else-if", "noduplicateelseif"},
	"self-comparison":         {"no-self-compare", "noselfcompare"},
	"missing-await":           {"unused-coroutine"},
	"var-declaration":         {"no-var", "novar"},
	"changed-while-iterated":  {"b909", "modified-iterating-list", "modified-iterating-dict", "e4702", "e4701"},
	"format-arguments":        {"ple1205", "ple1206", "logging-too-few-args", "logging-too-many-args", "e1205", "e1206"},
	"method-without-self":     {"n805", "no-method-argument", "e0211"},
	"comparison-statement":    {"b015", "pointless-statement", "w0104", "no-unused-expressions"},
}

// reach is the range of lines that a suppressing comment covers.
type reach int

const (
	own   reach = iota // its own line; if it is alone there, the next statement with its brackets
	next               // the line after it
	file               // the file
	begin              // from the comment up to the end mark
	end                // the end mark
)

// mark is a form of comment that suppresses findings.
type mark struct {
	text  string // prefix of the comment, in lower case, without slashes; the longest match wins
	reach reach
	as    string // the only name that it covers; empty = the names after it, or all
}

// marks lists the forms of suppressing comments, by language.
var marks = map[language][]mark{
	golang: {
		{"nolint", own, ""}, {"lint:ignore", own, ""}, {"lint:file-ignore", file, ""}, {"#nosec", own, securityLinter},
		{"nosec", own, securityLinter}, {"gosec:disable", own, securityLinter}, {"nosemgrep", own, ""}, {"nosonar", own, ""},
	},
	python: {
		{"noqa", own, ""}, {"flake8: noqa", file, ""}, {"ruff: noqa", file, ""}, {"nosec", own, securityLinter},
		{"type: ignore", own, typeChecker},
		{"pyright: ignore", own, typeChecker}, {"mypy: ignore", own, typeChecker}, {"pylint: disable=", own, ""},
		{"pylint: disable-next=", next, ""}, {"pylint: skip-file", file, ""}, {"pylint: enable=", end, ""}, {"nosemgrep", own, ""},
		{"nosonar", own, ""},
	},
	typescript: {
		{"eslint-disable-line", own, ""}, {"eslint-disable-next-line", next, ""}, {"eslint-disable", begin, ""}, {"eslint-enable", end, ""},
		{"oxlint-disable-line", own, ""}, {"oxlint-disable-next-line", next, ""}, {"oxlint-disable", begin, ""}, {"oxlint-enable", end, ""},
		{"biome-ignore-all", file, ""}, {"biome-ignore-start", begin, ""}, {"biome-ignore-end", end, ""}, {"biome-ignore", next, ""},
		{"deno-lint-ignore-file", file, ""}, {"deno-lint-ignore", next, ""}, {"tslint:disable-next-line", next, ""},
		{"tslint:disable-line", own, ""}, {"tslint:disable", begin, ""}, {"tslint:enable", end, ""}, {"@ts-ignore", next, typeChecker},
		{"@ts-expect-error", next, typeChecker}, {"@ts-nocheck", file, typeChecker}, {"nosemgrep", own, ""}, {"nosonar", own, ""},
	},
}

// elsewhere matches a mark of Python or Go after other words of a comment.
var elsewhere = regex.Lazy(`(?i)#\s*(noqa|nosec|type: ignore|pyright: ignore|pylint: disable)`)

// maxQuiet bounds the suppressing comments of a file.
const maxQuiet = 2000

// suppressions returns the ranges in which comments suppress findings.
func (s *source) suppressions() []suppression {
	var list []suppression
	for _, c := range s.comments {
		if len(list) >= maxQuiet {
			break
		}
		content := c.text
		for content != "" {
			rest := ""
			trimmed := strings.TrimLeft(content, "/*# \t!{")
			if s.lang != javascript && s.lang != typescript {
				if at := elsewhere().FindStringIndex(content[1:]); at != nil {
					content, rest = content[:at[0]+1], content[at[0]+1:]
					trimmed = strings.TrimLeft(content, "/*# \t")
				}
			}
			if m, names, ok := s.findMark(trimmed); ok {
				list = s.suppress(list, c, m, names)
			}
			content = rest
		}
	}
	return list
}

// findMark returns the mark at the start of a comment, and the names after it.
func (s *source) findMark(comment string) (found mark, names []string, ok bool) {
	lang := s.lang
	if lang == javascript {
		lang = typescript
	}
	lower := strings.ToLower(comment)
	for _, m := range marks[lang] {
		if strings.HasPrefix(lower, m.text) && len(m.text) > len(found.text) {
			found, ok = m, true
		}
	}
	if !ok {
		return found, nil, false
	}
	rest := lower[len(found.text):]
	if rest != "" && lex.IsWord(rune(rest[0])) && !strings.HasSuffix(found.text, "=") {
		return found, nil, false // another word, such as nolinting
	}
	if found.as != "" {
		return found, []string{found.as}, true
	}
	return found, namesOf(found.text, rest), true
}

// namesOf returns the names after a mark, without the explanation.
func namesOf(text, rest string) []string {
	rest, _, _ = strings.Cut(strings.TrimSuffix(strings.TrimSpace(rest), "*/"), "--") // an explanation follows
	rest = strings.TrimSpace(rest)
	switch {
	case text == "nolint" || strings.Contains(text, "noqa"):
		list, named := strings.CutPrefix(strings.TrimSpace(rest), ":")
		if !named {
			return nil
		}
		rest, _, _ = strings.Cut(list, "//")
		rest = strings.ReplaceAll(rest, ", ", ",")
		if text == "nolint" {
			rest, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
		}
	case strings.HasPrefix(text, "lint:"):
		rest, _, _ = strings.Cut(strings.TrimSpace(rest), " ") // a reason follows
	case strings.HasPrefix(text, "biome-"):
		rest, _, _ = strings.Cut(rest, ":")
	case text == "nosonar" || text == "nosemgrep":
		return nil
	}
	return strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(" \t\n,:", r) })
}

// suppress adds the range that a mark in a comment covers.
func (s *source) suppress(list []suppression, c token, m mark, names []string) []suppression {
	first, last := s.line(c.start), s.line(max(c.start, c.end()-1))
	switch m.reach {
	case file:
		return append(list, suppression{1, len(s.lines), names})
	case begin:
		return append(list, suppression{first, len(s.lines), names})
	case end:
		for i := range list {
			if list[i].To == len(s.lines) && list[i].From < first && (len(names) == 0 || slices.Equal(list[i].Names, names)) {
				list[i].To = first
			}
		}
		return list
	}
	line := s.text[s.lines[first-1]:c.start]
	alone := strings.TrimSpace(line) == "" || s.lang != python && strings.TrimSpace(line) == "{" // in braces in JSX
	switch {
	case m.reach == next:
		return append(list, suppression{last + 1, s.lineAfter(last), names})
	case alone && s.lang == python && m.text == "pylint: disable=":
		return append(list, suppression{first, s.blockEnd(first), names})
	case alone && s.lang == golang:
		return append(list, suppression{first, s.blockEndOf(s.lineAfter(last)), names})
	case s.lang == golang:
		return append(list, suppression{first, s.blockEndOf(first), names})
	case s.lang == python:
		return append(list, suppression{s.statementLine(c.start), first, names})
	}
	return append(list, suppression{first, first, names})
}

// lineAfter returns the next line with a token, or the following line if there is no token.
func (s *source) lineAfter(line int) int {
	if i := s.firstAfter(line); i < len(s.tokens) {
		return s.line(s.tokens[i].start)
	}
	return line + 1
}

// firstAfter returns the index of the first token after a line.
func (s *source) firstAfter(line int) int {
	if line >= len(s.lines) {
		return len(s.tokens)
	}
	at, _ := slices.BinarySearchFunc(s.tokens, s.lines[line], func(t token, start int) int { return t.start - start })
	return at
}

// blockEndOf returns the last line of the brackets that a line opens, or the line itself.
func (s *source) blockEndOf(line int) int {
	last := line
	for i := s.firstAfter(line - 1); i < len(s.tokens) && s.line(s.tokens[i].start) == line; i++ {
		if p := s.partner(i); p > i {
			last = max(last, s.line(s.tokens[p].start))
		}
	}
	return last
}

// blockEnd returns the last of the lines from line on that are indented at least as much.
func (s *source) blockEnd(line int) int {
	first := s.firstAfter(line)
	if first >= len(s.tokens) {
		return line
	}
	indent, last := s.indent(first), line
	for i := first; i < len(s.tokens); i++ {
		if s.tokens[i].kind == newline {
			continue
		}
		if (i == first || s.tokens[i-1].kind == newline) && s.indent(i) < indent {
			break
		}
		last = s.line(s.tokens[i].end())
	}
	return last
}

// statementLine returns the first line of the logical line before an offset.
func (s *source) statementLine(offset int) int {
	at, _ := slices.BinarySearchFunc(s.tokens, offset, func(t token, start int) int { return t.start - start })
	line := s.line(offset)
	if at == 0 || s.tokens[at-1].kind == newline {
		return line
	}
	start, _ := s.statement(at - 1)
	return min(line, s.line(s.at(start).start))
}
