package scan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// span is the line range of a function, from 1, both ends included.
type span struct{ First, Last int }

// maxSpans bounds the functions of a file that are returned.
const maxSpans = 5000

// spans returns the functions of a source, outer ones first.
func (s *source) spans() []span {
	var list []span
	for i := range s.tokens {
		if len(list) == maxSpans {
			break
		}
		if s.lang == python {
			if s.is(i, "def") && s.begins(s.statementStart(i)) {
				list = append(list, span{s.line(s.at(i).start), s.blockEnd(s.line(s.at(i).start))})
			}
		} else if start, ok := s.functionAt(i); ok && s.partner(i) > i {
			list = append(list, span{s.line(s.at(start).start), s.line(s.at(s.partner(i)).start)})
		}
	}
	return list
}

// together merges equal findings of a rule in one function into the first, which keeps its id and
// gets the lines of the others. It also gets their fixes, except those that overlap an earlier one.
func together(findings []Finding, spans []span) []Finding {
	type group struct {
		rule, message, level string
		fixable              bool
		in                   span
	}
	at := map[group]int{}
	var list []Finding
	for _, f := range findings {
		in := span{}
		for _, s := range spans {
			if s.First <= f.Line && f.Line <= s.Last && (in == span{} || s.Last-s.First <= in.Last-in.First) {
				in = s
			}
		}
		key := group{f.Rule, f.Message, f.Level, f.Fixable(), in}
		i, again := at[key]
		if !again || in == (span{}) {
			at[key] = len(list)
			list = append(list, f)
			continue
		}
		list[i].Again = append(list[i].Again, f.Line)
		if !overlap(list[i].Edits, f.Edits) {
			list[i].Edits = slices.Concat(list[i].Edits, f.Edits)
		}
	}
	return list
}

// maxAgain bounds the further lines that a message lists.
const maxAgain = 10

// FullMessage returns the message of a finding, with its further lines in the function.
func (f Finding) FullMessage() string {
	if len(f.Again) == 0 {
		return f.Message
	}
	var lines []string
	for _, line := range f.Again[:min(len(f.Again), maxAgain)] {
		lines = append(lines, strconv.Itoa(line))
	}
	word, more := "line ", ""
	if len(f.Again) > 1 {
		word = "lines "
	}
	if len(f.Again) > maxAgain {
		more = " …"
	}
	in := "function"
	if !Knows(f.File) {
		in = "file"
	}
	return fmt.Sprintf("%s (and %d more in this %s, %s%s%s)", f.Message, len(f.Again), in, word, strings.Join(lines, ", "), more)
}
