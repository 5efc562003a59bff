package scan

import (
	"regexp"
	"strings"

	"github.com/toolfold/toolfold/internal/regex"
)

// bugRules look for faults in all languages, and for those in Go that no analyser finds.
var bugRules = []rule{{
	name: "hard-coded-secret", kind: "security", level: "critical", confidence: 0.8, languages: every,
	message: "hard-coded secret", advice: "Read it from the environment or a secret store, and revoke this one.",
	find: where(func(s *source, i int) bool {
		return s.at(i).kind == word && secretName().MatchString(s.at(i).text) && s.oneOf(i+1, "=", ":", ":=") && secretValue(s, i+2)
	}),
}, {
	name: "sql-injection", kind: "security", level: "critical", confidence: 0.85, languages: every,
	message: "SQL query built from variables", advice: "Use placeholders and pass the values as parameters.",
	find: where(sqlInjection),
}, {
	name: "fixme-comment", kind: "other", level: "info", confidence: 0.9, languages: every, written: true,
	message: "a comment says that something is broken", advice: "Mend it, or say why it may stay.",
	find: func(s *source) []hit { return s.inComments(fixme()) },
}, {
	name: "tls-not-verified", kind: "security", level: "high", confidence: 0.9, languages: every,
	message: "TLS certificate not verified", advice: "Add its authority to the trusted ones instead.",
	find: where(func(s *source, i int) bool {
		return s.is(i, "InsecureSkipVerify", ":", "true") || s.is(i, "InsecureSkipVerify", "=", "true") ||
			s.is(i, "rejectUnauthorized", ":", "false") || s.lang == python && s.is(i, "verify", "=", "False")
	}),
}, {
	name: "shell-command", kind: "security", level: "high", confidence: 0.8, languages: onlyGo,
	message: "shell command built from variables", advice: "Run the program with its arguments.",
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
		`(?i)(^|[a-z0-9_])(password|passwd|secret|api_?key|auth_?token|access_?token|` +
			`(private|access|secret|signing)_?key)$|^(password|secret|token)$`)
	placeholder = regex.Lazy(
		`(?i)example|changeme|change_me|your|xxx|dummy|sample|placeholder|test|^\*+$|[<>{}$ %]|://|^[a-z]+([-_.][a-z]+)*[-_.]\d$`)
	boundName = regex.Lazy(`(?i)placeholder|clause|where|condition|column|field`)
	sqlValue  = regex.Lazy(`(?i)(['"%=<>]|\slike|\b(in|values)\s*\()\s*(\$\{)?$`)
	sqlVerb   = regex.Lazy(`%(\(\w+\))?[sv]`)
	sqlField  = regex.Lazy(`\{[^{}]*\}`)
	sqlText   = regex.Lazy(`(?i)^\s*(select\s.+\sfrom\s|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s)`)
	fixme     = regex.Lazy(`\b(FIXME|BUG|XXX)\b`)
	todo      = regex.Lazy(`\b(TODO|HACK)\b`)
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
	if !ok || !sqlText().MatchString(content+" ") || strings.Contains("/"+s.name, "/migrations/") {
		return false // migrations put in no text from outside
	}
	literal := s.at(i).text
	switch {
	case s.lang == golang && s.is(i-2, "Sprintf", "("):
		return putsValue(content, sqlVerb())
	case s.lang == python && s.is(i+1, "%"):
		return putsValue(content, sqlVerb()) && !s.bindsValues(i+2)
	case s.lang == python && s.is(i+1, ".", "format"):
		return putsValue(content, sqlField()) && !s.bindsValues(i+3)
	case s.lang == python && strings.ContainsAny(literal[:strings.IndexAny(literal, `"'`)], "fF"):
		return putsValue(content, sqlField())
	case strings.HasSuffix(literal, "${"):
		return !s.oneOf(i-1, "sql", "SQL") && s.valuesInside(i) // a tag makes parameters
	}
	call := s.parents[i]
	arguments := s.arguments(call)
	bound := s.lang == golang && s.is(call, "(") && s.isName(call-1) && len(arguments) > 1 && arguments[len(arguments)-1][0] > i
	return s.joinsValue(i, bound)
}

// putsValue reports whether one of the places of a query in which something is put is that of a value, and
// not of the name of a table or of a part that was put together.
func putsValue(query string, place *regexp.Regexp) bool {
	for _, at := range place.FindAllStringIndex(query, -1) {
		if sqlValue().MatchString(query[:at[0]]) {
			return true
		}
	}
	return false
}

// bindsValues reports whether the bracket at i holds placeholders, which are put into a query.
func (s *source) bindsValues(i int) bool {
	for j := i + 1; j < min(s.partner(i), i+maxAhead); j++ {
		content, ok := s.quoted(j)
		if ok && strings.Contains(content, "?") && strings.Trim(content, "?, ") == "" {
			return true
		}
	}
	return false
}

// joinsValue reports whether a literal, or one that is joined to it with +, ends where SQL has a value,
// and a variable follows. Where values are bound by the call, only one in quotes counts.
func (s *source) joinsValue(i int, bound bool) bool {
	for end := i + maxAhead; i < end && s.is(i+1, "+"); {
		content, _ := s.quoted(i)
		if s.at(i+2).kind == word {
			lists := s.oneOf(i+2, "strings") && s.oneOf(i+4, "Join", "Repeat") || boundName().MatchString(s.at(i+2).text)
			escaped := s.escapes(i+2) || s.is(i+3, ".") && s.escapes(i+4)
			if strings.HasSuffix(content, "'") || !bound && !lists && !escaped && sqlValue().MatchString(content) {
				return true
			}
		}
		for i += 2; s.at(i).kind != text; i++ { // over the operand
			if s.oneOf(i, "(", "[") {
				i = s.partner(i)
			}
			if i < 0 || i >= end || s.oneOf(i, ")", "]", "}", ",", ";") || s.at(i).kind == endOfFile {
				return false
			}
		}
	}
	return false
}

// valuesInside reports whether a template that begins at i has a value where SQL has one, and not
// the name of a table or a part that was put together.
func (s *source) valuesInside(i int) bool {
	for ; s.at(i).kind == text; i++ {
		chunk := s.at(i).text
		isValue := strings.HasSuffix(chunk, "${") && sqlValue().MatchString(chunk)
		for !strings.HasPrefix(s.at(i+1).text, "}") && i+1 < len(s.tokens) && strings.HasSuffix(chunk, "${") {
			i++
			isValue = isValue && !s.escapes(i)
		}
		if isValue {
			return true
		}
	}
	return false
}

// escapes reports whether the name at i is of a function that makes a literal of SQL: connection.escape(x),
// pgp.as.text(x).
func (s *source) escapes(i int) bool {
	return s.oneOf(i, "escape", "escapeLiteral", "quote", "quoteLiteral") && s.is(i+1, "(") || s.is(i-1, ".", "as", ".")
}

// inComments returns the comments that match.
func (s *source) inComments(pattern *regexp.Regexp) []hit {
	var hits []hit
	for _, c := range s.comments {
		if at := pattern.FindStringIndex(c.text); at != nil {
			line, _, _ := strings.Cut(c.text[at[0]:], "\n")
			hits = append(hits, hit{at: c.start + at[0], message: "a comment says: " + cut(strings.TrimSpace(strings.TrimSuffix(line,
				"*/")), 100)})
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
	open := i + 1
	if s.is(open+1, "(") && s.partner(open+1) == s.partner(open)-1 { // who means it writes two pairs
		open++
	}
	end := s.partner(open)
	equals := s.find(open+1, max(end, 0), "=")
	meant := s.is(i, "while") || open > i+1
	if equals < 0 || s.chainStart(equals-1) != open+1 || meant && (!s.isLiteral(equals+1) || equals+2 != end) {
		return nil
	}
	if !s.isLiteral(equals+1) && s.chainEnd(equals+1) != end-1 { // who calls something there means it
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
func sharedState(s *source, i int) *hit {
	if !s.is(i, "Promise", ".", "all", "(") {
		return nil
	}
	async := false
	for j := i + 4; j < min(s.partner(i+3), i+maxAhead); j++ {
		async = async || s.is(j, "async")
		if async && s.isName(j) && s.oneOf(j+1, "+=", "-=", "*=") && s.is(j+2, "await") {
			return &hit{at: s.at(j).start}
		}
	}
	return nil
}

// missingAwait: a statement that calls an async function of the file.
func missingAwait(s *source) []hit {
	async := s.asyncFunctions()
	var hits []hit
	for i := range s.tokens {
		name := s.at(i).text
		if !async[name] || !s.is(i+1, "(") || !s.begins(i) || s.oneOf(i-1, "function", "async") {
			continue
		}
		end := s.partner(i + 1)
		if end < 0 || s.oneOf(end+1, ".", "{", ":", "=>", "?.", ")") || !s.oneOf(end+1, ";", "}") && s.sameLine(end, end+1) {
			continue
		}
		if s.inAsync(i) { // elsewhere no await can be put in front of it
			hits = append(hits, hit{at: s.at(i).start, message: "the promise of " + name + " is dropped"})
		}
	}
	return hits
}

// texts returns the texts of the tokens from one index to another.
func (s *source) texts(from, to int) []string {
	var list []string
	for i := from; i <= to; i++ {
		list = append(list, s.at(i).text)
	}
	return list
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
