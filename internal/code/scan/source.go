package scan

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolfold/toolfold/internal/code/lex"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// language is the programming language of a file.
type language string

const (
	golang     language = "go"
	javascript language = "javascript"
	typescript language = "typescript"
	python     language = "python"
)

// languages maps file endings to languages.
var languages = map[string]language{
	".go": golang,
	".js": javascript, ".jsx": javascript, ".mjs": javascript, ".cjs": javascript,
	".ts": typescript, ".tsx": typescript, ".mts": typescript, ".cts": typescript,
	".py": python, ".pyi": python,
}

// Languages lists the languages that a scan supports.
const Languages = "Go, JavaScript, TypeScript, Python"

// Knows reports whether a scan supports the language of a file, judged by its name.
func Knows(name string) bool {
	_, known := languageOf(name)
	return known
}

func languageOf(name string) (l language, known bool) {
	l, known = languages[strings.ToLower(path.Ext(name))]
	return l, known
}

// isTest reports whether a file holds tests.
func isTest(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, "_test.go") || strings.Contains(base, ".test.") || strings.Contains(base, ".spec.") ||
		strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.py") || strings.Contains(base, ".test-d.") ||
		testFolders().MatchString(name)
}

// testFolders matches paths below a folder of tests.
var testFolders = regex.Lazy(`(^|/)(__tests__|tests?|unittests|testing)/`)

// isApart reports whether a file is a test, an example or a script for developers. There leaks and
// secrets hardly matter, because the code ends soon and sends nothing secret. Logic errors matter:
// they may make a test pass without reason.
func isApart(name string) bool { return isTest(name) || isTestData(name) || apart().MatchString(name) }

// apart matches paths of demonstrations, benchmarks, documentation and tooling.
var apart = regex.Lazy(`(^|/)(_?examples?|demos?|samples?|benchmarks?|e2e|docs?|hack|_?archived?)/`)

// isTestData reports whether a file is test data: its faults are intended.
func isTestData(name string) bool {
	inTests := false
	for folder := range strings.SplitSeq(path.Dir(name), "/") {
		if slices.Contains(dataFolders, folder) || inTests && slices.Contains(dataInTests, folder) {
			return true
		}
		inTests = inTests || slices.Contains([]string{"test", "tests", "testing", "__tests__", "spec", "specs"}, folder)
	}
	return false
}

// Folders of test data, anywhere or only below a folder of tests.
var (
	dataFolders = []string{"testdata", "test_data", "test-data", "testsuite", "fixture", "fixtures", "__fixtures__", "__snapshots__"}
	dataInTests = []string{"data", "cases", "samples", "input", "inputs", "output", "outputs", "expected", "resources", "corpus"}
)

// kind is the kind of a token.
type kind = lex.Kind

const (
	word      = lex.Word
	number    = lex.Number
	text      = lex.Text
	operator  = lex.Operator
	newline   = lex.Newline
	endOfFile = lex.Newline + 1 // after the last token
)

// token is a piece of a source. Text is a substring of the source.
type token struct {
	kind  kind
	text  string
	start int
}

func (t token) end() int { return t.start + len(t.text) }

// source is a file that fast rules check.
type source struct {
	name     string
	lang     language
	text     string
	tokens   []token // without comments
	comments []token
	pairs    []int                  // for each bracket the index of its partner; -1 for other tokens and unmatched brackets
	parents  []int                  // for each token the index of the bracket around it, or -1
	places   map[string][]int       // indexes of words that do not follow a dot
	words    map[string]bool        // texts of tokens, without strings; filled by has
	modules  map[string]bool        // strings, as module names; filled by mentions
	inputs   map[int]inputVariables // variables with input, by the index of their function's start; filled by inputsAround
	fault    string                 // why the text does not parse; empty = no fault was found
	lines    []int                  // offsets of line starts
	python2  bool                   // the project supports Python 2
	modern   bool                   // the script uses syntax of ECMAScript 2015 or later
}

// newSource tokenizes a text.
func newSource(name, content string) *source {
	s := &source{name: name, text: content}
	s.lang, _ = languageOf(name)
	s.lines = lineStarts(content)
	s.split()
	s.pair()
	s.places = map[string][]int{}
	s.modern = s.lang == typescript
	for i, t := range s.tokens {
		if t.kind == word && !s.oneOf(i-1, ".", "?.") {
			s.places[t.text] = append(s.places[t.text], i)
		}
		s.modern = s.modern || s.oneOf(i, "=>", "const", "class", "import", "export") || t.kind == text && t.text[0] == '`'
	}
	return s
}

// minified is the reason for skipping a file with very long lines.
const minified = "it is minified: its lines are longer than 500 characters"

// unusable returns why a text is not scanned, or "".
func unusable(content string) string {
	switch {
	case !utf8.ValidString(content) || strings.ContainsRune(content, 0):
		return "it is not text in UTF-8"
	case len(content) > 20_000 && len(content) > 500*(1+strings.Count(content, "\n")):
		return minified
	}
	return ""
}

// pair finds the partners of brackets, and records the first unmatched one.
func (s *source) pair() {
	s.pairs, s.parents = make([]int, len(s.tokens)), make([]int, len(s.tokens))
	var open []int
	for i, t := range s.tokens {
		s.pairs[i], s.parents[i] = -1, -1
		if len(open) > 0 {
			s.parents[i] = open[len(open)-1]
		}
		if t.kind != operator || len(t.text) != 1 {
			continue
		}
		if strings.Contains("([{", t.text) {
			open = append(open, i)
			continue
		}
		which := strings.IndexByte(")]}", t.text[0])
		if which < 0 {
			continue
		}
		if len(open) == 0 || s.tokens[open[len(open)-1]].text[0] != "([{"[which] {
			s.fail(t.start, "%s does not close anything", t.text)
			continue
		}
		partner := open[len(open)-1]
		open = open[:len(open)-1]
		s.pairs[i], s.pairs[partner], s.parents[i] = partner, i, s.parents[partner]
	}
	if len(open) > 0 {
		t := s.tokens[open[len(open)-1]]
		s.fail(t.start, "%s is not closed", t.text)
	}
}

// split tokenizes the text.
func (s *source) split() {
	var read *lex.Source
	switch s.lang {
	case golang:
		read = lex.Go(s.text)
	case python:
		read = lex.Python(s.text)
	default:
		read = lex.JSX(s.text)
		if slices.Contains([]string{".ts", ".mts", ".cts"}, path.Ext(s.name)) {
			read = lex.JavaScript(s.text)
		}
	}
	for _, t := range read.Tokens {
		s.tokens = append(s.tokens, token{t.Kind, t.Text, t.Start})
	}
	for _, t := range read.Comments {
		s.comments = append(s.comments, token{t.Kind, t.Text, t.Start})
	}
	if read.Fault != "" {
		s.fail(read.FaultAt, "%s", read.Fault)
	}
}

// fail records why a source does not parse; the first reason wins.
func (s *source) fail(at int, format string, args ...any) {
	if s.fault == "" {
		s.fault = fmt.Sprintf("line %d: "+format, append([]any{s.line(at)}, args...)...)
	}
}

// line returns the line of an offset, from 1.
func (s *source) line(at int) int { return lineAt(s.lines, at) }

// at returns the token at an index, or an empty token of kind endOfFile outside of the source.
func (s *source) at(i int) token {
	if i < 0 || i >= len(s.tokens) {
		return token{kind: endOfFile, start: len(s.text)}
	}
	return s.tokens[i]
}

// is reports whether the tokens from i on have these texts and are not strings.
func (s *source) is(i int, texts ...string) bool {
	for j, want := range texts {
		if t := s.at(i + j); t.text != want || t.kind == text {
			return false
		}
	}
	return true
}

// oneOf reports whether the token at i is one of these words or operators.
func (s *source) oneOf(i int, texts ...string) bool {
	t := s.at(i)
	return t.kind != text && t.kind != endOfFile && slices.Contains(texts, t.text)
}

// isName reports whether the token at i is a word that can name something.
func (s *source) isName(i int) bool {
	t := s.at(i)
	return t.kind == word && !slices.Contains(reserved, t.text)
}

// reserved are words that cannot be names in any of the languages.
var reserved = strings.Fields(`and as assert async await break case catch class const continue def default del delete do elif else except
	export extends False false finally for from func function global if import in instanceof is lambda let new None nonlocal not null or pass
	raise return switch this throw True true try typeof undefined var void while with yield`)

// partner returns the index of the bracket that matches the one at i, or -1.
func (s *source) partner(i int) int {
	if i < 0 || i >= len(s.pairs) {
		return -1
	}
	return s.pairs[i]
}

// has reports whether the source has a token with this text, not counting strings.
func (s *source) has(word string) bool {
	if s.words == nil {
		s.words = map[string]bool{}
		for _, t := range s.tokens {
			if t.kind != text {
				s.words[t.text] = true
			}
		}
	}
	return s.words[word]
}

// maxAhead bounds how many tokens a search looks at.
const maxAhead = 5000

// find returns the index of the first of these tokens in [from, to), skipping nested brackets, or
// -1. It looks at no more than maxAhead tokens.
func (s *source) find(from, to int, texts ...string) int {
	for i := from; i < min(to, from+maxAhead); i++ {
		if s.oneOf(i, texts...) {
			return i
		}
		if p := s.partner(i); p > i {
			i = p
		}
	}
	return -1
}

// maxAround bounds how many brackets around a token are visited.
const maxAround = 100

// around yields the brackets around a token, innermost first.
func (s *source) around(i int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for range maxAround {
			if i < 0 || i >= len(s.parents) || s.parents[i] < 0 {
				return
			}
			if i = s.parents[i]; !yield(i) {
				return
			}
		}
	}
}

// replace returns the edit that replaces the tokens from one index to another, both included.
func (s *source) replace(from, to int, with string) Edit {
	return Edit{s.at(from).start, s.at(to).end(), with}
}

// between returns the text of the tokens from one index to another, both included.
func (s *source) between(from, to int) string {
	return s.text[s.at(from).start:s.at(to).end()]
}

// sameLine reports whether two tokens begin on one line.
func (s *source) sameLine(i, j int) bool { return s.line(s.at(i).start) == s.line(s.at(j).start) }

// begins reports whether a statement can begin at i.
func (s *source) begins(i int) bool {
	previous := s.at(i - 1)
	if i == 0 || previous.kind == newline || previous.kind == operator && strings.Contains(";{}", previous.text) {
		return true
	}
	if strings.HasSuffix(previous.text, "${") { // a value in a template
		return false
	}
	return !s.sameLine(i-1, i) && (previous.kind != operator || strings.Contains(")]", previous.text)) && s.at(i).kind == word &&
		!s.oneOf(i, "in", "instanceof", "as", "of")
}

// mentions reports whether the source has a string with this module name, with or without node: in
// front.
func (s *source) mentions(module string) bool {
	if s.modules == nil {
		s.modules = map[string]bool{}
		for _, t := range s.tokens {
			if t.kind == text {
				s.modules[strings.TrimPrefix(strings.Trim(t.text, "\"'`"), "node:")] = true
			}
		}
	}
	return s.modules[module]
}

// findWord returns the index of the first of these words in [from, to), or -1. It looks at no more
// than maxAhead tokens.
func (s *source) findWord(from, to int, words ...string) int {
	for i := from; i < min(to, from+maxAhead); i++ {
		if s.at(i).kind == word && s.oneOf(i, words...) {
			return i
		}
	}
	return -1
}
