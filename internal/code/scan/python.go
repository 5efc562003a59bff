package scan

import (
	"iter"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// statement returns the index of the first token of the logical line around i, and the index at
// which its suite begins: after the final colon, or after the last token.
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

// definition returns the index of the first token of the def around i, or -1.
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

// headerOf returns the index of the first token of the compound statement around a statement, or -1
// at the top level.
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

// statementStart returns the index of the first token of the statement around i.
func (s *source) statementStart(i int) int {
	start, _ := s.statement(i)
	return start
}

// isForPython2 reports whether a file, or its project, also supports Python 2: it imports features
// from __future__ that every Python 3 has.
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

// python2Projects matches declarations of a project that it supports Python 2.
var python2Projects = regex.Lazy(
	`(?m)Programming Language :: Python :: 2\b|(python_requires|requires-python|^python)\s*=\s*['"]?[^'"\n]*[>=~^]\s*2\b`)

// projects caches which folders belong to projects that support Python 2.
type projects struct {
	root    *os.Root
	mu      sync.Mutex
	python2 map[string]bool // by folder
}

// isForPython2 reports whether the project of a folder declares support of Python 2, in the nearest
// project file at or above the folder.
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
