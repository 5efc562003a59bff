// Package lex splits source text of Go, JavaScript, TypeScript and Python into tokens with their
// offsets. It does not check the syntax.
package lex

import (
	"fmt"
	"go/scanner"
	gotoken "go/token"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// Kind is the kind of a token.
type Kind byte

// The kinds.
const (
	Word     Kind = iota // identifiers and keywords
	Number               // number literals
	Text                 // strings, regular expressions, and templates or their parts
	Operator             // operators and punctuation
	Newline              // end of a logical line; Python only
)

// Token is a piece of a source. Text is a substring of the source.
type Token struct {
	Kind  Kind
	Text  string
	Start int
}

// End returns the offset after the token.
func (t Token) End() int { return t.Start + len(t.Text) }

// Source is a text split into tokens.
type Source struct {
	Tokens   []Token // without comments
	Comments []Token
	Fault    string // why the text is invalid in this language; empty if no fault was found
	FaultAt  int    // offset of the fault

	text string
}

// Go splits a Go file. It does not check that the file parses; use go/parser for that.
func Go(text string) *Source {
	s := &Source{text: text}
	s.lexGo()
	return s
}

// JavaScript splits a JavaScript or TypeScript file. It skips text that the lexer cannot read, such
// as an apostrophe in JSX text. After MaxUnread such places it skips the rest, because the lexer
// finds the line of each place by searching from the start.
func JavaScript(text string) *Source {
	s := &Source{text: text}
	s.lexJavaScript(nil)
	return s
}

// JSX splits a JavaScript file that may contain JSX elements; their text is left out. Use it for
// TypeScript only in .tsx files: elsewhere <T> is a type.
func JSX(text string) *Source {
	s, e := &Source{text: text}, &elements{}
	s.lexJavaScript(e)
	if len(e.open) > 0 { // something was mistaken for an element
		return JavaScript(text)
	}
	return s
}

// Python splits a Python file like the standard library's tokenize module, except that expressions
// in f-strings are part of the text.
func Python(text string) *Source {
	s := &Source{text: text}
	s.lexPython()
	return s
}

// fail records why a source cannot be read; the first reason wins.
func (s *Source) fail(at int, format string, args ...any) {
	if s.Fault == "" {
		s.Fault, s.FaultAt = fmt.Sprintf(format, args...), at
	}
}

func (s *Source) add(k Kind, start, end int) {
	s.Tokens = append(s.Tokens, Token{k, s.text[start:end], start})
}

func (s *Source) comment(start, end int) {
	s.Comments = append(s.Comments, Token{Text, s.text[start:end], start})
}

func (s *Source) lexGo() {
	var lexer scanner.Scanner
	file := gotoken.NewFileSet().AddFile("", -1, len(s.text))
	lexer.Init(file, []byte(s.text), func(at gotoken.Position, message string) { s.fail(at.Offset, "%s", message) }, scanner.ScanComments)
	for {
		at, tok, literal := lexer.Scan()
		start := file.Offset(at)
		switch {
		case tok == gotoken.EOF:
			return
		case tok == gotoken.COMMENT:
			s.comment(start, min(start+len(literal), len(s.text)))
		case tok == gotoken.SEMICOLON && literal != ";": // inserted by the scanner at the end of a line
		case tok == gotoken.IDENT || tok.IsKeyword():
			s.add(Word, start, start+len(literal))
		case tok == gotoken.STRING || tok == gotoken.CHAR:
			s.add(Text, start, min(s.rawEnd(start, literal), len(s.text)))
		case tok.IsLiteral():
			s.add(Number, start, start+len(literal))
		case tok == gotoken.ILLEGAL:
			s.fail(start, "%q is not Go", literal)
		default:
			s.add(Operator, start, start+len(tok.String()))
		}
	}
}

// rawEnd returns the end of a literal. The literal's own length is too short for raw strings,
// because the scanner removes carriage returns from them.
func (s *Source) rawEnd(start int, literal string) int {
	if literal[0] != '`' {
		return start + len(literal)
	}
	if end := strings.IndexByte(s.text[start+1:], '`'); end >= 0 {
		return start + end + 2
	}
	return len(s.text)
}

// MaxUnread bounds the places of a file that the JavaScript lexer skips.
const MaxUnread = 200

// lexJavaScript splits the source. It recognizes JSX elements if jsx is not nil.
func (s *Source) lexJavaScript(jsx *elements) {
	input := parse.NewInputString(s.text)
	lexer := js.NewLexer(input)
	start, unread := 0, 0
	move := func(to int) {
		input.Move(to - input.Offset())
		input.Skip()
	}
	for {
		if text := jsx.text(s.text[start:]); text > 0 {
			start += text
			move(start)
		}
		kind, _ := lexer.Next()
		if (kind == js.DivToken || kind == js.DivEqToken) && jsx.in() != inTag && s.regexpMayFollow() {
			kind, _ = lexer.RegExp()
		}
		end := min(input.Offset(), len(s.text))
		// >= and >> are not operators in a tag
		if in := jsx.in(); (in == inTag || in == inEndTag) && s.text[start] == '>' && end > start+1 {
			kind, end = js.GtToken, start+1
			move(end)
		}
		if js.IsPunctuator(kind) || js.IsOperator(kind) {
			jsx.take(s, start, end)
		}
		switch {
		case kind == js.ErrorToken && (lexer.Err() == nil || end >= len(s.text) || end <= start && input.Err() != nil):
			return
		case kind == js.ErrorToken:
			if unread++; unread > MaxUnread {
				s.fail(start, "too much of it is no JavaScript")
				return
			}
			if end <= start { // nothing was consumed
				input.Move(1)
				input.Skip()
				end = start + 1
			}
		case kind == js.WhitespaceToken || kind == js.LineTerminatorToken:
		case kind == js.CommentToken || kind == js.CommentLineTerminatorToken:
			s.comment(start, end)
		case kind == js.StringToken || kind == js.RegExpToken || kind >= js.TemplateToken && kind <= js.TemplateEndToken:
			s.add(Text, start, end)
		case js.IsNumeric(kind):
			s.add(Number, start, end)
		case js.IsPunctuator(kind) || js.IsOperator(kind):
			s.add(Operator, start, end)
		default:
			s.add(Word, start, end)
		}
		start = end
	}
}

// elements holds the open JSX elements at a position of a source. A nil pointer means no JSX.
type elements struct{ open []part }

// part is a part of an element.
type part struct {
	kind  partKind
	depth int // of braces, in inCode
}

type partKind byte

const (
	outside  partKind = iota
	inTag             // <a b="c">
	inEndTag          // </a>
	inText            // between the tags
	inCode            // in braces
)

// in returns the kind of the innermost part.
func (e *elements) in() partKind {
	if e == nil || len(e.open) == 0 {
		return outside
	}
	return e.open[len(e.open)-1].kind
}

func (e *elements) push(kind partKind) { e.open = append(e.open, part{kind, 1}) }
func (e *elements) pop()               { e.open = e.open[:max(0, len(e.open)-1)] }

// text returns the length of the element text at the beginning of source.
func (e *elements) text(source string) int {
	if e.in() != inText {
		return 0
	}
	if end := strings.IndexAny(source, "<{"); end >= 0 {
		return end
	}
	return len(source)
}

// generic matches the type parameters of a function, which look like an element.
var generic = regex.Lazy(`^<\s*[\w$]+\s*(,|extends\b)`)

// take handles an operator of a source, which may open or close a part.
func (e *elements) take(s *Source, start, end int) {
	if e == nil {
		return
	}
	at := e.in()
	switch next := s.text[end:]; s.text[start:end] {
	case "<":
		switch {
		case at == inText && strings.HasPrefix(next, "/"):
			e.push(inEndTag)
		case at == inText:
			e.push(inTag)
		case at != inTag && at != inEndTag && next != "" && (next[0] == '>' || next[0] != ' ' && IsWord(rune(next[0]))) &&
			s.regexpMayFollow() && !generic().MatchString(s.text[start:]):
			e.push(inTag)
		}
	case ">":
		switch {
		case at == inEndTag:
			e.pop()
			e.pop() // the element's text
		case at == inTag && s.Tokens[len(s.Tokens)-1].Text == "/":
			e.pop()
		case at == inTag:
			e.pop()
			e.push(inText)
		}
	case "{":
		switch at {
		case inTag, inText:
			e.push(inCode)
		case inCode:
			e.open[len(e.open)-1].depth++
		}
	case "}":
		if at != inCode {
			break
		}
		if e.open[len(e.open)-1].depth--; e.open[len(e.open)-1].depth == 0 {
			e.pop()
		}
	}
}

// regexpMayFollow reports whether a slash after the current tokens begins a regular expression,
// which is the case unless they end with a value.
func (s *Source) regexpMayFollow() bool {
	if len(s.Tokens) == 0 {
		return true
	}
	switch last := s.Tokens[len(s.Tokens)-1]; last.Kind {
	case Word:
		return slices.Contains([]string{"return", "typeof", "case", "in", "of", "do", "else", "void", "delete", "throw", "new", "await", "yield",
			"instanceof"}, last.Text)
	case Operator:
		if last.Text == "<" || last.Text == ">" { // </div> of JSX, or a comparison with a regular expression
			return false
		}
		return (last.Text != ")" || s.closesCondition()) && last.Text != "]" && last.Text != "}" && last.Text != "++" && last.Text != "--"
	case Text:
		return strings.HasSuffix(last.Text, "${")
	}
	return false
}

// maxCondition bounds how many tokens closesCondition looks at.
const maxCondition = 500

// closesCondition reports whether the last token closes the condition of an if, while, for or with.
func (s *Source) closesCondition() bool {
	depth := 0
	for i := len(s.Tokens) - 1; i > 0 && i > len(s.Tokens)-maxCondition; i-- {
		switch {
		case s.Tokens[i].Kind != Operator:
		case s.Tokens[i].Text == ")":
			depth++
		case s.Tokens[i].Text == "(":
			if depth--; depth == 0 {
				before := s.Tokens[i-1]
				return before.Kind == Word && slices.Contains([]string{"if", "while", "for", "with"}, before.Text)
			}
		}
	}
	return false
}

// pythonOperators are the operators of several characters, longer ones first.
var pythonOperators = strings.Fields("**= //= >>= <<= ... ** // >> << <= >= == != -> += -= *= /= %= &= |= ^= @= :=")

// byteOrderMark is the prefix that some editors write; it is not part of the text.
const byteOrderMark = "\ufeff"

func (s *Source) lexPython() {
	depth, continued := 0, false
	i := 0
	if strings.HasPrefix(s.text, byteOrderMark) {
		i = len(byteOrderMark)
	}
	for i < len(s.text) {
		c := s.text[i]
		switch {
		case c == '\n':
			if depth == 0 && !continued && len(s.Tokens) > 0 && s.Tokens[len(s.Tokens)-1].Kind != Newline {
				s.add(Newline, i, i+1)
			}
			continued = false
			i++
		case c == '\\' && (strings.HasPrefix(s.text[i+1:], "\n") || strings.HasPrefix(s.text[i+1:], "\r\n")):
			continued = true
			i++
		case c == ' ' || c == '\t' || c == '\r' || c == '\f':
			i++
		case c == '#':
			end := endOf(s.text, i, func(r rune) bool { return r == '\n' })
			s.comment(i, end)
			i = end
		case c == '"' || c == '\'':
			i = s.pythonString(i, i)
		case IsWord(rune(c)) && (c < '0' || c > '9') || c >= utf8.RuneSelf:
			end := endOf(s.text, i, func(r rune) bool { return !IsWord(r) })
			if end == i { // a character that cannot begin a word
				_, size := utf8.DecodeRuneInString(s.text[i:])
				s.fail(i, "%q is not Python", s.text[i:i+size])
				i += size
				continue
			}
			if end < len(s.text) && (s.text[end] == '"' || s.text[end] == '\'') && end-i <= 2 &&
				strings.Trim(strings.ToLower(s.text[i:end]), "rbfut") == "" {
				i = s.pythonString(i, end)
				continue
			}
			s.add(Word, i, end)
			i = end
		case c >= '0' && c <= '9' || c == '.' && i+1 < len(s.text) && s.text[i+1] >= '0' && s.text[i+1] <= '9':
			end := i + 1
			for end < len(s.text) && (IsWord(rune(s.text[end])) || s.text[end] == '.' ||
				(s.text[end] == '-' || s.text[end] == '+') && (s.text[end-1] == 'e' || s.text[end-1] == 'E') && !strings.HasPrefix(s.text[i:], "0x")) {
				end++
			}
			s.add(Number, i, end)
			i = end
		default:
			end := i + 1
			for _, op := range pythonOperators {
				if strings.HasPrefix(s.text[i:], op) {
					end = i + len(op)
					break
				}
			}
			if strings.Contains("([{", s.text[i:end]) {
				depth++
			} else if strings.Contains(")]}", s.text[i:end]) {
				depth = max(depth-1, 0)
			} else if strings.Contains("$?!`", s.text[i:end]) {
				s.fail(i, "%s is not Python", s.text[i:end])
			}
			s.add(Operator, i, end)
			i = end
		}
	}
	s.add(Newline, len(s.text), len(s.text))
}

// endOf returns the offset of the first character from i on for which over is true, or the length
// of the text.
func endOf(text string, i int, over func(rune) bool) int {
	if n := strings.IndexFunc(text[i:], over); n >= 0 {
		return i + n
	}
	return len(text)
}

// pythonString adds a string and returns its end. Its prefix begins at start, its quotes at quote.
func (s *Source) pythonString(start, quote int) (end int) {
	mark := s.text[quote : quote+1]
	if strings.HasPrefix(s.text[quote:], strings.Repeat(mark, 3)) {
		mark = s.text[quote : quote+3]
	}
	for end = quote + len(mark); end < len(s.text); end++ {
		switch {
		case s.text[end] == '\\':
			end++
		case s.text[end] == '\n' && len(mark) == 1:
			s.fail(start, "the string is not closed")
			s.add(Text, start, end)
			return end
		case strings.HasPrefix(s.text[end:], mark):
			end += len(mark)
			s.add(Text, start, end)
			return end
		}
	}
	s.fail(start, "the string is not closed")
	s.add(Text, start, len(s.text))
	return len(s.text)
}

// IsWord reports whether a character may be part of an identifier.
func IsWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}
