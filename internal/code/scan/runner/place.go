package runner

import (
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Place is a position in a file, counted as the tool does.
type Place struct {
	Line, Column int
	Whole        bool // Column is an offset in the whole file, from 0; Line is not used
}

// Unit is the unit of columns.
type Unit int

// The units.
const (
	Bytes Unit = iota
	Runes
	UTF16
)

// Count describes how a tool counts positions.
type Count struct {
	Unit
	Line, Column int // number of the first line and column
}

// Text is the text of a file, for conversion of positions.
type Text struct {
	text  string
	ascii bool  // all units are equal
	lines []int // byte offsets of the line starts
	units map[Unit][]int
}

// NewText returns a Text.
func NewText(text string) *Text {
	t := &Text{text: text, lines: []int{0}, units: map[Unit][]int{}}
	t.ascii = !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
	for i := range len(text) {
		if text[i] == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// Offset returns the byte offset of a place. A place outside of the text becomes the nearest one
// inside.
func (t *Text) Offset(c Count, p Place) int {
	if p.Whole {
		starts := t.starts(c.Unit)
		line, found := slices.BinarySearch(starts, p.Column)
		if !found {
			line--
		}
		if line < 0 {
			return 0
		}
		return t.along(c.Unit, line, p.Column-starts[line])
	}
	line := p.Line - c.Line
	if line < 0 {
		return 0
	}
	if line >= len(t.lines) {
		return len(t.text)
	}
	return t.along(c.Unit, line, p.Column-c.Column)
}

// Position returns the line and the byte column of an offset, both from 1.
func (t *Text) Position(offset int) (line, column int) {
	line, found := slices.BinarySearch(t.lines, offset)
	if !found {
		line--
	}
	return line + 1, offset - t.lines[line] + 1
}

// along returns the offset that many units after the start of a line, at most the line's end.
func (t *Text) along(unit Unit, line, units int) int {
	end := len(t.text)
	if line+1 < len(t.lines) {
		end = t.lines[line+1] - 1
	}
	start := t.lines[line]
	if units <= 0 {
		return start
	}
	if unit == Bytes || t.ascii {
		return min(start+min(units, len(t.text)), end)
	}
	for i, r := range t.text[start:end] {
		if units <= 0 {
			return start + i
		}
		units -= width(unit, r)
	}
	return end
}

// starts returns the starts of the lines, in units.
func (t *Text) starts(unit Unit) []int {
	if unit == Bytes || t.ascii {
		return t.lines
	}
	if have, ok := t.units[unit]; ok {
		return have
	}
	list, n := []int{0}, 0
	for _, r := range t.text {
		if n += width(unit, r); r == '\n' {
			list = append(list, n)
		}
	}
	t.units[unit] = list
	return list
}

// width returns the number of units of a character.
func width(unit Unit, r rune) int {
	if unit == UTF16 {
		return max(utf16.RuneLen(r), 1)
	}
	return 1
}
