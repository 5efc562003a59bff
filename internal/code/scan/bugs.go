package scan

import (
	"context"
	"iter"
	"strings"
	"unicode"

	"github.com/toolfold/toolfold/internal/code/secrets"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// bugRules find faults in all languages.
var bugRules = []rule{{
	name: "hard-coded-secret", kind: "security", level: "high", confidence: 0.8, languages: every,
	message: "hard-coded secret", advice: "Read it from the environment or a secret store, and revoke this one.",
	find: each(func(s *source, i int) *hit {
		if s.at(i).kind != word || !secretName().MatchString(s.at(i).text) || !s.oneOf(i+1, "=", ":", ":=") || !secretValue(s, i+2) {
			return nil
		}
		if content, _ := s.unquote(i + 2); !isRandom(content) {
			return &hit{level: "low"} // a password of a test database, or a name
		}
		return &hit{}
	}),
}, {
	name: "tls-not-verified", kind: "security", level: "high", confidence: 0.9, languages: every,
	message: "TLS certificate not verified", advice: "Add its authority to the trusted ones instead.",
	find: each(func(s *source, i int) *hit {
		if !(s.is(i, "InsecureSkipVerify", ":", "true") || s.is(i, "InsecureSkipVerify", "=", "true") ||
			s.is(i, "rejectUnauthorized", ":", "false") || s.lang == python && s.is(i, "verify", "=", "False")) {
			return nil
		}
		if literal := s.parents[i]; s.lang == golang && s.is(literal, "{") && s.at(literal-1).kind == word && !s.is(literal-1, "Config") {
			return nil // of another type, for example a user's setting or an origin check
		}
		if s.isMeant(i) || s.lang == python && !s.isRequest(i) {
			return &hit{level: "low"}
		}
		return &hit{}
	}),
}}

// pythonRequest matches functions and classes of Python's HTTP clients that have the parameter
// verify.
var pythonRequest = regex.Lazy(`^(get|post|put|patch|delete|head|options|request|send|stream|(Async)?Client|session|Session|requests)$`)

// isRequest reports whether a Python argument belongs to a call that could make a request, or an
// attribute to a session. Other functions have a parameter verify, too.
func (s *source) isRequest(i int) bool {
	if open := s.parents[i]; open > 0 {
		return pythonRequest().MatchString(s.at(open-1).text) && !s.is(open-2, "def")
	}
	return s.is(i-1, ".") && pythonRequest().MatchString(s.at(i-2).text)
}

var (
	secretName = regex.Lazy(
		`(?i)(^|[a-z0-9_])(password|passwd|secret|api_?key|auth_?token|access_?token|` +
			`(private|access|secret|signing)_?key)$|^(password|secret|token)$`)
	calledDummy = regex.Lazy(`(?i)\b(mock|dummy|fake|placeholder)\b`)
	placeholder = regex.Lazy(
		`(?i)example|changeme|change_me|your|xxx|dummy|sample|placeholder|test|^\*+$|[<>{}$ %]|://|^[a-z]+([-_.][a-z]+)*[-_.]\d$`)
)

// secretValue reports whether a literal could be a secret: it is long enough, has digits, is not a
// placeholder, and its line does not call it a dummy.
func secretValue(s *source, i int) bool {
	content, ok := s.unquote(i)
	return ok && len(content) >= 8 && strings.ContainsAny(content, "0123456789") && !placeholder().MatchString(content) &&
		!s.oneOf(i+1, "+", "%") && !calledDummy().MatchString(s.textOfLine(s.line(s.at(i).start)))
}

// isRandom reports whether a text looks like a generated key: a known kind of key, or capitals,
// small letters and digits in random order. Hexadecimal numbers do not count: they may be hashes or
// addresses.
func isRandom(text string) bool {
	if known, _ := secrets.Find(context.Background(), "", text); len(known) > 0 {
		return true // without a deadline there is no error
	}
	small, capitals, digits, changes, last := 0, 0, 0, 0, 0
	for _, r := range text {
		class := 0
		switch {
		case unicode.IsLower(r):
			small++
			class = 1
		case unicode.IsUpper(r):
			capitals++
			class = 2
		case unicode.IsDigit(r):
			digits++
			class = 3
		}
		if class != last {
			changes++
		}
		last = class
	}
	return len(text) >= 16 && small > 0 && capitals > 0 && digits > 0 && changes*3 >= len(text)
}

// intentional matches comments by which authors state intention, and code that verifies
// certificates another way.
var intentional = regex.Lazy(`(?i)\b(nosec|nolint|noqa)\b|self.?signed|on purpose|intention|` +
	`VerifyPeerCertificate|VerifyConnection|checkServerIdentity`)

// isMeant reports whether the statement around a token is intentional: a condition controls it, a
// line near it matches thought, or the function's name shows it.
func (s *source) isMeant(i int) bool {
	line := s.line(s.at(i).start)
	for n := max(1, line-2); n <= min(line+3, len(s.lines)); n++ {
		if intentional().MatchString(s.textOfLine(n)) {
			return true
		}
	}
	for header := range s.headers(i) {
		if optional().MatchString(header) {
			return true
		}
	}
	return false
}

// optional matches the first line of a conditional block, and of a function or class whose name
// shows that it skips a check.
var optional = regex.Lazy(`\b(if|else|elif|switch|case)\b|\?\s*\{|` +
	`\b(func|function|def|class)\b.*((?i:insecure|unsafe|skip|without|no_?verify|mock)|\btest|_test|Test)`)

// headers yields the first lines of the blocks and functions around a token, innermost first.
func (s *source) headers(i int) iter.Seq[string] {
	return func(yield func(string) bool) {
		if s.lang == python {
			for h := s.headerOf(s.statementStart(i)); h >= 0; h = s.headerOf(h) {
				if !yield(s.textOfLine(s.line(s.at(h).start))) {
					return
				}
			}
			return
		}
		for open := range s.around(i) {
			if s.is(open, "{") && !yield(s.textOfLine(s.line(s.at(open).start))) {
				return
			}
		}
	}
}

// textOfLine returns the text of a line, counted from 1.
func (s *source) textOfLine(line int) string {
	end := len(s.text)
	if line < len(s.lines) {
		end = s.lines[line]
	}
	return s.text[s.lines[line-1]:end]
}

// removeLine returns an edit that removes a statement, and its line if nothing else is on it.
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

// isLiteral reports whether the token at i is a complete literal.
func (s *source) isLiteral(i int) bool {
	t := s.at(i)
	return t.kind == number || t.kind == text && !strings.HasSuffix(t.text, "${") || s.oneOf(i, "true", "false", "null", "undefined")
}

// texts returns the texts of the tokens from one index to another, both included.
func (s *source) texts(from, to int) []string {
	var list []string
	for i := from; i <= to; i++ {
		list = append(list, s.at(i).text)
	}
	return list
}
