// Package unseen finds characters in the texts of other servers that are invisible or control a
// terminal.
package unseen

import (
	"fmt"
	"strings"
	"unicode"
)

// blank holds invisible characters whose category is letter or mark: Hangul fillers, unwritten
// Khmer vowels and variation selectors.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034f, Hi: 0x034f, Stride: 1}, {Lo: 0x115f, Hi: 0x1160, Stride: 1}, {Lo: 0x17b4, Hi: 0x17b5, Stride: 1},
		{Lo: 0x180b, Hi: 0x180f, Stride: 1}, {Lo: 0x2065, Hi: 0x2065, Stride: 1}, {Lo: 0x2800, Hi: 0x2800, Stride: 1},
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, {Lo: 0xfe00, Hi: 0xfe0f, Stride: 1}, {Lo: 0xffa0, Hi: 0xffa0, Stride: 1},
		{Lo: 0xfff0, Hi: 0xfff8, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0xe0000, Hi: 0xe0fff, Stride: 1}},
}

// joined holds the scripts in which a joiner or non-joiner changes the form of letters.
var joined = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mandaic, unicode.Nko, unicode.Mongolian, unicode.Devanagari, unicode.Bengali,
	unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam,
	unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// emoji holds the characters that a variation selector or a joiner may follow.
var emoji = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00a9, Hi: 0x00a9, Stride: 1}, {Lo: 0x00ae, Hi: 0x00ae, Stride: 1}, {Lo: 0x203c, Hi: 0x203c, Stride: 1},
		{Lo: 0x2049, Hi: 0x2049, Stride: 1}, {Lo: 0x2122, Hi: 0x2122, Stride: 1}, {Lo: 0x2139, Hi: 0x2139, Stride: 1},
		{Lo: 0x2190, Hi: 0x27bf, Stride: 1}, {Lo: 0x2900, Hi: 0x297f, Stride: 1}, {Lo: 0x2b00, Hi: 0x2bff, Stride: 1},
		{Lo: 0x3030, Hi: 0x3030, Stride: 1}, {Lo: 0x303d, Hi: 0x303d, Stride: 1}, {Lo: 0x3297, Hi: 0x3299, Stride: 2},
	},
	R32:         []unicode.Range32{{Lo: 0x1f000, Hi: 0x1faff, Stride: 1}},
	LatinOffset: 2,
}

const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
	asText    = '\ufe0e'
	asEmoji   = '\ufe0f'
	keycap    = '\u20e3'
)

// hides reports whether a character is always invisible, or controls a terminal. A line feed does
// not count.
func hides(r rune) bool {
	return r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, blank))
}

// needed reports whether the invisible character at i changes how its neighbours are displayed: a
// selector after an emoji, or a joiner between emoji or between letters that need one.
func needed(text []rune, i int) bool {
	if i == 0 {
		return false
	}
	before, after := text[i-1], rune(0)
	if i+1 < len(text) {
		after = text[i+1]
	}
	switch text[i] {
	case asText, asEmoji:
		return unicode.Is(emoji, before) || after == keycap && strings.ContainsRune("0123456789#*", before)
	case joiner, nonJoiner:
		if i > 1 && before == asEmoji {
			before = text[i-2]
		}
		return text[i] == joiner && unicode.Is(emoji, before) && unicode.Is(emoji, after) ||
			!hides(before) && unicode.In(before, joined...) && unicode.In(after, joined...)
	}
	return false
}

// each returns the text with hidden characters replaced.
func each(text string, with func(rune) string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' || r > '~' }) { // the common case
		return text
	}
	runes := []rune(text)
	var b strings.Builder
	for i, r := range runes {
		if hides(r) && !needed(runes, i) {
			b.WriteString(with(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Removed returns the text without hidden characters. Controls and line separators become spaces.
func Removed(text string) string {
	return each(text, func(r rune) string {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) || r == '\u2800' {
			return " "
		}
		return ""
	})
}

// Escaped returns the text with hidden characters written as \u202e or \U000e0041.
func Escaped(text string) string {
	return each(text, func(r rune) string {
		if r > 0xffff {
			return fmt.Sprintf(`\U%08x`, r)
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
}

// First returns the first hidden character of the text, except tab and carriage return, or false.
func First(text string) (first rune, found bool) {
	each(text, func(r rune) string {
		if !found && r != '\t' && r != '\r' {
			first, found = r, true
		}
		return ""
	})
	return first, found
}
