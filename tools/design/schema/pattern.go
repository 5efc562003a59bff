package schema

import (
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
)

const (
	maxRepeats = 255  // of PostgreSQL's expressions
	maxPattern = 2000 // bytes; classes of whole scripts are longer
)

// Word boundaries as RE2 has them, for which only ASCII characters are parts of words. PostgreSQL's \y depends on the locale.
const (
	boundary   = `(?:(?<![0-9A-Za-z_])(?=[0-9A-Za-z_])|(?<=[0-9A-Za-z_])(?![0-9A-Za-z_]))`
	noBoundary = `(?:(?<=[0-9A-Za-z_])(?=[0-9A-Za-z_])|(?<![0-9A-Za-z_])(?![0-9A-Za-z_]))`
)

// postgresPattern translates a regular expression of RE2 to PostgreSQL. ok is false if PostgreSQL cannot express it.
func postgresPattern(pattern string) (expression string, ok bool) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	// This prefix selects advanced regular expressions, independently of settings.
	b.WriteString("***:")
	ok = writePattern(&b, parsed)
	return b.String(), ok && b.Len() <= maxPattern
}

// writePattern writes an expression. It reports false if PostgreSQL has no such expression.
func writePattern(b *strings.Builder, e *syntax.Regexp) bool {
	switch e.Op {
	case syntax.OpEmptyMatch:
		b.WriteString("(?:)")
	case syntax.OpLiteral:
		for _, r := range e.Rune {
			if e.Flags&syntax.FoldCase == 0 {
				writeRune(b, r)
				continue
			}
			b.WriteByte('[') // Parse makes [Aa] a literal
			for form, first := r, true; first || form != r; form, first = unicode.SimpleFold(form), false {
				writeRune(b, form)
			}
			b.WriteByte(']')
		}
	case syntax.OpCharClass:
		return writeClass(b, e.Rune)
	case syntax.OpAnyCharNotNL:
		b.WriteString(`[^\u000A]`)
	case syntax.OpAnyChar:
		b.WriteByte('.')
	case syntax.OpBeginText:
		b.WriteString(`\A`)
	case syntax.OpEndText:
		b.WriteString(`\Z`)
	case syntax.OpWordBoundary:
		b.WriteString(boundary)
	case syntax.OpNoWordBoundary:
		b.WriteString(noBoundary)
	case syntax.OpCapture:
		return group(b, e.Sub[0])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		return writeRepeat(b, e)
	case syntax.OpConcat:
		for _, part := range e.Sub {
			if part.Op == syntax.OpAlternate && !group(b, part) || part.Op != syntax.OpAlternate && !writePattern(b, part) {
				return false
			}
		}
	case syntax.OpAlternate:
		for i, part := range e.Sub {
			if i > 0 {
				b.WriteByte('|')
			}
			if !writePattern(b, part) {
				return false
			}
		}
	default:
		return false
	}
	return true
}

// writeClass writes a class of characters, given as pairs of first and last characters. A class that
// includes both the first and the last character of Unicode is written as the complement of its gaps.
func writeClass(b *strings.Builder, ranges []rune) bool {
	b.WriteByte('[')
	if n := len(ranges); n > 2 && ranges[0] == 0 && ranges[n-1] == unicode.MaxRune {
		b.WriteByte('^')
		var gaps []rune
		for i := 1; i < n-1; i += 2 {
			gaps = append(gaps, ranges[i]+1, ranges[i+1]-1)
		}
		ranges = gaps
	}
	for i := 0; i < len(ranges); i += 2 {
		writeRune(b, ranges[i])
		if ranges[i+1] > ranges[i] {
			b.WriteByte('-')
			writeRune(b, ranges[i+1])
		}
	}
	b.WriteByte(']')
	return len(ranges) > 0
}

// writeRepeat writes a repetition. A check only asks whether a text matches, so greediness does not matter.
func writeRepeat(b *strings.Builder, e *syntax.Regexp) bool {
	if !group(b, e.Sub[0]) {
		return false
	}
	switch {
	case e.Op == syntax.OpStar:
		b.WriteByte('*')
	case e.Op == syntax.OpPlus:
		b.WriteByte('+')
	case e.Op == syntax.OpQuest:
		b.WriteByte('?')
	case e.Min > maxRepeats || e.Max > maxRepeats:
		return false
	case e.Max < 0:
		b.WriteString("{" + strconv.Itoa(e.Min) + ",}")
	default:
		b.WriteString("{" + strconv.Itoa(e.Min) + "," + strconv.Itoa(e.Max) + "}")
	}
	return true
}

func group(b *strings.Builder, e *syntax.Regexp) bool {
	b.WriteString("(?:")
	ok := writePattern(b, e)
	b.WriteByte(')')
	return ok
}

// writeRune writes a literal character, inside or outside a class.
func writeRune(b *strings.Builder, r rune) {
	switch {
	case r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z':
		b.WriteRune(r)
	case r > 0xffff:
		fmt.Fprintf(b, `\U%08X`, r)
	default:
		fmt.Fprintf(b, `\u%04X`, r)
	}
}
