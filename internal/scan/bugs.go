package scan

import (
	"strings"

	"github.com/toolfold/toolfold/internal/regex"
)

// bugRules look for faults in all languages.
var bugRules = []rule{{
	name: "hard-coded-secret", kind: "security", level: "high", confidence: 0.8, languages: every,
	message: "hard-coded secret", advice: "Read it from the environment or a secret store, and revoke this one.",
	find: where(func(s *source, i int) bool {
		return s.at(i).kind == word && secretName().MatchString(s.at(i).text) && s.oneOf(i+1, "=", ":", ":=") && secretValue(s, i+2)
	}),
}, {
	name: "tls-not-verified", kind: "security", level: "high", confidence: 0.9, languages: every,
	message: "TLS certificate not verified", advice: "Add its authority to the trusted ones instead.",
	find: where(func(s *source, i int) bool {
		return s.is(i, "InsecureSkipVerify", ":", "true") || s.is(i, "InsecureSkipVerify", "=", "true") ||
			s.is(i, "rejectUnauthorized", ":", "false") || s.lang == python && s.is(i, "verify", "=", "False")
	}),
}}

var (
	secretName = regex.Lazy(
		`(?i)(^|[a-z0-9_])(password|passwd|secret|api_?key|auth_?token|access_?token|` +
			`(private|access|secret|signing)_?key)$|^(password|secret|token)$`)
	calledDummy = regex.Lazy(`(?i)\b(mock|dummy|fake|placeholder)\b`)
	placeholder = regex.Lazy(
		`(?i)example|changeme|change_me|your|xxx|dummy|sample|placeholder|test|^\*+$|[<>{}$ %]|://|^[a-z]+([-_.][a-z]+)*[-_.]\d$`)
)

// secretValue reports whether a literal could be a secret: long enough, with digits, no placeholder, and not
// called one on its line.
func secretValue(s *source, i int) bool {
	content, ok := s.quoted(i)
	return ok && len(content) >= 8 && strings.ContainsAny(content, "0123456789") && !placeholder().MatchString(content) &&
		!s.oneOf(i+1, "+", "%") && !calledDummy().MatchString(s.textOfLine(s.line(s.at(i).start)))
}

// textOfLine returns a line, from 1.
func (s *source) textOfLine(line int) string {
	end := len(s.text)
	if line < len(s.lines) {
		end = s.lines[line]
	}
	return s.text[s.lines[line-1]:end]
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

// isLiteral reports whether the token at i is a value by itself.
func (s *source) isLiteral(i int) bool {
	t := s.at(i)
	return t.kind == number || t.kind == text && !strings.HasSuffix(t.text, "${") || s.oneOf(i, "true", "false", "null", "undefined")
}

// texts returns the texts of the tokens from one index to another.
func (s *source) texts(from, to int) []string {
	var list []string
	for i := from; i <= to; i++ {
		list = append(list, s.at(i).text)
	}
	return list
}
